/*
 * verdict_arenas.h: the arenas of glibc's heap, one a line: live, what a trim returns, what it does not.
 *
 * Owns: nothing but the JSON it returns, which is the caller's. Never: judges. Threading: one thread. Errors: none.
 */
#ifndef EBBI_REPORT_VERDICT_ARENAS_H
#define EBBI_REPORT_VERDICT_ARENAS_H

#include <jansson.h>
#include <stdio.h>

#include "doctor/facts.h"
#include "report/format.h"

/* Nothing when there are fewer than two. The largest ones, the rest in one line. */
void ebbi_arenas_text(FILE *stream, const struct facts *facts, const struct style *style, bool exact);
json_t *ebbi_arenas_json(const struct facts *facts);

#endif
