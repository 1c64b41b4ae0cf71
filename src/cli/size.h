/*
 * size.h: what size.c and size_plan.c share: the plan of all rows of `ebb size`.
 *
 * Owns: the requests. Threading: the process has one thread.
 * Errors: exit codes of the process, after a line on stderr.
 */
#ifndef EBBI_CLI_SIZE_H
#define EBBI_CLI_SIZE_H

#include "cli/options.h"
#include "lab/schedule.h"
#include "lab/sizing.h"

struct size_plan {
	struct requests requests;
	char url[1200]; /* where the requests go, for people */
	size_t rate_count;
	uint64_t rates[LADDER_RATES];
	uint64_t steps;
	size_t event_count; /* 1 at least: 0 bytes are those of the templates */
	uint64_t events[SIZING_LIST];
	size_t connection_count;
	uint64_t connections[SIZING_LIST];
	size_t sweep_count; /* 1 at least: NULL is no sweep */
	const char *sweeps[SIZING_LIST];
	char sweep_text[4096]; /* what the above point to */
};

/* Fills both from the options; 0 or an exit code. */
int ebbi_size_plan(const struct size_options *options, char **command, struct size_plan *ret_plan,
		   struct sizing *ret_sizing);

#endif
