#include "report/document.h"

#include <string.h>

#include "report/comparison.h"
#include "report/fields.h"
#include "report/grids.h"

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

/* --- Text -------------------------------------------------------------------------------- */

struct text_view {
	FILE *stream;
	const struct style *style;
	bool exact;
	bool between; /* something stands before */
};

static void separate(struct text_view *view)
{
	if (view->between)
		fputc('\n', view->stream);
	view->between = true;
}

/* Takes the grid. */
static void text_grid(struct text_view *view, json_t *grid)
{
	if (!grid)
		return;
	separate(view);
	ebbi_grid_text(view->stream, grid, view->style);
	json_decref(grid);
}

static void text_sentences(struct text_view *view, const json_t *lines)
{
	if (json_array_size(lines) > 0)
		separate(view);
	for (size_t i = 0; i < json_array_size(lines); i++)
		fprintf(view->stream, "%s\n", json_string_value(json_array_get(lines, i)));
}

static void text_further(struct text_view *view, const json_t *further)
{
	for (size_t i = 0; i < json_array_size(further); i++)
		fprintf(view->stream, "also %s  %s\n", text(json_array_get(further, i), "code"),
			text(json_array_get(further, i), "sentence"));
}

static void text_verdict(struct text_view *view, const json_t *verdict)
{
	const json_t *evidence = json_object_get(verdict, "evidence");

	if (!json_is_object(verdict))
		return;
	separate(view);
	fprintf(view->stream, "%s%s%s  %s\n", view->style->bold, text(verdict, "code"), view->style->off,
		text(verdict, "sentence"));
	for (size_t i = 0; i < json_array_size(evidence); i++) {
		const json_t *entry = json_array_get(evidence, i);
		const char *source = text(entry, "source");

		fprintf(view->stream, "  %s%s%s%s%s%s\n", text(entry, "text"), view->style->dim, source[0] ? " (" : "",
			source, source[0] ? ")" : "", view->style->off);
	}
	text_further(view, json_object_get(verdict, "further"));
	if (text(verdict, "remedy")[0])
		fprintf(view->stream, "remedy: %s\n", text(verdict, "remedy"));
	if (text(verdict, "next_measurement")[0])
		fprintf(view->stream, "next: %s\n", text(verdict, "next_measurement"));
	text_grid(view, ebbi_grids_accounts(json_object_get(verdict, "accounts"), view->exact));
}

void ebbi_document_text(FILE *stream, const struct bundle *bundle, const json_t *report, const struct style *style,
			bool exact)
{
	struct text_view view = {.stream = stream, .style = style, .exact = exact};
	json_t *results = json_object_get(report, "results"), *result;
	size_t i;

	json_array_foreach (results, i, result) {
		text_sentences(&view, json_object_get(result, "sentences"));
		text_grid(&view, ebbi_grids_limits(result, exact));
		text_grid(&view, ebbi_grids_size(result, exact));
		text_verdict(&view, json_object_get(result, "verdict"));
	}
	for (i = 0; i < bundle->comparison_count; i++) {
		if (bundle->comparisons[i]->comparison.group_count == 0 || bundle->comparisons[i]->not_comparable[0])
			continue;
		separate(&view);
		ebbi_comparison_text(stream, &bundle->comparisons[i]->comparison, style, exact);
	}
}

/* --- Markdown ---------------------------------------------------------------------------- */

static void markdown_grid(FILE *stream, json_t *grid)
{
	if (grid)
		ebbi_grid_markdown(stream, grid);
	json_decref(grid);
}

static void markdown_line(FILE *stream, const char *before, const char *line)
{
	if (!line[0])
		return;
	fputs(before, stream);
	ebbi_markdown_text(stream, line);
	fputs("\n\n", stream);
}

static void markdown_verdict(FILE *stream, const json_t *verdict, bool exact)
{
	const json_t *evidence = json_object_get(verdict, "evidence");

	if (!json_is_object(verdict))
		return;
	fputs("### Verdict: ", stream);
	markdown_line(stream, "", text(verdict, "code"));
	markdown_line(stream, "", text(verdict, "sentence"));
	for (size_t i = 0; i < json_array_size(evidence); i++) {
		fputs("- ", stream);
		ebbi_markdown_text(stream, text(json_array_get(evidence, i), "text"));
		fputc('\n', stream);
	}
	fputc('\n', stream);
	markdown_line(stream, "Remedy: ", text(verdict, "remedy"));
	markdown_line(stream, "Next measurement: ", text(verdict, "next_measurement"));
	markdown_grid(stream, ebbi_grids_accounts(json_object_get(verdict, "accounts"), exact));
}

