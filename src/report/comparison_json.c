#include <string.h>

#include "report/comparison.h"
#include "report/effect.h"
#include "report/figure.h"
#include "report/run_json.h"

/* json_object_set_new takes the value also when it fails, so only the last word matters. */
static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

size_t ebbi_comparison_generations(const struct comparison *comparison, const char **ret_generations, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->group_count; i++) {
		const char *generation = comparison->groups[i]->generation;
		bool known = false;

		for (size_t k = 0; k < count && k < size; k++)
			known = known || strcmp(ret_generations[k], generation) == 0;
		if (known)
			continue;
		if (count < size)
			ret_generations[count] = generation;
		count++;
	}
	return count < size ? count : size;
}

/* The group that others of its generation are held against. */
static const struct group *base_of(const struct comparison *comparison, const struct group *group)
{
	for (size_t i = 0; i < comparison->group_count; i++) {
		if (strcmp(comparison->groups[i]->generation, group->generation) == 0)
			return comparison->groups[i];
	}
	return group;
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
	const struct group *base = base_of(comparison, group);
	json_t *object = json_object();

	set(object, "label", ebbi_json_foreign(group->label));
	set(object, "generation", group->generation[0] ? ebbi_json_foreign(group->generation) : json_null());
	set(object, "runs", json_integer((json_int_t)group->runs));
	set(object, "failed", json_integer((json_int_t)group->failed));
	for (enum figure i = 0; i < FIGURE_COUNT; i++) {
		json_t *series = series_json(&group->series[i]);

		if (json_is_object(series) && base->series[i].count > 0 && group != base) {
			struct effect effect = ebbi_effect(&base->series[i], &group->series[i]);

			set(series, "apart_from_first",
			    json_boolean(ebbi_series_apart(&base->series[i], &group->series[i])));
			set(series, "shift", json_real(effect.shift));
			set(series, "cliffs_delta", json_real(effect.delta));
			set(series, "chance", json_real(effect.chance));
		}
		set(object, ebbi_figures[i].key, series);
	}
	return object;
}

static json_t *phase_json(const struct phase_verdict *verdict)
{
	json_t *object = json_object();
	json_t *tied = json_array();
	char sentence[CONCLUSION_BYTES];
	bool known = verdict->verdict != VERDICT_UNKNOWN;

	ebbi_sentence_phase(verdict, /* exact_bytes= */ false, sentence, sizeof(sentence));
	set(object, "verdict", json_string(ebbi_word_verdict(verdict->verdict)));
	set(object, "sentence", known ? ebbi_json_foreign(sentence) : json_null());
	set(object, "figure", json_string(ebbi_figures[verdict->figure].key));
	set(object, "lowest", known ? ebbi_json_foreign(verdict->best->label) : json_null());
	for (size_t i = 0; i < verdict->tied; i++)
		json_array_append_new(tied, ebbi_json_foreign(verdict->tied_with[i]->label));
	set(object, "tied_with", tied);
	set(object, "next", verdict->next ? ebbi_json_foreign(verdict->next->label) : json_null());
	set(object, "difference", known ? json_real(verdict->units) : json_null());
	set(object, "share", known ? json_real(verdict->share) : json_null());
	set(object, "chance", known ? json_real(verdict->chance) : json_null());
	set(object, "totals_differ_by_file_pages", json_boolean(verdict->by_files));
	return object;
}

json_t *ebbi_conclusion_json(const struct comparison *comparison, const char *generation)
{
	struct conclusion conclusion;
	char sentence[CONCLUSION_BYTES];
	json_t *object = json_object();
	json_t *phases = json_object();

	ebbi_conclude(comparison, generation, &conclusion);
	ebbi_sentence_conclusion(&conclusion, sentence, sizeof(sentence));
	set(object, "generation", generation[0] ? ebbi_json_foreign(generation) : json_null());
	set(object, "sentence", ebbi_json_foreign(sentence));
	set(object, "work_differs", json_boolean(conclusion.work_differs));
	for (enum compared_phase i = 0; i < COMPARED_COUNT; i++)
		set(phases, ebbi_word_compared(i), phase_json(&conclusion.phases[i]));
	set(object, "phases", phases);
	return object;
}

bool ebbi_comparison_conclusive(const struct comparison *comparison)
{
	const char *generations[COMPARISON_GROUPS];
	size_t count = ebbi_comparison_generations(comparison, generations, COMPARISON_GROUPS);
	struct conclusion conclusion;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		ebbi_conclude(comparison, generations[i], &conclusion);
		if (conclusion.work_differs)
			return false;
		any = any || conclusion.any;
	}
	return any && comparison->problem_count == 0;
}

json_t *ebbi_comparison_json(const struct comparison *comparison)
{
	const struct saved_run *first = &comparison->first;
	const char *generations[COMPARISON_GROUPS];
	size_t count = ebbi_comparison_generations(comparison, generations, COMPARISON_GROUPS);
	json_t *root = json_object();
	json_t *groups = json_array();
	json_t *conclusions = json_array();
	json_t *problems = json_array();

	set(root, "schema", json_string(REPORT_SCHEMA));
	set(root, "kernel", ebbi_json_foreign(first->kernel));
	set(root, "thp", ebbi_json_foreign(first->thp));
	set(root, "cpus", json_integer((json_int_t)first->cpus));
	set(root, "basis", ebbi_json_foreign(first->basis));
	set(root, "resting_first_seconds", json_real(first->rest_seconds[0]));
	set(root, "resting_last_seconds", json_real(first->rest_seconds[1]));
	for (size_t i = 0; i < comparison->group_count; i++)
		json_array_append_new(groups, group_json(comparison, comparison->groups[i]));
	set(root, "groups", groups);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(conclusions, ebbi_conclusion_json(comparison, generations[i]));
	set(root, "conclusions", conclusions);
	for (size_t i = 0; i < comparison->problem_count; i++)
		json_array_append_new(problems, ebbi_json_foreign(comparison->problems[i]));
	set(root, "problems", problems);
	return root;
}
