#include "report/grid.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/fields.h"
#include "report/run_json.h"

#define COLUMNS_MOST 32

json_t *ebbi_grid_new(const char *title)
{
	return json_pack("{s:o, s:[], s:[]}", "title", ebbi_json_foreign(title), "columns", "rows");
}

void ebbi_grid_column(json_t *grid, const char *head, bool number)
{
	json_array_append_new(json_object_get(grid, "columns"),
			      json_pack("{s:o, s:b}", "head", ebbi_json_foreign(head), "number", number));
}

json_t *ebbi_grid_row(json_t *grid)
{
	json_t *row = json_array();

	json_array_append_new(json_object_get(grid, "rows"), row);
	return row;
}

void ebbi_grid_cell(json_t *row, const char *format, ...)
{
	char text[FIELD_TEXT_MOST + 1];
	json_t *whole;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	whole = ebbi_json_foreign(text);
	json_array_append_new(row, ebbi_field_text(whole ? json_string_value(whole) : ""));
	json_decref(whole);
}

static const char *cell_of(const json_t *row, size_t column)
{
	const char *text = json_string_value(json_array_get(row, column));

	return text ? text : "";
}

static const char *head_of(const json_t *grid, size_t column)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(grid, "columns"), column), "head"));
}

static bool is_number(const json_t *grid, size_t column)
{
	return json_is_true(json_object_get(json_array_get(json_object_get(grid, "columns"), column), "number"));
}

static size_t columns_of(const json_t *grid)
{
	return json_array_size(json_object_get(grid, "columns"));
}

void ebbi_grid_shrink(json_t *grid)
{
	json_t *rows = json_object_get(grid, "rows"), *row;
	size_t i;

	for (size_t column = columns_of(grid); column-- > 0;) {
		bool empty = true;

		json_array_foreach (rows, i, row) {
			empty = empty && (!cell_of(row, column)[0] || strcmp(cell_of(row, column), "-") == 0);
		}
		if (!empty)
			continue;
		json_array_remove(json_object_get(grid, "columns"), column);
		json_array_foreach (rows, i, row) {
			json_array_remove(row, column);
		}
	}
}

/* --- A terminal -------------------------------------------------------------------------- */

unsigned ebbi_text_width(const char *text)
{
	unsigned width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void pad(FILE *stream, unsigned count)
{
	fprintf(stream, "%*s", (int)count, "");
}

static void text_cell(FILE *stream, const char *text, unsigned width, bool number, bool last)
{
	unsigned own = ebbi_text_width(text);

	if (number && own < width)
		pad(stream, width - own);
	fputs(text, stream);
	if (!number && own < width && !last)
		pad(stream, width - own);
	if (!last)
		fputs("  ", stream);
}

void ebbi_grid_text(FILE *stream, const json_t *grid, const struct style *style)
{
	const json_t *rows = json_object_get(grid, "rows");
	size_t columns = columns_of(grid) < COLUMNS_MOST ? columns_of(grid) : COLUMNS_MOST, i;
	unsigned widths[COLUMNS_MOST];
	json_t *row;

	for (size_t c = 0; c < columns; c++) {
		widths[c] = ebbi_text_width(head_of(grid, c));
		json_array_foreach (rows, i, row) {
			unsigned width = ebbi_text_width(cell_of(row, c));

			widths[c] = width > widths[c] ? width : widths[c];
		}
	}
	fprintf(stream, "%s%s%s\n  %s", style->bold, json_string_value(json_object_get(grid, "title")), style->off,
		style->dim);
	for (size_t c = 0; c < columns; c++)
		text_cell(stream, head_of(grid, c), widths[c], is_number(grid, c), c + 1 == columns);
	fprintf(stream, "%s\n", style->off);
	json_array_foreach (rows, i, row) {
		fputs("  ", stream);
		for (size_t c = 0; c < columns; c++)
			text_cell(stream, cell_of(row, c), widths[c], is_number(grid, c), c + 1 == columns);
		fputc('\n', stream);
	}
}

/* --- Markdown ---------------------------------------------------------------------------- */

void ebbi_markdown_text(FILE *stream, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&')
			fprintf(stream, "&#%d;", *text);
		/* A name behind an @, or a number behind a #, is a link where Markdown is shown. */
		else if (*text == '@' || *text == '#')
			fprintf(stream, "&#%d;", *text);
		else if (strchr("\\`*_[]|~", *text))
			fprintf(stream, "\\%c", *text);
		else
			fputc(*text, stream);
	}
}

