/*
 * variants.h: what `ebb compare` holds against each other, from its options.
 *
 * Owns: the variants and the words of their commands until ebbi_variants_free.
 * Threading: one thread. Errors: -EINVAL (cannot be used) or -ENOENT (not installed), with a line of LAB_MESSAGE bytes.
 * Invariant: names are not empty and differ.
 */
#ifndef EBBI_CLI_VARIANTS_H
#define EBBI_CLI_VARIANTS_H

#include <wordexp.h>

#include "cli/options.h"
#include "lab/allocator.h"

#define VARIANTS_MOST 16

struct variant {
	char name[64];
	char *const *argv;
	wordexp_t words; /* we_wordv NULL: the command of all */
	struct allocator allocator;
	struct environment environment;
	bool dropped; /* a run of it failed: no more of them */
};

struct variants {
	size_t count;
	struct variant list[VARIANTS_MOST];
};

/* `command`: that of all; command[0] NULL: none was given. */
int ebbi_variants_read(const struct compare_options *options, char **command, struct variants *ret_variants,
		       char *ret_message);
void ebbi_variants_free(struct variants *variants);

/* "redis-server --port 7000" into words as a shell would, but for commands in it; `what` names it in the message. */
int ebbi_variants_words(const char *command, const char *what, wordexp_t *ret_words, char *ret_message);

#endif
