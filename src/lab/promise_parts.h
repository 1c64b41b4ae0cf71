/*
 * promise_parts.h: what promise.c and promise_values.c share: the table of keys, and the setting of one value.
 *
 * Owns: nothing. Threading and errors: as promise.h.
 */
#ifndef EBBI_LAB_PROMISE_PARTS_H
#define EBBI_LAB_PROMISE_PARTS_H

#include "lab/promise.h"

enum key_kind {
	KEY_SECTION,
	KEY_TEXT,
	KEY_FILE,
	KEY_WORDS,
	KEY_TIME,
	KEY_COUNT,
	KEY_BUDGET,
	KEY_CONF,
	KEY_KEEP,
	KEY_VARIABLES,
	KEY_LIMITS,
	KEY_LIMIT,
};

struct promise_key {
	const char *path; /* "load.command" */
	enum key_kind kind;
	const char *preset; /* of KEY_SECTION: the key that a bare value stands for */
	uint64_t low;
	uint64_t high;
	size_t offset;           /* in struct promise; of KEY_LIMIT: the enum promised */
	enum promised_unit unit; /* of KEY_LIMIT */
};

struct promise_reader {
	struct promise *promise;
	char *message;
};

/* "PATH:LINE:COLUMN: ..." into reader->message; always -EINVAL. */
__attribute__((format(printf, 3, 4))) int ebbi_promise_wrong(const struct promise_reader *reader,
							     const struct yaml_node *node, const char *format, ...);

/* What a node is, in words: "a list". */
const char *ebbi_promise_kind(const struct yaml_node *node);

/* Sets what `key` says from the value behind `name`. */
int ebbi_promise_set(struct promise_reader *reader, const struct promise_key *key, const struct yaml_node *name);

#endif
