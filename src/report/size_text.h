/*
 * size_text.h: `ebb size` for people: a table that grows row by row, and what it says at its end.
 *
 * Owns: nothing; writes to the stream it is given. Never: decides what a row is worth (lab/sizing.h does).
 * Threading: one thread. Errors: the caller checks ferror(stream).
 */
#ifndef EBBI_REPORT_SIZE_TEXT_H
#define EBBI_REPORT_SIZE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "lab/sizing.h"
#include "report/format.h"

struct size_table {
	FILE *stream;
	const struct sizing *sizing;
	struct style style;
	bool exact;      /* bytes instead of MiB */
	bool many;       /* series: each is introduced */
	const char *url; /* where the requests go */
};

void ebbi_size_head(const struct size_table *table);
/* Before the first row of each series. */
void ebbi_size_series(const struct size_table *table, const struct sizing_row *first);
void ebbi_size_row(const struct size_table *table, const struct sizing_row *row);
/* What a series says; after its last row. */
void ebbi_size_knee(const struct size_table *table, const struct sizing_series *series);

/* Why a row does not count: "p99 of 512 ms is above 250 ms"; "" for one that does. */
void ebbi_size_reason(const struct sizing *sizing, const struct sizing_row *row, char *ret_text, size_t size);

/* "12 answered with an error status (404), 3 not answered in time"; "" when there were none. */
void ebbi_size_errors(const struct generator_result *load, char *ret_text, size_t size);

/* "512M", "1G", "768K": as the command line has it. */
const char *ebbi_size_box(char *ret_text, uint64_t bytes);

#endif
