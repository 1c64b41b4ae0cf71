/*
 * session.h: the inside of one experiment, shared by experiment.c, sampling.c, events.c and output.c.
 *
 * Owns: the descriptors and helper pids of the run. One thread. See experiment.h for the rest.
 */
#ifndef EBBI_LAB_SESSION_H
#define EBBI_LAB_SESSION_H

#include <signal.h>
#include <time.h>

#include "lab/experiment.h"
#include "lab/phases.h"
#include "lab/tap.h"
#include "observe/tree.h"

/* The taps: stdout and stderr of the command, then of the load. */
enum { TAP_COMMAND, TAP_LOAD = 2, TAPS = 4 };

struct session {
	const struct experiment_plan *plan;
	struct run_result *result;
	struct phases phases;
	struct tree tree;
	uint64_t start_ns;

	pid_t main; /* 0 once it was reaped */
	uint64_t floor_bytes;
	bool adopted;           /* the command left a daemon behind, which is the main process now */
	const char *executable; /* where the command was found */

	sigset_t old_mask;
	int signal_fd;
	int seen_fd; /* a tap has seen the text */
	pid_t taps[TAPS];
	struct tapped *tapped; /* TAPS of them, shared with the taps; NULL: not needed */
	pid_t prober;
	pid_t guard;
	int report_fd;
	int hold_fd;
	uint64_t load_started_ns;
	bool leftovers_told; /* those who outlived the main process had their SIGTERM */

	uint64_t next_sample_ns;
	uint64_t next_times_ns;
	uint64_t next_pss_ns;
	uint64_t pss_at_rss_bytes; /* RSS sum when PSS was summed last */
	uint64_t next_look_ns;     /* at work, where looking is rationed */
	uint64_t next_last_ns;     /* and so is the last mark */
	uint64_t next_tick_ns;
};

/* Nanoseconds on the monotonic clock. */
static inline uint64_t ebbi_lab_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((format(printf, 2, 3))) void ebbi_session_progress(struct session *session, const char *format, ...);

/* sampling.c */
void ebbi_sample(struct session *session, uint64_t now_ns);
void ebbi_sample_mark(struct session *session, struct mark *mark, uint64_t now_ns);
/* The mark of a command that may end at any time; does nothing when the one before cost too much to make another so soon. */
void ebbi_sample_last(struct session *session, uint64_t now_ns);
/* Right after a mark of that kind: looks in full at the largest process. */
void ebbi_sample_look(struct session *session, enum looked when);
void ebbi_sample_preload_end(struct session *session);
uint64_t ebbi_sample_next(const struct session *session);

/*
 * output.c: the taps on the output of the command (`which` is TAP_COMMAND) or the load (TAP_LOAD), where something is to
 * be found or kept in it. ret_fds are what its stdout and stderr are to be; -1: as ours. ebbi_output_close once it runs.
 */
int ebbi_output_open(struct session *session, int which, int ret_fds[2]);
void ebbi_output_close(struct session *session, int which, const int fds[2]);
/* When all taps have ended: what they found goes into the result. */
void ebbi_output_conclude(struct session *session);

/* events.c */
int ebbi_events_open(struct session *session);
void ebbi_events_close(struct session *session);
/* Waits until `until_ns` or something happened, and tells the phases. */
void ebbi_events_wait(struct session *session, uint64_t until_ns);
void ebbi_events_signal_tree(struct session *session, int signal_number);

#endif
