/*
 * first_promise.h: a first promise file, written from a few runs of a command.
 *
 * Owns: nothing. Never: looks at a file. Threading: one thread.
 * Errors: -EILSEQ when a text is not UTF-8, which YAML must be; nothing useful was written then. The caller checks ferror.
 */
#ifndef EBBI_REPORT_FIRST_PROMISE_H
#define EBBI_REPORT_FIRST_PROMISE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "lab/ready.h"

struct first_promise {
	char *const *command;
	const char *directory; /* NULL: where the promise lies */
	const char *allocator;
	const char *budget; /* NULL: none */
	const struct ready *ready;
	const char *load; /* NULL: none */
	uint64_t rest_ns;
	const json_t *runs; /* array of ebb.run/1 */
};

int ebbi_first_promise_write(FILE *stream, const struct first_promise *first);

#endif
