/*
 * progress.h: one line on a terminal that says how far long work has come: what, run k of n, phase, time left.
 *
 *	ebb compare: run 3 of 10, jemalloc, load took 2.10 s, about 40 s left
 *
 * Owns: the last line of the terminal from the first draw to ebbi_progress_clear. Never: writes anything when the
 * descriptor is no terminal, or TERM is dumb; writes to anything but that descriptor.
 *
 * Use: open; at each run ebbi_progress_run; in it ebbi_progress_phase at each phase (it fits experiment_plan.progress)
 * and ebbi_progress_tick now and then (it fits experiment_plan.tick), which brings the time up to date. Call ebbi_progress_clear before anything else is
 * printed; the next call draws the line again. A forked child may draw on the parent's line: it has its own copy of the struct.
 *
 * The time left is the mean of the runs that are complete, for each that is still to come; before the first of them is complete
 * none is shown. A run that takes longer than the mean counts as about to end.
 *
 * Threading: one thread. Errors: none; a terminal that cannot be written shows nothing.
 */
#ifndef EBBI_REPORT_PROGRESS_H
#define EBBI_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_LINE 512

struct progress {
	int fd;
	bool on;    /* there is somebody to see it */
	bool shown; /* the line is on the screen now */
	uint64_t (*now)(void);
	const char *title; /* "ebb compare" */
	unsigned runs;     /* how many there will be; 0: not known */
	unsigned run;      /* the one that runs, from 1; 0: none yet */
	char name[64];
	char phase[256];
	uint64_t run_started_ns;
	uint64_t complete_ns; /* what the complete runs took */
	unsigned complete;
	char drawn[PROGRESS_LINE];
};

void ebbi_progress_open(struct progress *progress, int fd, const char *title, unsigned runs);

/* Run `run` (from 1) begins, and the one before it is complete. `name`: of its variant or row; NULL: none. */
void ebbi_progress_run(struct progress *progress, unsigned run, const char *name);

/* `context` is the struct progress. Control characters in `phase` are shown as '?'. */
void ebbi_progress_phase(void *context, const char *phase);

/* `context` is the struct progress. */
void ebbi_progress_tick(void *context);

void ebbi_progress_clear(struct progress *progress);

/* The line as it would be drawn at that moment. Pure. */
void ebbi_progress_line(const struct progress *progress, uint64_t now_ns, char *ret_line, size_t size);

/* False as long as it cannot be told. Pure. */
bool ebbi_progress_left(const struct progress *progress, uint64_t now_ns, uint64_t *ret_left_ns);

#endif
