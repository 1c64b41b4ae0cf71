/*
 * document.h: a report (the document of bundle.h) as text, Markdown and CSV.
 *
 * Owns: nothing. Threading: one thread. Errors: the caller checks ferror(stream).
 */
#ifndef EBBI_REPORT_DOCUMENT_H
#define EBBI_REPORT_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/bundle.h"
#include "report/format.h"

/* Of the comparisons, the text of comparison.h. */
void ebbi_document_text(FILE *stream, const struct bundle *bundle, const json_t *report, const struct style *style,
			bool exact);
void ebbi_document_markdown(FILE *stream, const json_t *report, bool exact);

/* A header and a line a run, as RFC 4180 has it but for line ends, which are those of the system. */
void ebbi_document_csv(FILE *stream, const json_t *report);

#endif
