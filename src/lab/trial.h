/*
 * trial.h: fresh runs, one after another, each measured in a process of its own.
 *
 * Owns: from ebbi_trials_begin to ebbi_trials_end the process's signals and its subreaper flag; each trial's result, in
 * memory shared with the process that measures, until ebbi_trial_free. We stay small: the pages of a result that
 * were looked at can be dropped again (ebbi_trial_rest), for what comes next is forked from us.
 * Never: writes to stdout or stderr; plan->progress is called in the other process.
 * Threading: the process must have one thread (it forks).
 * Signals: INT, QUIT, TERM and HUP end the run in order, as in `ebb run` (set plan->ends_by_interrupt), and the series:
 * ebbi_trials_stopped says so, also of a signal between two runs. USR1 and USR2 are passed on.
 * Errors: as ebbi_experiment_run; -EIO when the process that measures died itself (what it left running is killed),
 * -EINTR when a signal came before there was a result (*ret_exit is 128 and its number).
 * Invariant: what the plan points to outlives the trial, whose result points to it.
 */
#ifndef EBBI_LAB_TRIAL_H
#define EBBI_LAB_TRIAL_H

#include <signal.h>

#include "lab/experiment.h"
#include "observe/tree.h"

struct trials {
	sigset_t watched;
	sigset_t old_mask; /* what commands get */
	struct tree tree;  /* knows the children we had before: they are not ours to end */
	int stop_signal;   /* has asked for the end of all; 0: none */
};

struct trial {
	struct run_result result;
	struct look look; /* where result.full_look.look points to, when it does */
	/* Between the two processes. */
	bool done;
	int error;
	int exit;
	char message[LAB_MESSAGE];
};

int ebbi_trials_begin(struct trials *ret_trials, char *ret_message, int *ret_exit);
void ebbi_trials_end(struct trials *trials);

/* The signal that wants the end, or 0. */
int ebbi_trials_stopped(struct trials *trials);

/* A run that was ended early by a signal is a result, not an error. */
int ebbi_trial_run(struct trials *trials, const struct experiment_plan *plan, struct trial **ret_trial,
		   char *ret_message, int *ret_exit);

/*
 * Between two runs: `function` in a process of its own, with the command's signal mask; the status as wait(2) gives it, or
 * negative errno. A signal that wants the end of all is passed on to it.
 */
int ebbi_trials_helper(struct trials *trials, void (*function)(void *context), void *context);

/* Gives back the memory that reading the result took here; it can be read again. */
void ebbi_trial_rest(struct trial *trial);

void ebbi_trial_free(struct trial *trial);

#endif
