/*
 * grids.h: the tables and sentences of a report (the document of bundle.h), once for text, Markdown and HTML.
 *
 * Owns: nothing; grids and lists are the caller's. Pure. Threading: one thread. Errors: NULL where there is nothing to show.
 */
#ifndef EBBI_REPORT_GRIDS_H
#define EBBI_REPORT_GRIDS_H

#include <jansson.h>
#include <stdbool.h>

#include "report/grid.h"

/* Groups against phases; each cell a median with its range and the change against the first group. */
json_t *ebbi_grids_comparison(const json_t *comparison, bool exact);

/* A sentence a phase: who is lowest and by how much, or that nobody is. A list of strings. */
json_t *ebbi_grids_conclusions(const json_t *comparison);

/* A row for each run. */
json_t *ebbi_grids_runs(const json_t *report, bool exact);

/* A column for each run of the stack, a row for each account. */
json_t *ebbi_grids_stack(const json_t *report, const json_t *stack, bool exact);

json_t *ebbi_grids_size(const json_t *result, bool exact);
json_t *ebbi_grids_limits(const json_t *result, bool exact);
json_t *ebbi_grids_accounts(const json_t *accounts, bool exact);
json_t *ebbi_grids_sources(const json_t *report);

/* "34.2", or every byte; "-" for null. */
void ebbi_grids_bytes(json_t *row, const json_t *value, bool exact);

#endif
