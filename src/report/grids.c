#include "report/grids.h"

#include <stdio.h>
#include <string.h>

#include "report/accounts.h"
#include "report/fields.h"
#include "report/figure.h"
#include "report/run_json.h"

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "-";
}

void ebbi_grids_bytes(json_t *row, const json_t *value, bool exact)
{
	if (!json_is_number(value))
		ebbi_grid_cell(row, "-");
	else if (exact)
		ebbi_grid_cell(row, "%.0f", json_number_value(value));
	else
		ebbi_grid_cell(row, "%.1f", json_number_value(value) / 1048576.0);
}

static void add_field(json_t *row, const struct field *field, const json_t *value, bool exact)
{
	char count[FORMAT_BYTES];
	double shown = json_number_value(value);

	if (json_is_string(value))
		ebbi_grid_cell(row, "%s", json_string_value(value));
	else if (json_is_boolean(value))
		ebbi_grid_cell(row, "%s", json_is_true(value) ? "yes" : "no");
	else if (!json_is_number(value))
		ebbi_grid_cell(row, "-");
	else if (field->type == FIELD_BYTES)
		ebbi_grids_bytes(row, value, exact);
	else if (field->type == FIELD_SECONDS)
		ebbi_grid_cell(row, shown < 1 ? "%.4f" : "%.2f", shown);
	else if (field->type == FIELD_LATENCY)
		ebbi_grid_cell(row, shown < 0.01 ? "%.2f" : "%.0f", shown * 1000);
	else if (json_is_integer(value))
		ebbi_grid_cell(row, "%s", ebbi_format_count(count, (uint64_t)json_integer_value(value)));
	else
		ebbi_grid_cell(row, "%.1f", shown);
}

/* Columns for the fields that have a head, with their unit. */
static void add_heads(json_t *grid, const struct field *fields, size_t count, bool exact)
{
	static const char *const units[] = {[FIELD_SECONDS] = ", s", [FIELD_LATENCY] = ", ms", [FIELD_COUNT] = ""};

	for (size_t i = 0; i < count; i++) {
		const char *unit = fields[i].type == FIELD_BYTES ? exact ? ", bytes" : ", MiB" : units[fields[i].type];
		char head[64];

		snprintf(head, sizeof(head), "%s%s", fields[i].head, unit ? unit : "");
		if (fields[i].head[0])
			ebbi_grid_column(grid, head, fields[i].type > FIELD_FLAG);
	}
}

static void add_fields(json_t *row, const json_t *object, const struct field *fields, size_t count, bool exact)
{
	for (size_t i = 0; i < count; i++) {
		if (fields[i].head[0])
			add_field(row, &fields[i], json_object_get(object, fields[i].key), exact);
	}
}

/* A row for each object of the list. NULL when it is empty. */
static json_t *grid_of(const char *title, const json_t *list, const struct field *fields, size_t count, bool exact)
{
	json_t *grid = json_array_size(list) ? ebbi_grid_new(title) : NULL;

	if (!grid)
		return NULL;
	add_heads(grid, fields, count, exact);
	for (size_t i = 0; i < json_array_size(list); i++)
		add_fields(ebbi_grid_row(grid), json_array_get(list, i), fields, count, exact);
	ebbi_grid_shrink(grid);
	return grid;
}

json_t *ebbi_grids_runs(const json_t *report, bool exact)
{
	return grid_of("Runs", json_object_get(report, "runs"), ebbi_run_fields, ebbi_run_field_count, exact);
}

json_t *ebbi_grids_size(const json_t *result, bool exact)
{
	return grid_of("Size", json_object_get(result, "rows"), ebbi_size_row_fields, ebbi_size_row_field_count, exact);
}

/* A limit's figure in its own unit. */
static void add_limited(json_t *row, const json_t *limit, const char *key, bool exact)
{
	const json_t *value = json_object_get(limit, key);
	const char *unit = text(limit, "unit");
	char figure[FORMAT_BYTES];
	double shown = json_number_value(value);

	if (!json_is_number(value))
		ebbi_grid_cell(row, "-");
	else if (strcmp(unit, "bytes") == 0)
		ebbi_grid_cell(row, "%s", ebbi_format_bytes(figure, (uint64_t)shown, exact));
	else if (strcmp(unit, "seconds") == 0)
		ebbi_grid_cell(row, "%.2f s", shown);
	else
		ebbi_grid_cell(row, "%.0f", shown);
}

json_t *ebbi_grids_limits(const json_t *result, bool exact)
{
	const json_t *limits = json_object_get(result, "limits");
	json_t *grid = json_array_size(limits) ? ebbi_grid_new("Limits") : NULL;

	if (!grid)
		return NULL;
	ebbi_grid_column(grid, "figure", false);
	ebbi_grid_column(grid, "promised", true);
	ebbi_grid_column(grid, "at most", true);
	ebbi_grid_column(grid, "measured", true);
	ebbi_grid_column(grid, "", false);
	ebbi_grid_column(grid, "why", false);
	for (size_t i = 0; i < json_array_size(limits); i++) {
		const json_t *limit = json_array_get(limits, i);
		json_t *row = ebbi_grid_row(grid);
		const char *account = json_string_value(json_object_get(limit, "account"));

		ebbi_grid_cell(row, "%s%s%s", text(limit, "figure"), account ? " " : "", account ? account : "");
		ebbi_grid_cell(row, "%s", text(limit, "limit"));
		add_limited(row, limit, "most", exact);
		add_limited(row, limit, "measured", exact);
		ebbi_grid_cell(row, "%s", text(limit, "kept"));
		ebbi_grid_cell(row, "%s", text(limit, "problem"));
	}
	ebbi_grid_shrink(grid);
	return grid;
}

