/*
 * kept.h: whether runs kept a promise, and how that is told: text, JSON "ebb.check/1", JUnit, Markdown, annotations.
 *
 * Owns: nothing; a check refers to its promise and documents. Never: runs anything.
 * Threading: one thread.
 * Errors: what is not known is KEPT_UNKNOWN with a line that says why; JSON is NULL when memory is short; the caller checks
 * ferror of a stream.
 *
 * A figure has bounds: how far the kernel's counters may be off, what a tree's samples may have missed, twice the standard
 * error of an estimate. A limit is kept when it lies above them, broken below them; between them nobody can tell.
 */
#ifndef EBBI_REPORT_KEPT_H
#define EBBI_REPORT_KEPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lab/promise.h"
#include "report/format.h"
#include "report/series.h"

#define CHECK_SCHEMA "ebb.check/1"
#define KEPT_PROBLEM 256

/* From best to worst; the worst of its limits is a promise's. */
enum kept { KEPT, KEPT_UNSURE, KEPT_UNKNOWN, KEPT_BROKEN };

struct measured {
	bool known;
	double value; /* bytes or seconds */
	double low;
	double high;
	char problem[KEPT_PROBLEM]; /* why it is not known */
};

struct judged {
	const struct promise_limit *limit;
	char name[96]; /* "peak", "account requests" */
	double most;   /* bytes or seconds */
	bool has_base;
	double base; /* of a ratio */
	struct series values;
	struct measured held_against; /* what decided: the worst run's, or the median */
	size_t worst_run;             /* from 0 */
	enum kept kept;
};

struct kept_check {
	const struct promise *promise;
	const json_t *runs;     /* array of ebb.run/1 */
	const json_t *baseline; /* the document, or NULL */
	size_t count;
	struct judged limits[PROMISE_LIMITS];
	enum kept kept;
	size_t worst_run; /* of the limit that was broken the most */
	json_t *verdict;  /* ebb.doctor/1 of that run, or NULL */
};

/* One figure of one run. Pure. */
void ebbi_kept_measure(const json_t *run, enum promised figure, const char *account, struct measured *ret_measured);

/* Whether `run` may be held against the document `baseline`; -EXDEV with the reason. */
int ebbi_kept_comparable(const json_t *baseline, const json_t *run, const char *path, char *ret_message);

/* Fills all below `runs` and `baseline`, which are set. */
void ebbi_kept_judge(struct kept_check *check);

const char *ebbi_kept_word(enum kept kept);  /* kept broken inconclusive not_measured */
const char *ebbi_kept_title(enum kept kept); /* the same for people */

/* "34.2 MiB" or "1.20 s"; a figure of this limit. */
const char *ebbi_kept_format(char *ret_text, const struct judged *judged, double value, bool exact);

/* What of the limit is used up; above 1 it is broken. */
double ebbi_kept_used(const struct judged *judged);

/* One line: "peak: 83.1 MiB in run 2, promised 80.0 MiB". */
void ebbi_kept_sentence(const struct judged *judged, char *ret_text, size_t size);

void ebbi_kept_text(FILE *stream, const struct kept_check *check, const struct style *style, bool exact);
json_t *ebbi_kept_json(const struct kept_check *check);
void ebbi_kept_junit(FILE *stream, const struct kept_check *check);
/* When there are no figures to tell. */
void ebbi_kept_junit_error(FILE *stream, const char *name, const char *message);
void ebbi_kept_markdown(FILE *stream, const struct kept_check *check);

/* GitHub's workflow commands, one for each limit that was not kept. `file`: the promise's name there. */
void ebbi_kept_annotations(FILE *stream, const struct kept_check *check, const char *file);

/* One of them. */
struct kept_place {
	const char *file;
	unsigned line;
	unsigned column;
};
void ebbi_kept_annotation(FILE *stream, const char *level, const struct kept_place *place, const char *title,
			  const char *text);

#endif
