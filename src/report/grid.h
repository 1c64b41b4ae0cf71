/*
 * grid.h: a table of ready text, printed for a terminal, as Markdown and as HTML.
 *
 * Owns: nothing after return; a grid is a JSON object ({"title", "columns", "rows"}) that the caller releases.
 * Never: prints a character of a cell that means something where it is printed: HTML and Markdown are escaped here, and
 * nowhere else. Threading: one thread. Errors: the caller checks ferror(stream).
 */
#ifndef EBBI_REPORT_GRID_H
#define EBBI_REPORT_GRID_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/format.h"

json_t *ebbi_grid_new(const char *title);
/* `number`: aligned to the right. */
void ebbi_grid_column(json_t *grid, const char *head, bool number);
json_t *ebbi_grid_row(json_t *grid);
/* Control characters become '?', what is not UTF-8 too. */
__attribute__((format(printf, 2, 3))) void ebbi_grid_cell(json_t *row, const char *format, ...);

/* Drops columns of which every cell is empty or "-". */
void ebbi_grid_shrink(json_t *grid);

void ebbi_grid_text(FILE *stream, const json_t *grid, const struct style *style);
void ebbi_grid_markdown(FILE *stream, const json_t *grid);
void ebbi_grid_html(FILE *stream, const json_t *grid);

/* Text between tags or in a quoted attribute. */
void ebbi_html_text(FILE *stream, const char *text);
void ebbi_markdown_text(FILE *stream, const char *text);

/* JSON that may stand in a script element: no '<', '>' or '&', and no line end that JavaScript knows and JSON does not. */
void ebbi_html_json(FILE *stream, const json_t *document);

/* Columns that a text takes on a terminal, near enough: characters, not bytes. */
unsigned ebbi_text_width(const char *text);

#endif