void ebbi_grid_markdown(FILE *stream, const json_t *grid)
{
	const json_t *rows = json_object_get(grid, "rows");
	size_t columns = columns_of(grid), i;
	json_t *row;

	fputs("### ", stream);
	ebbi_markdown_text(stream, json_string_value(json_object_get(grid, "title")));
	fputs("\n\n|", stream);
	for (size_t c = 0; c < columns; c++) {
		fputc(' ', stream);
		ebbi_markdown_text(stream, head_of(grid, c));
		fputs(" |", stream);
	}
	fputs("\n|", stream);
	for (size_t c = 0; c < columns; c++)
		fputs(is_number(grid, c) ? " ---: |" : " --- |", stream);
	json_array_foreach (rows, i, row) {
		fputs("\n|", stream);
		for (size_t c = 0; c < columns; c++) {
			fputc(' ', stream);
			ebbi_markdown_text(stream, cell_of(row, c));
			fputs(" |", stream);
		}
	}
	fputs("\n\n", stream);
}

/* --- HTML -------------------------------------------------------------------------------- */

void ebbi_html_text(FILE *stream, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			fprintf(stream, "&#%d;", *text);
		else
			fputc(*text, stream);
	}
}

/* The first cell of a row names it. What stands in brackets behind a figure, and behind that, is its range and change. */
static void html_cell(FILE *stream, const char *text, bool number, bool first)
{
	const char *name = first ? "th scope=\"row\"" : "td";
	const char *range = number ? strstr(text, " (") : NULL;
	char figure[64];

	fprintf(stream, "<%s%s>", name, number ? " class=\"n\"" : "");
	if (range && (size_t)(range - text) < sizeof(figure)) {
		snprintf(figure, sizeof(figure), "%.*s", (int)(range - text), text);
		ebbi_html_text(stream, figure);
		fputs(" <small>", stream);
		ebbi_html_text(stream, range + 1);
		fputs("</small>", stream);
	} else {
		ebbi_html_text(stream, text);
	}
	fprintf(stream, "</%.2s>", name);
}

void ebbi_grid_html(FILE *stream, const json_t *grid)
{
	const json_t *rows = json_object_get(grid, "rows");
	size_t columns = columns_of(grid), i;
	json_t *row;

	fputs("<div class=\"wide\" tabindex=\"0\"><table><caption>", stream);
	ebbi_html_text(stream, json_string_value(json_object_get(grid, "title")));
	fputs("</caption>\n<thead><tr>", stream);
	for (size_t c = 0; c < columns; c++) {
		fprintf(stream, "<th scope=\"col\"%s>", is_number(grid, c) ? " class=\"n\"" : "");
		ebbi_html_text(stream, head_of(grid, c));
		fputs("</th>", stream);
	}
	fputs("</tr></thead>\n<tbody>\n", stream);
	json_array_foreach (rows, i, row) {
		fputs("<tr>", stream);
		for (size_t c = 0; c < columns; c++)
			html_cell(stream, cell_of(row, c), is_number(grid, c), c == 0);
		fputs("</tr>\n", stream);
	}
	fputs("</tbody></table></div>\n", stream);
}

void ebbi_html_json(FILE *stream, const json_t *document)
{
	/* JSON_ENSURE_ASCII: U+2028 and U+2029 are escaped, too. */
	char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));

	for (const char *at = text; at && *at; at++) {
		if (*at == '<' || *at == '>' || *at == '&')
			fprintf(stream, "\\u%04x", *at);
		else
			fputc(*at, stream);
	}
	free(text);
}
