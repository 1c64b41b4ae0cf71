/*
 * run_text.h: one result as a table for people.
 *
 * Owns: nothing; writes to the stream it is given. Never: decides anything about the run.
 * Threading: one thread. Errors: the caller checks ferror(stream).
 */
#ifndef EBBI_REPORT_RUN_TEXT_H
#define EBBI_REPORT_RUN_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "lab/result.h"
#include "report/format.h"

void ebbi_run_text(FILE *stream, const struct run_result *result, const struct style *style, bool exact_bytes);

/* The account table alone, with a line that says of which process and when; nothing when no look was taken. */
void ebbi_run_accounts_text(FILE *stream, const struct run_result *result, const struct style *style, bool exact_bytes);

#endif
