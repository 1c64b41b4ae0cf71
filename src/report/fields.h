/*
 * fields.h: values taken out of a document that nobody vouches for, by the tables of fields.def.
 *
 * Owns: nothing; the JSON it returns is the caller's. Pure. Threading: any.
 * Errors: none; what is missing, or is not of its type, is null. NULL only when memory is short.
 * Invariants: a text is valid UTF-8 without control characters and at most FIELD_TEXT_MOST bytes; a number is finite and not
 * below 0.
 */
#ifndef EBBI_REPORT_FIELDS_H
#define EBBI_REPORT_FIELDS_H

#include <jansson.h>
#include <stddef.h>

#define FIELD_TEXT_MOST 2000

enum field_type { FIELD_TEXT, FIELD_FLAG, FIELD_BYTES, FIELD_SECONDS, FIELD_LATENCY, FIELD_COUNT };

struct field {
	const char *key;
	enum field_type type;
	const char *path;
	const char *head; /* "": no column */
};

extern const struct field ebbi_run_fields[];
extern const size_t ebbi_run_field_count;
extern const struct field ebbi_source_fields[];
extern const size_t ebbi_source_field_count;
extern const struct field ebbi_result_fields[];
extern const size_t ebbi_result_field_count;
extern const struct field ebbi_size_row_fields[];
extern const size_t ebbi_size_row_field_count;
extern const struct field ebbi_limit_fields[];
extern const size_t ebbi_limit_field_count;
extern const struct field ebbi_verdict_fields[];
extern const size_t ebbi_verdict_field_count;

/* "a.b.-1": key b of key a, and of that list the last entry. NULL when it is not there. */
json_t *ebbi_field_find(const json_t *document, const char *path);

json_t *ebbi_field_take(const json_t *document, enum field_type type, const char *path);

/* An object with every key of the table. */
json_t *ebbi_fields_take(const json_t *document, const struct field *fields, size_t count);

/* The code, sentence, evidence, accounts and remedy of the doctor; null when there is no code. */
json_t *ebbi_verdict_take(const json_t *given);

/* In bundle_run.c: an account table, null when it is none. */
json_t *ebbi_accounts_take(const json_t *given);

/* A text made fit to show, from a JSON string. */
json_t *ebbi_field_text(const char *text);

#endif
