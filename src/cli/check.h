/*
 * check.h: what check.c and check_init.c share: a series of fresh runs of one plan.
 *
 * Owns: the trials between begin and end. Threading: the process has one thread.
 * Errors: exit codes of the process; the line is in series->message.
 */
#ifndef EBBI_CLI_CHECK_H
#define EBBI_CLI_CHECK_H

#include <jansson.h>

#include "cli/options.h"
#include "lab/trial.h"
#include "report/progress.h"

#define CHECK_RUNS 50

struct check_series {
	struct experiment_plan plan;
	char conf[4096]; /* what plan.conf points to, when there is a budget */
	struct progress progress;
	struct trials trials;
	size_t count;
	struct trial *runs[CHECK_RUNS];
	char message[2 * LAB_MESSAGE];
};

/* Sets allocator, options and budget of the plan. */
int ebbi_check_allocator(struct check_series *series, const char *allocator, const char *conf, const char *budget);

/* Runs `runs` times, or until one was no measurement. `first`: asked once there is one; what it returns ends all. */
int ebbi_check_run(struct check_series *series, size_t runs, int (*first)(struct check_series *series));
void ebbi_check_free(struct check_series *series);

/* The runs as an array of ebb.run/1; NULL when memory is short. */
json_t *ebbi_check_documents(struct check_series *series);

int ebbi_check_init(const struct check_options *options, char **command);

#endif
