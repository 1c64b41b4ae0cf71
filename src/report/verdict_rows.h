/*
 * verdict_rows.h: an account table from facts alone, for verdict.c and verdict_json.c.
 *
 * Owns: nothing. Pure. Threading: one thread. Errors: none.
 * Invariant: the rows sum up to RSS. What exceeds the rest of RSS is cut: the facts may be of different moments.
 */
#ifndef EBBI_REPORT_VERDICT_ROWS_H
#define EBBI_REPORT_VERDICT_ROWS_H

#include "doctor/verdict.h"

struct verdict_row {
	const char *key;
	const char *title;
	uint64_t bytes;
};
#define VERDICT_ROWS 12

/* The number of rows; 0 when RSS is not known. The last one is "not accounted". */
size_t ebbi_verdict_rows(const struct facts *facts, struct verdict_row *ret_rows);

/* What counts against a limit beside RSS, or is a part of it that the kernel may take; the number of rows. */
size_t ebbi_verdict_outside(const struct facts *facts, struct verdict_row *ret_rows);

#endif
