/*
 * page.h: a report as one HTML page that holds all it needs.
 *
 * Owns: nothing. The page is src/report/html/page.html with its {{places}} filled.
 * Never: lets a text of a result become markup or script: whatever comes from a document passes ebbi_html_text or
 * ebbi_html_json; scripts and styles carry a nonce that a result cannot know, and the page's policy refuses all others and
 * every request.
 * Threading: one thread. Errors: the caller checks ferror(stream).
 */
#ifndef EBBI_REPORT_PAGE_H
#define EBBI_REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* `report`: the document of bundle.h. */
void ebbi_page(FILE *stream, const json_t *report, bool exact_bytes);

#endif
