/*
 * sample.h: one moment of `ebb watch`, and its forms for machines: CSV, JSON, Prometheus' text.
 *
 * Owns: the strings it returns are the caller's to free. Never: asks the process.
 * Threading: one thread. Errors: NULL when memory is short.
 */
#ifndef EBBI_REPORT_SAMPLE_H
#define EBBI_REPORT_SAMPLE_H

#include <jansson.h>
#include <stdio.h>

#include "report/accounts.h"

#define WATCH_SCHEMA "ebb.watch/1"
#define LEDGERS_MOST 8

/* An application's own figure for its memory. */
struct ledger_value {
	char name[48];
	bool known;
	uint64_t bytes;
	char problem[96]; /* why it is not known */
};

struct sample {
	const struct look *look;
	const struct account_table *table;
	uint64_t cpu_ms;
	size_t ledger_count;
	struct ledger_value ledgers[LEDGERS_MOST];
	/* Against the sample before; all 0 in the first. A second each. */
	bool has_rates;
	double cpu_share; /* 1: one CPU */
	double faults;
	double major_faults;
	double purges;
	double purged_bytes;
	double refaults;
};

/* Fills cpu_ms and the rates. `before` may be NULL. */
void ebbi_sample_rates(struct sample *sample, const struct sample *before);

void ebbi_sample_csv_head(FILE *stream, const struct sample *sample);
void ebbi_sample_csv(FILE *stream, const struct sample *sample);
json_t *ebbi_sample_json(const struct sample *sample);

/* The text exposition format of Prometheus, version 0.0.4. */
void ebbi_sample_prometheus(FILE *stream, const struct sample *sample);

#endif
