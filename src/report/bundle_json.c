/* A bundle as a document: the comparisons in figures, and which runs stand for the others where accounts are shown. */
#include <ebb/ebb.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bundle.h"
#include "report/comparison.h"
#include "report/run_json.h"

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* --- Comparisons ------------------------------------------------------------------------- */

/* The figures of comparison.h; without groups when there is nothing that may be compared. */
static json_t *comparison_json(const struct bundle_comparison *comparison)
{
	json_t *object = ebbi_comparison_json(&comparison->comparison);
	const char *why = comparison->not_comparable;

	set(object, "source", json_integer((json_int_t)comparison->source));
	set(object, "not_comparable", why[0] ? ebbi_json_foreign(why) : json_null());
	json_object_set(object, "run_indices", comparison->runs);
	return object;
}

/* --- Stacks ------------------------------------------------------------------------------ */

static const json_t *run_of(const struct bundle *bundle, const json_t *index)
{
	return json_array_get(bundle->runs, (size_t)json_integer_value(index));
}

static json_t *label_of(const struct bundle *bundle, const json_t *index)
{
	return json_object_get(run_of(bundle, index), "label");
}

static bool has_accounts(const json_t *run)
{
	return json_array_size(json_object_get(json_object_get(run, "accounts"), "rows")) > 0;
}

/* The figure by which a run is typical for its group: how it rests, or else its peak. */
static const char *typical_key(const struct group *group, double *ret_median)
{
	static const struct {
		enum figure figure;
		const char *key;
	} keys[] = {
		{FIGURE_REST_LAST, "resting_bytes"}, {FIGURE_REST_FIRST, "resting_bytes"}, {FIGURE_PEAK, "peak_bytes"}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (group->series[keys[i].figure].count == 0)
			continue;
		*ret_median = ebbi_series_median(&group->series[keys[i].figure]);
		return keys[i].key;
	}
	return NULL;
}

/* The run nearest to the median of its group, among those with an account table; NULL: none. */
static json_t *typical_run(const struct bundle *bundle, const struct bundle_comparison *comparison,
			   const struct group *group)
{
	double median = 0, best = INFINITY;
	const char *key = typical_key(group, &median);
	json_t *index, *found = NULL;
	char name[128];
	size_t i;

	snprintf(name, sizeof(name), "%s%s%s", group->label, group->generation[0] ? ", " : "", group->generation);
	json_array_foreach (comparison->runs, i, index) {
		const json_t *run = run_of(bundle, index);
		double away = key ? fabs(json_number_value(json_object_get(run, key)) - median) : 0;

		if (strcmp(json_string_value(json_object_get(run, "label")), name) != 0)
			continue;
		if (has_accounts(run) && away < best) {
			best = away;
			found = index;
		}
	}
	return found;
}

static json_t *stack_new(const char *title, size_t source)
{
	return json_pack("{s:s, s:I, s:[], s:[]}", "title", title, "source", (json_int_t)source, "names", "runs");
}

static void stack_add(json_t *stack, json_t *name, json_t *index)
{
	json_array_append(json_object_get(stack, "names"), name);
	json_array_append(json_object_get(stack, "runs"), index);
}

static void keep_stack(json_t *stacks, json_t *stack)
{
	if (json_array_size(json_object_get(stack, "runs")) > 0)
		json_array_append(stacks, stack);
	json_decref(stack);
}

/* One for each comparison: a run of each group. One for each size: a run of each row. */
static json_t *stacks_json(const struct bundle *bundle)
{
	json_t *stacks = json_array(), *result, *row;
	size_t i, j;

	for (i = 0; i < bundle->comparison_count; i++) {
		const struct bundle_comparison *comparison = bundle->comparisons[i];
		json_t *stack = stack_new("Accounts, of the run nearest to the median of each", comparison->source);

		for (j = 0; j < comparison->comparison.group_count; j++) {
			json_t *index = typical_run(bundle, comparison, comparison->comparison.groups[j]);

			if (index)
				stack_add(stack, label_of(bundle, index), index);
		}
		keep_stack(stacks, stack);
	}
	json_array_foreach (bundle->results, i, result) {
		json_t *stack = stack_new("Accounts, row by row",
					  (size_t)json_integer_value(json_object_get(result, "source")));

		json_array_foreach (json_object_get(result, "rows"), j, row) {
			json_t *index = json_object_get(row, "run");

			if (json_is_integer(index) && has_accounts(run_of(bundle, index)))
				stack_add(stack, label_of(bundle, index), index);
		}
		keep_stack(stacks, stack);
	}
	return stacks;
}

json_t *ebbi_bundle_json(const struct bundle *bundle)
{
	json_t *root = json_object();
	json_t *comparisons = json_array();

	for (size_t i = 0; i < bundle->comparison_count; i++)
		json_array_append_new(comparisons, comparison_json(bundle->comparisons[i]));
	/* The figures of runs in files of their own stand at the top as well, where they were before there were other kinds. */
	if (bundle->loose) {
		json_t *top = ebbi_comparison_json(&bundle->loose->comparison);

		json_object_update(root, top);
		json_decref(top);
	}
	set(root, "schema", json_string(REPORT_SCHEMA));
	set(root, "ebb_version", json_string(EBB_VERSION));
	set(root, "comparisons", comparisons);
	json_object_set(root, "sources", bundle->sources);
	json_object_set(root, "runs", bundle->runs);
	json_object_set(root, "results", bundle->results);
	set(root, "stacks", stacks_json(bundle));
	return root;
}
