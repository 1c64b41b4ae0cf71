/*
 * result.h: everything one `ebb run` found out, as values.
 *
 * Owns: nothing but what is inside; the strings it points to live as long as the plan's.
 * Never: holds text for people: report makes that. Threading: one thread.
 * Invariants: *_bytes are bytes, *_ns nanoseconds; a figure that is not known has its `has_` or
 * `taken` flag false and is never 0 instead.
 */
#ifndef EBBI_LAB_RESULT_H
#define EBBI_LAB_RESULT_H

#include <ebb/ebb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/allocator.h"
#include "lab/phases.h"
#include "lab/ready.h"
#include "observe/look.h"
#include "observe/machine.h"
#include "observe/preload.h"
#include "observe/tree.h"

/* The whole tree at one moment. */
struct mark {
	bool taken;
	uint64_t at_ns; /* since the start */
	struct tree_memory memory;
	struct tree_times times;
	uint64_t statm_bytes; /* sum of statm's RSS: always there, within the bound */
	/* Ebb's own figures: sums over the processes that run on it. */
	size_t ebb_processes;
	uint64_t ebb_live_bytes;
	uint64_t ebb_held_bytes;
	struct ebb_snapshot ebb; /* of the main process; size_bytes 0: none */
};

/* What the figures of all marks are. */
enum basis {
	BASIS_RSS,     /* one process: its RSS */
	BASIS_PSS,     /* a tree: sum of PSS and SwapPss */
	BASIS_RSS_SUM, /* a tree that may not be read: sum of RSS, shared pages counted again */
};

enum peak_source {
	PEAK_NONE,
	PEAK_HWM,     /* VmHWM, read while it lived */
	PEAK_EXIT,    /* ru_maxrss, given by wait4 */
	PEAK_SAMPLES, /* our own samples of a tree */
	PEAK_AT_MOST, /* ru_maxrss no higher than our own image before the exec: less is possible */
};

struct peak {
	enum peak_source source;
	uint64_t bytes;
	uint64_t bound_bytes;   /* how far the kernel's counters may be off, each way */
	uint64_t upper_bytes;   /* a tree's peak lies between `bytes` and this */
	uint64_t hwm_bytes;     /* largest VmHWM of one process */
	uint64_t exit_bytes;    /* largest high-water mark of one process at its end (wait4) */
	uint64_t at_most_bytes; /* the same, of processes that stayed below our own image */
	uint64_t pss_bytes;     /* largest sampled sum of PSS + SwapPss */
	uint64_t rss_bytes;     /* largest sampled sum of RSS */
};

/* After which mark the account table's process was looked at; a later one of these is the better. */
enum looked { LOOKED_NEVER, LOOKED_AT_BOOT, LOOKED_AFTER_LOAD, LOOKED_AT_WORK, LOOKED_AT_REST };

/* The largest process of the tree, in full: what the account table is made of. */
struct full_look {
	enum looked when;
	uint64_t at_ns;          /* since the start */
	uint64_t rest_ns;        /* LOOKED_AT_REST: how long it had rested */
	size_t processes;        /* in the tree then */
	bool is_main;            /* it is the process that was started */
	const struct look *look; /* NULL: never */
};

#define RESULT_NOTES 12
#define RESULT_NOTE_BYTES 384
#define RESULT_TAIL 2049
#define TIMELINE_POINTS 512

struct timeline_point {
	uint64_t at_ns;
	uint64_t rss_bytes;
};

struct run_result {
	/* What was run. */
	const char *label;
	char *const *argv;
	const char *conf;         /* NULL: none */
	const char *load_command; /* NULL: none */
	const char *work_pattern; /* NULL: not asked */
	struct allocator allocator;
	char executable[4096]; /* where the command was found */
	char build_id[65];     /* of that file; "" when it has none: a script, say */
	struct ready ready;
	struct machine machine;
	int64_t started_unix; /* seconds */

	/* How it went. */
	enum lab_outcome outcome;
	enum boot_by boot_by;
	int stop_signal; /* the signal that ended it early; 0: none */
	bool killed;     /* the grace period was not enough */
	bool main_reaped;
	int main_status;    /* as wait(2) gives it */
	size_t left_behind; /* processes still there when we gave up waiting */
	bool load_ran;
	int load_status;
	uint64_t load_ns;
	bool has_work;
	double work;       /* what the load says it did */
	uint64_t ready_ns; /* from the start */
	uint64_t total_ns;

	/* Figures. */
	enum basis basis;
	struct mark boot;
	struct mark load_end;
	size_t rest_count;
	uint64_t rest_ns[LAB_REST_MARKS];
	struct mark rest[LAB_REST_MARKS];
	struct mark last;
	struct full_look full_look;
	struct peak peak;
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t minor_faults;
	uint64_t major_faults;
	uint64_t threads_most;
	size_t processes_most;
	uint64_t processes_seen;

	/* The preload. */
	enum preload_state preload;
	enum preload_reason preload_reason;
	size_t preload_processes; /* at the last mark: with the library ... */
	size_t preload_missing;   /* ... and without */
	struct preload_look others;

	size_t timeline_count;
	uint64_t timeline_step_ns;
	struct timeline_point timeline[TIMELINE_POINTS];

	/* The last lines of a quiet run, for people; "": none. */
	char command_tail[RESULT_TAIL];
	char load_tail[RESULT_TAIL];

	/* Ourselves. */
	uint64_t tool_rss_bytes;
	uint64_t tool_cpu_ns;

	size_t note_count;
	char notes[RESULT_NOTES][RESULT_NOTE_BYTES];
};

/* The figure of a mark in the basis of the run; false when it is not known. */
bool ebbi_mark_bytes(const struct mark *mark, enum basis basis, uint64_t *ret_bytes);

/* Decides the basis and the peak once all is over. Pure. */
void ebbi_result_conclude(struct run_result *result);

/* What `ebb run` exits with for this result. */
int ebbi_result_exit(const struct run_result *result);

__attribute__((format(printf, 2, 3))) void ebbi_result_note(struct run_result *result, const char *format, ...);

#endif
