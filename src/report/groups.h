/*
 * groups.h: saved runs put into groups of one label and one generation, and whether they may be compared at all.
 *
 * Owns: the groups of a comparison; ebbi_comparison_free releases them.
 * Threading: one thread.
 * Errors: as saved.h; -EXDEV when two results may not be compared, with the reason.
 */
#ifndef EBBI_REPORT_GROUPS_H
#define EBBI_REPORT_GROUPS_H

#include "report/saved.h"
#include "report/series.h"

#define COMPARISON_GROUPS 32
#define COMPARISON_PROBLEMS 8

/* Runs of one label and one generation: figures of two generations are never put together. */
struct group {
	char label[64];
	char generation[16];
	struct saved_build build;
	size_t runs;
	size_t failed; /* were not completed */
	struct series series[FIGURE_COUNT];
};

struct comparison {
	struct saved_run first;  /* what the others were held against */
	double peak_bound_bytes; /* the largest */
	const char *first_path;
	size_t group_count;
	struct group *groups[COMPARISON_GROUPS]; /* in order of appearance */
	/* Why the runs may not be compared, for people; more than there is room for are dropped. */
	size_t problem_count;
	char problems[COMPARISON_PROBLEMS][SAVED_MESSAGE];
};

/* `path` must live as long as the comparison. */
int ebbi_comparison_add_run(struct comparison *comparison, const json_t *root, const char *path, char *ret_message);
/* The same where a run that cannot stand beside the others is a problem of the comparison and no error. */
int ebbi_comparison_take_run(struct comparison *comparison, const json_t *root, const char *path, char *ret_message);
__attribute__((format(printf, 2, 3))) void ebbi_comparison_problem(struct comparison *comparison, const char *format,
								   ...);
/* Reads `path` and adds it. */
int ebbi_comparison_add(struct comparison *comparison, const char *path, char *ret_message);
void ebbi_comparison_free(struct comparison *comparison);

#endif
