/*
 * heap.h: a heap profile for people and for other tools: table, folded stacks, JSON, flame graph, pprof.
 *
 * Owns: struct heap, the stacks in order and the sums over them; ebbi_heap_free releases it. What it was made from
 * stays the caller's and must outlive it.
 * Never: asks the process or a file.
 * Threading: one thread. Errors: -ENOMEM; the writers to a stream leave it to the caller to ask ferror.
 *
 * flat: allocated by a function itself, and by what allocates for it (the C and C++ libraries, operator new, Rust's
 * alloc). cum: by it and all that it called.
 */
#ifndef EBBI_REPORT_HEAP_H
#define EBBI_REPORT_HEAP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "observe/stacks.h"
#include "report/format.h"

#define HEAP_SCHEMA "ebb.profile/1"

/* What the profile is of. */
struct heap_about {
	pid_t pid;
	const char *command; /* name of the program */
	const char *program; /* path of its file; "" when not known */
	uint64_t time_ns;    /* since 1970 */
	bool total;          /* count all that was allocated since the start, not what is live */
};

struct heap_sum {
	double bytes;
	double variance;
	double samples; /* 0 when totals are counted: they are not known then */
	double objects;
};

/* One distinct stack, outermost function first. */
struct heap_path {
	uint32_t *functions;
	uint32_t count;
	struct heap_sum sum;
};

/* A function, or a library: index is that of a function or a module. */
struct heap_row {
	uint32_t index;
	struct heap_sum flat;
	struct heap_sum cum;
};

struct heap {
	const struct stacks *stacks;
	struct heap_about about;
	struct heap_sum sum;
	struct heap_path *paths; /* sorted by the names in them; no two are equal */
	size_t path_count;
	struct heap_row *functions; /* largest flat first */
	size_t function_count;
	struct heap_row *libraries;
	size_t library_count;
	uint32_t *pool; /* the functions of all paths */
};

int ebbi_heap_make(const struct stacks *stacks, const struct heap_about *about, struct heap *ret_heap);
void ebbi_heap_free(struct heap *heap);

/* The library a function is in, as a file name. */
const char *ebbi_heap_library(const struct heap *heap, uint32_t function);

/* A table for a terminal of so many columns; all: every row instead of the largest. */
struct heap_text {
	struct style style;
	int columns; /* 0: never cut */
	bool bytes;
	bool all;
};
void ebbi_heap_text(FILE *stream, const struct heap *heap, const struct heap_text *text);

/* "main;serve;parse 123", one line a stack. */
void ebbi_heap_folded(FILE *stream, const struct heap *heap);

/* NULL when memory is short. */
json_t *ebbi_heap_json(const struct heap *heap);

/* One file with its own script: an icicle graph, the outermost functions on top. */
void ebbi_heap_svg(FILE *stream, const struct heap *heap);

/* profile.proto's wire format, compressed by gzip. The caller frees *ret_bytes. */
int ebbi_heap_pprof(const struct stacks *stacks, const struct heap_about *about, uint8_t **ret_bytes,
		    size_t *ret_length);

#endif
