/*
 * saved.h: results that `ebb run --save` wrote, read back and grouped.
 *
 * Owns: the groups of a comparison; ebbi_comparison_free releases them.
 * Never: trusts a file: every field is checked for its type and range.
 * Threading: one thread.
 * Errors: -EINVAL with one line that names the file and what is wrong with it (line and column for
 * text that is no JSON); -EXDEV when two results may not be compared, with the reason.
 */
#ifndef EBBI_REPORT_SAVED_H
#define EBBI_REPORT_SAVED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/series.h"

#define SAVED_MESSAGE 1024
#define SAVED_RESTS 2 /* the first and the last resting mark */
#define COMPARISON_GROUPS 16

enum figure { FIGURE_BOOT, FIGURE_PEAK, FIGURE_REST_FIRST, FIGURE_REST_LAST, FIGURE_CPU, FIGURE_LOAD, FIGURE_COUNT };

/* One result, as far as a comparison needs it. Bytes and seconds. */
struct saved_run {
	char label[64];
	char kernel[96];
	char thp[16];
	char basis[16];
	uint64_t cpus;
	uint64_t page_bytes;
	bool has_load;
	double rest_seconds[SAVED_RESTS]; /* 0: no such mark */
	bool known[FIGURE_COUNT];
	double figures[FIGURE_COUNT];
};

struct group {
	char label[64];
	size_t runs;
	struct series series[FIGURE_COUNT];
};

struct comparison {
	struct saved_run first; /* what the others were held against */
	const char *first_path;
	size_t group_count;
	struct group *groups[COMPARISON_GROUPS]; /* in order of appearance */
};

/* Any JSON text, and any file of it; the caller releases the document. */
int ebbi_saved_document(const char *text, size_t length, const char *path, json_t **ret_root, char *ret_message);
int ebbi_saved_load(const char *path, json_t **ret_root, char *ret_message);

/* A document that must be an ebb.run/1; `path` names it in messages. */
int ebbi_saved_run(const json_t *root, const char *path, struct saved_run *ret_run, char *ret_message);

/* `path` must live as long as the comparison. */
int ebbi_comparison_add_run(struct comparison *comparison, const json_t *root, const char *path, char *ret_message);
/* Reads `path` and adds it. */
int ebbi_comparison_add(struct comparison *comparison, const char *path, char *ret_message);
void ebbi_comparison_free(struct comparison *comparison);

#endif
