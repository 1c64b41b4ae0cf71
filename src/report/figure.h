/*
 * figure.h: the figures of figures.def as a table, and how one is written.
 *
 * Owns: nothing. Pure. Threading: any. Errors: none; a buffer of FORMAT_BYTES (report/format.h) always suffices.
 */
#ifndef EBBI_REPORT_FIGURE_H
#define EBBI_REPORT_FIGURE_H

#include "report/saved.h"

enum figure_phase { FIGURE_PHASE_BOOT, FIGURE_PHASE_LOAD, FIGURE_PHASE_REST, FIGURE_PHASES };
enum figure_unit { FIGURE_UNIT_BYTES, FIGURE_UNIT_SECONDS, FIGURE_UNIT_COUNT };

struct figure_kind {
	const char *key;
	const char *word;
	enum figure_phase phase;
	enum figure_unit unit;
	bool more_is_better;
};

extern const struct figure_kind ebbi_figures[FIGURE_COUNT];

/* With its unit: "34.2 MiB", "0.81 s", "81,234". */
const char *ebbi_figure_format(char *ret_text, enum figure figure, double value, bool exact_bytes);

/* "33.9 .. 35.1", without a unit: it is that in which the median is written. */
const char *ebbi_figure_range(char *ret_text, enum figure figure, double median, double least, double most,
			      bool exact_bytes);

/* "+1.4 MiB", "-0.20 s" */
const char *ebbi_figure_shift(char *ret_text, enum figure figure, double shift, bool exact_bytes);

#endif
