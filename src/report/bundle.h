/*
 * bundle.h: any number of saved results, of any kind, as one document of schema ebb.report/1 (docs/result-format.md).
 *
 * Owns: what it has read; ebbi_bundle_free releases it. Never: trusts a document: fields.def says what is taken from it, and
 * the rest is stepped over; every run in the bundle has all of its keys, so that what draws it need not ask.
 *
 * Every run that a document embeds, wherever it stands in it, is taken apart into `runs`, and its place keeps the index.
 * Runs of files of their own are one comparison; those of one ebb.compare/1 or ebb.check/1 are another. The rows of an
 * ebb.size/1 served different work and are never compared.
 *
 * Threading: one thread.
 * Errors: -EINVAL with one line that names the file and what is wrong with it. -EXDEV, with a line, when it was taken but may
 * not be compared with those before it: the comparison stays as it was, and says so.
 */
#ifndef EBBI_REPORT_BUNDLE_H
#define EBBI_REPORT_BUNDLE_H

#include <jansson.h>
#include <stddef.h>

#include "report/groups.h"

#define BUNDLE_COMPARISONS 32
#define BUNDLE_RUNS 4096

struct bundle_comparison {
	struct comparison comparison;
	size_t source; /* the file; of runs of their own, the first */
	bool own;      /* a comparison of one document: what cannot be compared in it is a problem of its */
	json_t *runs;  /* indices of those that were compared */
	char not_comparable[SAVED_MESSAGE]; /* "": they are */
};

struct bundle {
	json_t *sources; /* a file each */
	json_t *runs;
	json_t *results; /* what is no ebb.run/1 */
	size_t comparison_count;
	struct bundle_comparison *comparisons[BUNDLE_COMPARISONS];
	struct bundle_comparison *loose; /* of runs in files of their own; NULL: none */
};

/* `path` must live as long as the bundle. */
int ebbi_bundle_add(struct bundle *bundle, const char *path, char *ret_message);
int ebbi_bundle_add_document(struct bundle *bundle, const json_t *document, const char *path, char *ret_message);
void ebbi_bundle_free(struct bundle *bundle);

/* In bundle_json.c. NULL when memory is short. */
json_t *ebbi_bundle_json(const struct bundle *bundle);

/* In bundle_run.c: a run as it stands in `runs`. */
json_t *ebbi_bundle_run(const json_t *document, size_t source);

#endif