json_t *ebbi_grids_sources(const json_t *report)
{
	json_t *grid = ebbi_grid_new("Files"), *sources = json_object_get(report, "sources"), *source;
	size_t i;

	ebbi_grid_column(grid, "file", false);
	ebbi_grid_column(grid, "schema", false);
	add_heads(grid, ebbi_source_fields, ebbi_source_field_count, /* exact= */ false);
	json_array_foreach (sources, i, source) {
		json_t *row = ebbi_grid_row(grid);

		ebbi_grid_cell(row, "%s", text(source, "file"));
		ebbi_grid_cell(row, "%s", text(source, "schema"));
		add_fields(row, source, ebbi_source_fields, ebbi_source_field_count, /* exact= */ false);
	}
	ebbi_grid_shrink(grid);
	return grid;
}

/* --- Comparisons ------------------------------------------------------------------------- */

/* "34.2 MiB (33.9 .. 35.1, -12 %)" */
static void add_series(json_t *row, const json_t *series, const json_t *base, enum figure figure, bool exact)
{
	bool several = json_array_size(json_object_get(series, "values")) > 1;
	char change[FORMAT_BYTES] = "", range[2 * FORMAT_BYTES] = "", median[FORMAT_BYTES];

	if (!json_is_object(series)) {
		ebbi_grid_cell(row, "-");
		return;
	}
	if (json_is_object(base))
		ebbi_format_change(change, number(series, "median"), number(base, "median"));
	if (several)
		ebbi_figure_range(range, figure, number(series, "median"), number(series, "least"),
				  number(series, "most"), exact);
	ebbi_figure_format(median, figure, number(series, "median"), exact);
	if (!change[0] && !several)
		ebbi_grid_cell(row, "%s", median);
	else
		ebbi_grid_cell(row, "%s (%s%s%s)", median, range, several && change[0] ? ", " : "", change);
}

/* The group that this one is held against; NULL: it is the one. */
static const json_t *base_of(const json_t *groups, const json_t *group)
{
	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *other = json_array_get(groups, i);

		if (strcmp(text(other, "generation"), text(group, "generation")) == 0)
			return other == group ? NULL : other;
	}
	return NULL;
}

static void figure_name(const json_t *comparison, enum figure figure, char *ret_name, size_t size)
{
	static const char *const phases[] = {"boot", "load", "rest"};

	if (figure == FIGURE_REST_FIRST || figure == FIGURE_REST_LAST)
		snprintf(ret_name, size, "rest, after %g s",
			 number(comparison,
				figure == FIGURE_REST_FIRST ? "resting_first_seconds" : "resting_last_seconds"));
	else
		snprintf(ret_name, size, "%s, %s", phases[ebbi_figures[figure].phase], ebbi_figures[figure].word);
}

json_t *ebbi_grids_comparison(const json_t *comparison, bool exact)
{
	const json_t *groups = json_object_get(comparison, "groups");
	json_t *grid = json_array_size(groups) ? ebbi_grid_new("Median (range, change against the first)") : NULL;
	char name[128];

	if (!grid)
		return NULL;
	ebbi_grid_column(grid, "", false);
	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		const char *generation = json_string_value(json_object_get(group, "generation"));

		snprintf(name, sizeof(name), "%s%s%s", text(group, "label"), generation ? ", " : "",
			 generation ? generation : "");
		ebbi_grid_column(grid, name, true);
	}
	for (enum figure figure = 0; figure < FIGURE_COUNT; figure++) {
		const char *key = ebbi_figures[figure].key;
		bool shown = false;
		json_t *row;

		for (size_t i = 0; i < json_array_size(groups); i++)
			shown = shown || number(json_object_get(json_array_get(groups, i), key), "most") > 0;
		if (!shown)
			continue;
		row = ebbi_grid_row(grid);
		figure_name(comparison, figure, name, sizeof(name));
		ebbi_grid_cell(row, "%s", name);
		for (size_t i = 0; i < json_array_size(groups); i++) {
			const json_t *group = json_array_get(groups, i);

			add_series(row, json_object_get(group, key), json_object_get(base_of(groups, group), key),
				   figure, exact);
		}
	}
	return grid;
}

json_t *ebbi_grids_conclusions(const json_t *comparison)
{
	const json_t *conclusions = json_object_get(comparison, "conclusions");
	json_t *list = json_array(), *phase;
	const char *name;
	char line[1200];

	for (size_t i = 0; i < json_array_size(conclusions); i++) {
		const json_t *conclusion = json_array_get(conclusions, i);
		const char *generation = json_string_value(json_object_get(conclusion, "generation"));

		json_object_foreach (json_object_get(conclusion, "phases"), name, phase) {
			const char *sentence = json_string_value(json_object_get(phase, "sentence"));

			snprintf(line, sizeof(line), "%s%s%s: %s", generation ? generation : "", generation ? ", " : "",
				 name, sentence ? sentence : "");
			if (sentence)
				json_array_append_new(list, ebbi_json_foreign(line));
		}
	}
	return list;
}
