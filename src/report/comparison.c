#include "report/comparison.h"

#include <string.h>

#include "report/run_json.h"

#define LABEL_WIDTH 8
#define COLUMN_WIDTH 12
#define COLUMN_WIDTH_EXACT 24

struct view {
	FILE *stream;
	const struct comparison *comparison;
	const struct style *style;
	bool exact;
};

static bool is_memory(enum figure figure)
{
	return figure <= FIGURE_REST_LAST;
}

static bool shown(const struct comparison *comparison, enum figure figure)
{
	for (size_t i = 0; i < comparison->group_count; i++) {
		if (comparison->groups[i]->series[figure].count > 0)
			return true;
	}
	return false;
}

static void figure_name(const struct comparison *comparison, enum figure figure, char *ret_name, size_t size)
{
	static const char *const names[] = {
		[FIGURE_BOOT] = "boot", [FIGURE_PEAK] = "peak", [FIGURE_CPU] = "CPU", [FIGURE_LOAD] = "load"};

	if (figure == FIGURE_REST_FIRST || figure == FIGURE_REST_LAST)
		snprintf(ret_name, size, "rest %g s", comparison->first.rest_seconds[figure == FIGURE_REST_LAST]);
	else
		snprintf(ret_name, size, "%s", names[figure]);
}

static void cell(const struct view *view, const char *text)
{
	fprintf(view->stream, "%*s", view->exact ? COLUMN_WIDTH_EXACT : COLUMN_WIDTH, text);
}

static void label(const struct view *view, const char *text)
{
	fprintf(view->stream, "%-*s", LABEL_WIDTH, text);
}

static void head(const struct view *view)
{
	char name[32];

	fputs(view->style->dim, view->stream);
	label(view, "");
	for (enum figure i = 0; i < FIGURE_COUNT; i++) {
		if (!shown(view->comparison, i))
			continue;
		figure_name(view->comparison, i, name, sizeof(name));
		cell(view, name);
	}
	fprintf(view->stream, "%s\n", view->style->off);
}

static void median_row(const struct view *view, const struct group *group)
{
	char text[FORMAT_BYTES];

	label(view, "  median");
	fputs(view->style->bold, view->stream);
	for (enum figure i = 0; i < FIGURE_COUNT; i++) {
		const struct series *series = &group->series[i];

		if (!shown(view->comparison, i))
			continue;
		if (series->count == 0)
			cell(view, "-");
		else if (is_memory(i))
			cell(view, ebbi_format_bytes(text, (uint64_t)ebbi_series_median(series), view->exact));
		else
			cell(view, ebbi_format_seconds(text, (uint64_t)(ebbi_series_median(series) * 1e9)));
	}
	fprintf(view->stream, "%s\n", view->style->off);
}

static void range_row(const struct view *view, const struct group *group)
{
	char text[FORMAT_BYTES];

	fputs(view->style->dim, view->stream);
	label(view, "  range");
	for (enum figure i = 0; i < FIGURE_COUNT; i++) {
		const struct series *series = &group->series[i];
		bool exact = is_memory(i) && view->exact;
		double unit = is_memory(i) && !view->exact ? 1048576.0 : 1.0;

		if (!shown(view->comparison, i))
			continue;
		if (series->count == 0)
			snprintf(text, sizeof(text), "-");
		else
			snprintf(text, sizeof(text),
				 exact          ? "%.0f-%.0f"
				 : is_memory(i) ? "%.1f-%.1f"
						: "%.2f-%.2f",
				 ebbi_series_least(series) / unit, ebbi_series_most(series) / unit);
		cell(view, text);
	}
	fprintf(view->stream, "%s\n", view->style->off);
}

/* Against the first group; in colour only where the ranges do not overlap. */
static void change_row(const struct view *view, const struct group *group)
{
	const struct group *base = view->comparison->groups[0];
	char text[FORMAT_BYTES];

	label(view, "  change");
	for (enum figure i = 0; i < FIGURE_COUNT; i++) {
		const struct series *a = &base->series[i], *b = &group->series[i];
		bool both = a->count > 0 && b->count > 0;
		bool apart = both && ebbi_series_apart(a, b);

		if (!shown(view->comparison, i))
			continue;
		if (apart)
			fputs(ebbi_series_most(b) < ebbi_series_least(a) ? view->style->good : view->style->warn,
			      view->stream);
		if (both)
			cell(view, ebbi_format_change(text, ebbi_series_median(b), ebbi_series_median(a)));
		else
			cell(view, "-");
		if (apart)
			fputs(view->style->off, view->stream);
	}
	fputc('\n', view->stream);
}

