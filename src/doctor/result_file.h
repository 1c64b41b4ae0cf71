/*
 * result_file.h: facts from a saved result of ebb run (schema "ebb.run/1").
 *
 * Owns: nothing. Never: trusts a number. Threading: one thread.
 * Errors: -EINVAL with one line: no such result, or one without a figure.
 *
 * The process at rest counts, or else the last mark there is; its peak is that of the whole run.
 */
#ifndef EBBI_DOCTOR_RESULT_FILE_H
#define EBBI_DOCTOR_RESULT_FILE_H

#include <jansson.h>

#include "doctor/facts.h"

/* `path`: what the document is called in the line. */
int ebbi_facts_from_run(struct facts *facts, const json_t *document, const char *path, char *ret_message);

/* The document in the file at `path`. */
int ebbi_facts_from_result(struct facts *facts, const char *path, char *ret_message);

#endif
