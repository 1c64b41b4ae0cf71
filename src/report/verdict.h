/*
 * verdict.h: what the doctor says, on one screen and as JSON (schema "ebb.doctor/1").
 *
 * Owns: nothing but the JSON it returns, which is the caller's. Never: judges.
 * Threading: one thread. Errors: NULL when memory is short.
 * Invariant: the rows of its account table sum up to RSS, with a line for what is not accounted for.
 */
#ifndef EBBI_REPORT_VERDICT_H
#define EBBI_REPORT_VERDICT_H

#include <jansson.h>
#include <stdio.h>

#include "doctor/verdict.h"
#include "report/accounts.h"
#include "report/format.h"

#define DOCTOR_SCHEMA "ebb.doctor/1"

/* `table`: the process's own, when it was alive; NULL: made from the facts. */
void ebbi_verdict_text(FILE *stream, const struct facts *facts, const struct verdict *verdict,
		       const struct account_table *table, const struct style *style, bool exact);
json_t *ebbi_verdict_json(const struct facts *facts, const struct verdict *verdict, const struct account_table *table);

/* 0, or 4: it could not be told (UNKNOWN), or the inputs do not compare. */
int ebbi_verdict_exit(const struct verdict *verdict);

#endif
