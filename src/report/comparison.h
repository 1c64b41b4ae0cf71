/*
 * comparison.h: groups of saved runs side by side, as text and as JSON.
 *
 * Owns: nothing but the JSON it returns. Threading: one thread. Errors: NULL when memory is short.
 */
#ifndef EBBI_REPORT_COMPARISON_H
#define EBBI_REPORT_COMPARISON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/format.h"
#include "report/saved.h"

#define REPORT_SCHEMA "ebb.report/1"

void ebbi_comparison_text(FILE *stream, const struct comparison *comparison, const struct style *style,
			  bool exact_bytes);
json_t *ebbi_comparison_json(const struct comparison *comparison);

#endif