/* "rest 5 s: ebb is lowest, 41 % below glibc" for one figure of memory. */
static void verdict(const struct view *view, enum figure figure)
{
	const struct comparison *comparison = view->comparison;
	const struct group *best = NULL, *second = NULL;
	char name[32];
	double least, next;

	for (size_t i = 0; i < comparison->group_count; i++) {
		const struct group *group = comparison->groups[i];
		double median;

		if (group->series[figure].count == 0)
			return;
		median = ebbi_series_median(&group->series[figure]);
		if (!best || median < ebbi_series_median(&best->series[figure])) {
			second = best;
			best = group;
		} else if (!second || median < ebbi_series_median(&second->series[figure])) {
			second = group;
		}
	}
	if (!second)
		return;
	least = ebbi_series_median(&best->series[figure]);
	next = ebbi_series_median(&second->series[figure]);
	figure_name(comparison, figure, name, sizeof(name));
	if (!ebbi_series_apart(&best->series[figure], &second->series[figure]))
		fprintf(view->stream, "%-9s no clear winner: the ranges of %s and %s overlap\n", name, best->label,
			second->label);
	else
		fprintf(view->stream, "%-9s %s%s%s is lowest, %.0f %% below %s%s\n", name, view->style->bold,
			best->label, view->style->off, next > 0 ? (next - least) / next * 100.0 : 0.0, second->label,
			best->runs < 2 || second->runs < 2 ? " (one run: may be noise)" : "");
}

void ebbi_comparison_text(FILE *stream, const struct comparison *comparison, const struct style *style,
			  bool exact_bytes)
{
	struct view view = {stream, comparison, style, exact_bytes};
	const struct saved_run *first = &comparison->first;

	fprintf(stream, "%sLinux %s, %llu CPUs, huge pages %s, figures are %s%s\n\n", style->dim, first->kernel,
		(unsigned long long)first->cpus, first->thp, strcmp(first->basis, "rss") == 0 ? "RSS" : first->basis,
		style->off);
	head(&view);
	for (size_t i = 0; i < comparison->group_count; i++) {
		const struct group *group = comparison->groups[i];

		fprintf(stream, "%s%s%s, %zu run%s\n", style->bold, group->label, style->off, group->runs,
			group->runs == 1 ? "" : "s");
		median_row(&view, group);
		if (group->runs > 1)
			range_row(&view, group);
		if (i > 0)
			change_row(&view, group);
	}
	if (comparison->group_count < 2)
		return;
	fputc('\n', stream);
	for (enum figure i = FIGURE_BOOT; i <= FIGURE_REST_LAST; i++)
		verdict(&view, i);
}

static json_t *series_json(const struct series *series)
{
	json_t *values;

	if (series->count == 0)
		return json_null();
	values = json_array();
	for (size_t i = 0; i < series->count; i++)
		json_array_append_new(values, json_real(series->values[i]));
	return json_pack("{s:f, s:f, s:f, s:o}", "median", ebbi_series_median(series), "least",
			 ebbi_series_least(series), "most", ebbi_series_most(series), "values", values);
}

static json_t *group_json(const struct comparison *comparison, const struct group *group)
{
	static const char *const keys[] = {
		[FIGURE_BOOT] = "boot_bytes",
		[FIGURE_PEAK] = "peak_bytes",
		[FIGURE_REST_FIRST] = "resting_first_bytes",
		[FIGURE_REST_LAST] = "resting_last_bytes",
		[FIGURE_CPU] = "cpu_seconds",
		[FIGURE_LOAD] = "load_seconds",
	};
	json_t *object = json_object();

	json_object_set_new(object, "label", json_string(group->label));
	json_object_set_new(object, "runs", json_integer((json_int_t)group->runs));
	for (enum figure i = 0; i < FIGURE_COUNT; i++) {
		json_t *series = series_json(&group->series[i]);
		const struct series *base = &comparison->groups[0]->series[i];

		if (json_is_object(series) && base->count > 0 && group != comparison->groups[0])
			json_object_set_new(series, "apart_from_first",
					    json_boolean(ebbi_series_apart(base, &group->series[i])));
		json_object_set_new(object, keys[i], series);
	}
	return object;
}

json_t *ebbi_comparison_json(const struct comparison *comparison)
{
	const struct saved_run *first = &comparison->first;
	json_t *root = json_object();
	json_t *groups = json_array();

	json_object_set_new(root, "schema", json_string(REPORT_SCHEMA));
	json_object_set_new(root, "kernel", json_string(first->kernel));
	json_object_set_new(root, "thp", json_string(first->thp));
	json_object_set_new(root, "cpus", json_integer((json_int_t)first->cpus));
	json_object_set_new(root, "basis", json_string(first->basis));
	json_object_set_new(root, "resting_first_seconds", json_real(first->rest_seconds[0]));
	json_object_set_new(root, "resting_last_seconds", json_real(first->rest_seconds[1]));
	for (size_t i = 0; i < comparison->group_count; i++)
		json_array_append_new(groups, group_json(comparison, comparison->groups[i]));
	json_object_set_new(root, "groups", groups);
	return root;
}
