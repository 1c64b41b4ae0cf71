/*
 * phases.h: when an experiment does what.
 *
 *   boot --ready--> load --load ended--> rest --last mark--> stop --all ended--> over
 *        \--no load--> serve --main ended or TERM----------/
 *
 * Owns: the phase and the deadlines. Pure: time comes in as a parameter, what is to be done comes
 * out as one action at a time, and nothing here knows a pid or a descriptor.
 *
 * Use: tell it what happened (ebbi_phases_ready, ...), then call ebbi_phases_next until it says
 * LAB_WAIT, doing each action it returns; wait for an event or ebbi_phases_deadline.
 *
 * Threading: one thread. Errors: none. Invariants: actions of one kind come in order; LAB_FINISH
 * comes once and last; after LAB_SEND_TERM, LAB_SEND_KILL comes no later than the grace period.
 */
#ifndef EBBI_LAB_PHASES_H
#define EBBI_LAB_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAB_REST_MARKS 4
#define LAB_NEVER UINT64_MAX

enum lab_phase { PHASE_BOOT, PHASE_LOAD, PHASE_REST, PHASE_SERVE, PHASE_STOP, PHASE_OVER };

enum lab_action {
	LAB_WAIT,
	LAB_MARK_BOOT,
	LAB_START_LOAD,
	LAB_MARK_LOAD_END,
	LAB_MARK_REST, /* which one: ebbi_phases_rest_index */
	LAB_MARK_LAST, /* while serving: the newest figures, should this be the end */
	LAB_SEND_TERM,
	LAB_SEND_KILL,
	LAB_FINISH,
};

enum lab_outcome {
	OUTCOME_COMPLETE,    /* load served and rest measured */
	OUTCOME_ENDED,       /* without a load: the command ended by itself, or was asked to */
	OUTCOME_NOT_READY,   /* the time to get ready ran out */
	OUTCOME_DIED_EARLY,  /* ended before it was ready */
	OUTCOME_DIED_LOADED, /* ended during the load or the rest */
	OUTCOME_LOAD_FAILED,
	OUTCOME_INTERRUPTED,
};

enum boot_by { BOOT_BY_READY, BOOT_BY_IDLE, BOOT_BY_TIME };

struct phases_plan {
	bool has_ready; /* somebody will call ebbi_phases_ready */
	bool has_load;
	uint64_t ready_timeout_ns;
	uint64_t idle_ns;       /* without readiness: boot ends after so long without work ... */
	uint64_t idle_limit_ns; /* ... or after so long in any case */
	uint64_t grace_ns;
	uint64_t last_every_ns; /* period of LAB_MARK_LAST */
	size_t rest_count;
	uint64_t rest_ns[LAB_REST_MARKS]; /* ascending */
};

struct phases {
	struct phases_plan plan;
	enum lab_phase phase;
	enum lab_outcome outcome;
	enum boot_by boot_by;
	uint64_t started_ns;
	uint64_t since_ns; /* begin of the phase; in PHASE_REST the end of the load */
	bool ready;
	bool load_started;
	bool load_ended;
	bool load_failed;
	bool main_ended;
	bool all_ended;
	bool stop_asked; /* somebody asked for the end */
	bool hurry;      /* and asked again: no grace */
	bool term_sent;
	bool kill_sent;
	bool load_end_marked;
	size_t next_rest;
	uint64_t last_marked_ns;
	/* Idleness: the CPU time at the moment since which the tree has done nothing. */
	uint64_t idle_since_ns;
	uint64_t idle_cpu_ns;
};

void ebbi_phases_start(struct phases *phases, const struct phases_plan *plan, uint64_t now_ns);

void ebbi_phases_ready(struct phases *phases);
void ebbi_phases_load_ended(struct phases *phases, bool failed);
void ebbi_phases_main_ended(struct phases *phases);
void ebbi_phases_all_ended(struct phases *phases);
/*
 * CPU time of the whole tree so far. `running`: somebody runs or would like to: on a busy machine a
 * process may wait for its turn so long that its CPU time alone looks like rest.
 */
void ebbi_phases_cpu(struct phases *phases, uint64_t now_ns, uint64_t cpu_ns, bool running);
/* The end is wanted. `term_sent`: the main process has had its SIGTERM already. */
void ebbi_phases_stop(struct phases *phases, bool term_sent);

enum lab_action ebbi_phases_next(struct phases *phases, uint64_t now_ns);

/* After LAB_MARK_REST: the index into plan.rest_ns. */
size_t ebbi_phases_rest_index(const struct phases *phases);

/* When to call ebbi_phases_next again though nothing happened; LAB_NEVER: no need. */
uint64_t ebbi_phases_deadline(const struct phases *phases);

/* Whether CPU times are wanted now. */
bool ebbi_phases_wants_cpu(const struct phases *phases);

#endif
