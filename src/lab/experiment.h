/*
 * experiment.h: runs one command under one allocator and measures it.
 *
 * Owns: while it runs, the process's signals, its children and its subreaper flag; it gives the
 * signal mask back. Never: writes to stdout or stderr but through `progress`.
 * Threading: the process must have one thread (it forks).
 * Errors: when the command could not be started or measuring was refused: negative errno, a line
 * in `ret_message`, and the exit code for it in *ret_exit. A command that ran and failed is a
 * result, not an error.
 */
#ifndef EBBI_LAB_EXPERIMENT_H
#define EBBI_LAB_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/allocator.h"
#include "lab/ready.h"
#include "lab/result.h"

#define EXIT_MEASURE 3
#define EXIT_SELF 125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

struct experiment_plan {
	const char *label;
	char *const *argv;
	const char *conf;
	struct allocator allocator;
	struct environment environment;
	struct ready ready;
	uint64_t ready_timeout_ns;
	const char *load_command; /* NULL: none */
	/* Not NULL: runs in a process of its own in place of the shell, and returns the exit code; load_command is then its
	   name for people. What it finds out goes into memory that the caller has mapped shared. */
	int (*load_function)(void *context);
	void *load_context;
	const char *work; /* the work in the load's output (lab/workscan.h); NULL: not asked */
	uint64_t rest_ns;
	uint64_t grace_ns;
	bool stdout_to_stderr;  /* our stdout is for the result alone */
	bool quiet;             /* all output goes nowhere but for its end, into the result */
	bool ends_by_interrupt; /* also where the command could decide: a series is over */
	void (*progress)(void *context, const char *line); /* NULL: nobody listens */
	void (*tick)(void *context);                       /* about once a second; NULL: nobody watches the time */
	void *progress_context;
};

int ebbi_experiment_run(const struct experiment_plan *plan, struct run_result *ret_result, char *ret_message,
			int *ret_exit);

#endif
