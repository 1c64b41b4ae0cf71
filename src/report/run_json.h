/*
 * run_json.h: one result as JSON, schema "ebb.run/1" (docs/result-format.md), and its way to disk.
 *
 * Owns: nothing after return; the caller releases what ebbi_run_json made.
 * Threading: one thread.
 * Errors: NULL or -ENOMEM when memory is short; negative errno of the file system. Saving is
 * atomic: the file is complete or as it was before. A path that is no regular file (a terminal, a
 * pipe, /dev/full) is written directly.
 */
#ifndef EBBI_REPORT_RUN_JSON_H
#define EBBI_REPORT_RUN_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "lab/result.h"

#define RUN_SCHEMA "ebb.run/1"

json_t *ebbi_run_json(const struct run_result *result);

/* Text of a document, with a newline at the end; the caller frees it. */
char *ebbi_json_text(const json_t *document);

/* A string that is valid UTF-8 whatever came from outside. */
json_t *ebbi_json_foreign(const char *text);

/* Whether `path` can be written, before an hour is spent on what would go there. */
int ebbi_save_check(const char *path);
int ebbi_save(const char *path, const void *bytes, size_t length);

#endif
