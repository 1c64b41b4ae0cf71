/*
 * promise.h: a promise file (docs/promise-format.md) as values.
 *
 * Owns: the texts of the file; ebbi_promise_free releases them, and nothing of a promise may be used afterwards.
 * Never: runs anything, looks whether a file that is named exists.
 * Threading: one thread a promise.
 * Errors: -EINVAL with one line "PATH:LINE:COLUMN: what is wrong: the remedy"; negative errno of the file system with a
 * line "PATH: ..."; -ENOMEM.
 * Invariants: there is a command and at least one limit; limits stand in the order of the file; a ratio has a baseline; a
 * command that gets ready has a load.
 */
#ifndef EBBI_LAB_PROMISE_H
#define EBBI_LAB_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/ready.h"
#include "lab/yaml.h"

#define PROMISE_WORDS 64
#define PROMISE_VARIABLES 16
#define PROMISE_LIMITS 32

enum promised {
#define PROMISE_SECTION(path, key, help)
#define PROMISE_KEY(path, field, kind, preset, low, high, help)
#define PROMISE_LIMIT(path, figure, unit, help) PROMISED_##figure,
#include "lab/promise.def"
#undef PROMISE_SECTION
#undef PROMISE_KEY
#undef PROMISE_LIMIT
	PROMISED_ACCOUNT,
	PROMISED_COUNT
};

/* A figure in LIMIT_COUNT is promised to be at least so much, all others at most. */
enum promised_unit { LIMIT_BYTES, LIMIT_SECONDS, LIMIT_COUNT };

enum keep { KEEP_EVERY, KEEP_MEDIAN };

struct promise_limit {
	enum promised figure;
	const char *account; /* of PROMISED_ACCOUNT */
	const char *text;    /* as written: "60M", "1.05x" */
	bool ratio;          /* to the baseline */
	bool share;          /* of the budget: for the parser; the value is in bytes afterwards */
	double value;        /* bytes, seconds, a count, or what the baseline's figure is multiplied with */
	enum keep keep;
	unsigned line;
	unsigned column;
};

struct promise_variables {
	size_t count;
	struct {
		const char *name;
		const char *value;
	} items[PROMISE_VARIABLES];
};

struct promise {
	const char *path;
	const char *name;
	char *command[PROMISE_WORDS + 1];
	const char *directory;
	struct promise_variables environment;
	const char *allocator;
	const char *conf;   /* NULL: none */
	const char *budget; /* NULL: none */
	struct ready ready;
	uint64_t ready_timeout_ns;
	const char *load_command; /* NULL: none */
	const char *work;         /* NULL: not asked */
	uint64_t rest_ns;
	uint64_t grace_ns;
	uint64_t runs;
	enum keep keep;
	const char *baseline; /* NULL: none */
	size_t limit_count;
	struct promise_limit limits[PROMISE_LIMITS];

	/* For the parser. */
	const char *ready_tcp;
	const char *ready_http;
	const char *ready_log;
	struct yaml yaml;
};

int ebbi_promise_parse(const char *bytes, size_t length, const char *path, struct promise *ret_promise,
		       char *ret_message);

/* The same of the file at `path`. */
int ebbi_promise_read(const char *path, struct promise *ret_promise, char *ret_message);
void ebbi_promise_free(struct promise *promise);

/* "peak", "accounts.NAME" is the caller's to make. */
const char *ebbi_promised_word(enum promised figure);
enum promised_unit ebbi_promised_unit(enum promised figure);

/* `file`, which a promise names, as seen from here: relative names begin at the promise file. */
void ebbi_promise_path(const struct promise *promise, const char *file, char *ret_path, size_t size);

#endif
