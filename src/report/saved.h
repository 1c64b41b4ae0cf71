/*
 * saved.h: results that `ebb run --save` wrote, read back: what a comparison needs of them (report/groups.h).
 *
 * Owns: nothing.
 * Never: trusts a file: every field is checked for its type and range.
 * Threading: one thread.
 * Errors: -EINVAL with one line that names the file and what is wrong with it (line and column for
 * text that is no JSON); -EXDEV when a result may not be compared, with the reason.
 */
#ifndef EBBI_REPORT_SAVED_H
#define EBBI_REPORT_SAVED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAVED_MESSAGE 1024
#define SAVED_RESTS 2 /* the first and the last resting mark */

enum figure {
#define EBB_FIGURE(id, key, word, phase, unit) FIGURE_##id,
#include "report/figures.def"
#undef EBB_FIGURE
	FIGURE_COUNT
};

/* What was run, as far as it must be the same in runs that stand in one group. */
struct saved_build {
	char allocator[64];
	char allocator_build_id[68]; /* "": none */
	char linked[64];   /* an allocator that the program brings along, where nothing was preloaded; "": none */
	char command[256]; /* as much as tells one from another */
	char build_id[68]; /* of the program; "": none, or not known */
};

/* One result, as far as a comparison needs it. Bytes and seconds. */
struct saved_run {
	char label[64];
	char generation[16]; /* "fresh", "reopened"; "": the run knows of none */
	struct saved_build build;
	char kernel[96];
	char thp[16];
	char basis[16];
	uint64_t cpus;
	uint64_t page_bytes;
	bool has_load;
	double rest_seconds[SAVED_RESTS]; /* 0: no such mark */
	double peak_bound_bytes;
	bool known[FIGURE_COUNT];
	double figures[FIGURE_COUNT];
};

/* Any JSON text, and any file of it; the caller releases the document. */
int ebbi_saved_document(const char *text, size_t length, const char *path, json_t **ret_root, char *ret_message);
int ebbi_saved_load(const char *path, json_t **ret_root, char *ret_message);

/* A document that must be an ebb.run/1; `path` names it in messages. */
int ebbi_saved_run(const json_t *root, const char *path, struct saved_run *ret_run, char *ret_message);
/* The same of a run that may not be compared with anything: it was not completed, or its allocator was not in it. */
int ebbi_saved_read(const json_t *root, const char *path, struct saved_run *ret_run, char *ret_message);

#endif
