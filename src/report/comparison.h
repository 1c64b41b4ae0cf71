/*
 * comparison.h: groups of saved runs side by side, as text and as JSON, generation by generation.
 *
 * Owns: nothing but the JSON it returns. Threading: one thread. Errors: NULL when memory is short.
 */
#ifndef EBBI_REPORT_COMPARISON_H
#define EBBI_REPORT_COMPARISON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/conclusion.h"
#include "report/format.h"
#include "report/groups.h"

#define REPORT_SCHEMA "ebb.report/1"

/* The tables, the problems, and what they say. */
void ebbi_comparison_text(FILE *stream, const struct comparison *comparison, const struct style *style,
			  bool exact_bytes);
json_t *ebbi_comparison_json(const struct comparison *comparison);

/* The generations in order of appearance: the first `size` of them; how many there are. */
size_t ebbi_comparison_generations(const struct comparison *comparison, const char **ret_generations, size_t size);

/* {sentence, work_differs, phases: {boot, peak, resting, CPU}} of one generation. */
json_t *ebbi_conclusion_json(const struct comparison *comparison, const char *generation);

/* Whether the comparison has no problem and some phase says something: 0 or 4 of docs/sessions/compare.md. */
bool ebbi_comparison_conclusive(const struct comparison *comparison);

#endif
