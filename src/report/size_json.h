/*
 * size_json.h: what `ebb size` found as JSON, schema "ebb.size/1" (docs/result-format.md).
 *
 * Owns: nothing after return; the caller releases what ebbi_size_json made. Threading: one thread.
 * Errors: NULL when memory is short.
 */
#ifndef EBBI_REPORT_SIZE_JSON_H
#define EBBI_REPORT_SIZE_JSON_H

#include <jansson.h>

#include "lab/sizing.h"

#define SIZE_SCHEMA "ebb.size/1"

/* The shared memory of each trial goes back as soon as it was read. */
json_t *ebbi_size_json(const struct sizing *sizing, const char *url, const char *requests_file);

#endif
