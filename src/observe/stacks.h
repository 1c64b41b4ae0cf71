/*
 * stacks.h: a heap profile with names: places, functions, libraries, and what is live by stack.
 *
 * Owns: all it points to, the copied profile included; ebbi_stacks_free releases it.
 * Never: looks at the process once it is made.
 * Threading: one thread.
 * Errors: -ENOMEM. What has no name is called after its library, in brackets; see struct stack_function.
 * Invariants: every index lies within its array. A stack has at most PROFILE_DEPTH places. Functions are distinct in
 * name, file and library; places are distinct in module and address.
 *
 * A stack is read from its site's node to the root: stacks->place_of[node], then the node's parent, until node 0. At
 * each place, lines go from the innermost inlined function to the one that has code of its own.
 */
#ifndef EBBI_OBSERVE_STACKS_H
#define EBBI_OBSERVE_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/profile.h"
#include "observe/symbols.h"

struct stack_function {
	char *name;    /* "[libfoo.so.1]" when it is not known */
	char *linkage; /* NULL when it is the same as the name */
	char *file;    /* NULL when not known */
	uint32_t module;
	bool known;
	bool plumbing; /* allocates for others: of the C and C++ libraries, operator new, Rust's alloc */
};

struct stack_line {
	uint32_t function;
	uint32_t line; /* 0: not known */
};

struct stack_place {
	uint64_t address; /* where the call returns to */
	uint32_t module;
	uint32_t first_line;
	uint32_t line_count; /* 1 at least */
};

struct stacks {
	struct profile profile;
	struct stack_function *functions;
	struct stack_line *lines;
	struct stack_place *places;
	uint32_t *place_of; /* of each node; node 0 has none */
	double *variance;   /* of each site's live bytes */
	double *samples;    /* about how many samples are behind them */
	uint32_t function_count;
	uint32_t line_count;
	uint32_t place_count;
};

/* Takes *profile over, also on failure. `symbols` may be NULL: then nothing is named. */
int ebbi_stacks_make(struct profile *profile, struct symbols *symbols, struct stacks *ret_stacks);
void ebbi_stacks_free(struct stacks *stacks);

/* File name of a module: "libfoo.so.1", "python3.11"; "[made at run time]" for module 0. */
const char *ebbi_stacks_library(const struct stacks *stacks, uint32_t module);

/* What is left out when the innermost frame of interest is looked for. Pure. */
bool ebbi_stacks_plumbing(const char *library, const char *function);

#endif