static void markdown_comparison(FILE *stream, const json_t *comparison, bool exact)
{
	json_t *lines = ebbi_grids_conclusions(comparison);

	markdown_line(stream, "", text(comparison, "not_comparable"));
	for (size_t i = 0; i < json_array_size(json_object_get(comparison, "problems")); i++)
		markdown_line(stream, "",
			      json_string_value(json_array_get(json_object_get(comparison, "problems"), i)));
	markdown_grid(stream, ebbi_grids_comparison(comparison, exact));
	for (size_t i = 0; i < json_array_size(lines); i++) {
		fputs("- ", stream);
		ebbi_markdown_text(stream, json_string_value(json_array_get(lines, i)));
		fputs(i + 1 < json_array_size(lines) ? "\n" : "\n\n", stream);
	}
	json_decref(lines);
}

void ebbi_document_markdown(FILE *stream, const json_t *report, bool exact)
{
	json_t *list, *entry;
	size_t i;

	fputs("## Ebb report\n\n", stream);
	list = json_object_get(report, "results");
	json_array_foreach (list, i, entry) {
		for (size_t k = 0; k < json_array_size(json_object_get(entry, "sentences")); k++)
			markdown_line(stream, "",
				      json_string_value(json_array_get(json_object_get(entry, "sentences"), k)));
		markdown_grid(stream, ebbi_grids_limits(entry, exact));
		markdown_grid(stream, ebbi_grids_size(entry, exact));
		markdown_verdict(stream, json_object_get(entry, "verdict"), exact);
	}
	list = json_object_get(report, "comparisons");
	json_array_foreach (list, i, entry) {
		markdown_comparison(stream, entry, exact);
	}
	list = json_object_get(report, "stacks");
	json_array_foreach (list, i, entry) {
		markdown_grid(stream, ebbi_grids_stack(report, entry, exact));
	}
	markdown_grid(stream, ebbi_grids_sources(report));
}

/* --- CSV --------------------------------------------------------------------------------- */

static void csv_text(FILE *stream, const char *value)
{
	fputc('"', stream);
	/* A spreadsheet runs what begins like this. */
	if (strchr("=+-@", value[0]) && value[0])
		fputc('\'', stream);
	for (; *value; value++) {
		if (*value == '"')
			fputc('"', stream);
		fputc(*value, stream);
	}
	fputc('"', stream);
}

static void csv_value(FILE *stream, const json_t *value)
{
	if (json_is_string(value))
		csv_text(stream, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(stream, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		fprintf(stream, "%.9g", json_real_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "1" : "0", stream);
}

/* The row of a size that a run belongs to; NULL: none. */
static const json_t *row_of(const json_t *report, size_t run)
{
	json_t *results = json_object_get(report, "results"), *result, *row;
	size_t i, j;

	json_array_foreach (results, i, result) {
		json_array_foreach (json_object_get(result, "rows"), j, row) {
			const json_t *index = json_object_get(row, "run");

			if (json_is_integer(index) && (size_t)json_integer_value(index) == run)
				return row;
		}
	}
	return NULL;
}

/* Memory is that of the run already. */
static bool of_the_row(const struct field *field)
{
	return field->type != FIELD_BYTES || strcmp(field->key, "event_bytes") == 0;
}

/* Runs have a count that they served; a row of a size has its own. */
static bool of_the_run(const struct field *field)
{
	return strcmp(field->key, "served") != 0;
}

static void csv_head(FILE *stream)
{
	fputs("file,schema", stream);
	for (size_t i = 0; i < ebbi_run_field_count; i++) {
		if (of_the_run(&ebbi_run_fields[i]))
			fprintf(stream, ",%s", ebbi_run_fields[i].key);
	}
	for (size_t i = 0; i < ebbi_size_row_field_count; i++) {
		if (of_the_row(&ebbi_size_row_fields[i]))
			fprintf(stream, ",%s", ebbi_size_row_fields[i].key);
	}
	fputc('\n', stream);
}

static void csv_run(FILE *stream, const json_t *report, const json_t *run, const json_t *row)
{
	size_t source = (size_t)json_integer_value(json_object_get(run, "source"));
	const json_t *file = json_array_get(json_object_get(report, "sources"), source);

	csv_text(stream, text(file, "file"));
	fprintf(stream, ",%s", text(file, "schema"));
	for (size_t i = 0; i < ebbi_run_field_count; i++) {
		if (!of_the_run(&ebbi_run_fields[i]))
			continue;
		fputc(',', stream);
		csv_value(stream, json_object_get(run, ebbi_run_fields[i].key));
	}
	for (size_t i = 0; i < ebbi_size_row_field_count; i++) {
		const char *key = ebbi_size_row_fields[i].key;

		if (!of_the_row(&ebbi_size_row_fields[i]))
			continue;
		fputc(',', stream);
		csv_value(stream, json_object_get(!row && strcmp(key, "served") == 0 ? run : row, key));
	}
	fputc('\n', stream);
}

void ebbi_document_csv(FILE *stream, const json_t *report)
{
	json_t *runs = json_object_get(report, "runs"), *run;
	size_t i;

	csv_head(stream);
	json_array_foreach (runs, i, run) {
		csv_run(stream, report, run, row_of(report, i));
	}
}
