/*
 * sizing.h: rows of `ebb size`: a fresh server under a constant rate each, and what they say together.
 *
 * Owns: the rows with their trials and what the generator found (memory shared with the processes that made it), until
 * ebbi_sizing_free. Never: holds text for people: report makes that. Decides which box fits by the upper bound of the peak.
 * Threading: one thread; ebbi_sizing_row forks. Errors: as ebbi_trial_run.
 * Invariant: a row counts (ROW_SERVED) only when its work was served; no box fits another.
 */
#ifndef EBBI_LAB_SIZING_H
#define EBBI_LAB_SIZING_H

#include "lab/generator.h"
#include "lab/ladder.h"
#include "lab/trial.h"

#define SIZING_ROWS 256
#define SIZING_LIST 16
/* What must be served of what was offered. */
#define SIZING_SERVED 0.99

enum row_verdict {
	ROW_SERVED,
	ROW_LATE,       /* served, with a p99 above the limit */
	ROW_REFUSED,    /* not all served; the rest was refused, honestly */
	ROW_NOT_SERVED, /* neither: errors */
	ROW_DIED,       /* the server ended */
	ROW_MACHINE,    /* not served or late, and the generator was not given the CPU, or had its own fill of it */
	ROW_NO_LOAD,    /* there was no load to speak of */
};

struct sizing_row {
	const char *sweep; /* the variable's value; NULL: no sweep */
	uint64_t rate;
	uint64_t event_bytes;
	uint32_t connections;
	enum row_verdict verdict;
	char name[96]; /* of its load, for people */
	struct generator_result *load;
	struct trial *trial;
};

/* Rows that differ in their rate alone, and where their knee is. */
struct sizing_series {
	size_t first;
	size_t count;
	uint64_t good; /* requests a second; 0: none was served */
	uint64_t bad;  /* 0: all that were tried were served */
	size_t bad_row;
};

struct sizing {
	struct experiment_plan plan; /* of all rows; environment and load are set for each */
	struct generator_plan load;
	const char *sweep_variable; /* NULL: none */
	uint64_t late_ns;           /* p99 above it is late */
	double share;               /* of a box, for the process */
	size_t box_count;
	uint64_t boxes[SIZING_LIST]; /* bytes, ascending */
	size_t count;
	struct sizing_row rows[SIZING_ROWS];
	size_t series_count;
	struct sizing_series series[SIZING_ROWS];
};

/* Runs one row, which is added even when it could not be run to its end. */
int ebbi_sizing_row(struct sizing *sizing, struct trials *trials, const struct sizing_row *wanted, char *ret_message,
		    int *ret_exit);

/* What the row is worth. Pure. `died`: the server ended before the load did. */
enum row_verdict ebbi_sizing_judge(const struct generator_result *load, bool died, uint64_t late_ns);

/* The most that the process may have needed; 0: not known. Pure. */
uint64_t ebbi_sizing_peak(const struct run_result *result);

/* The smallest box whose share holds the row, by index; box_count: none, or the row was not served. */
size_t ebbi_sizing_box(const struct sizing *sizing, const struct sizing_row *row);

void ebbi_sizing_free(struct sizing *sizing);

#endif
