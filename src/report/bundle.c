#include "report/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/fields.h"
#include "report/format.h"
#include "report/run_json.h"

/* Documents embed runs two or three levels down. */
#define DEPTH_MOST 8

/* --- Comparisons ------------------------------------------------------------------------- */

static struct bundle_comparison *new_comparison(struct bundle *bundle, size_t source)
{
	struct bundle_comparison *comparison = calloc(1, sizeof(*comparison));

	if (!comparison || bundle->comparison_count == BUNDLE_COMPARISONS) {
		free(comparison);
		return NULL;
	}
	comparison->source = source;
	comparison->runs = json_array();
	bundle->comparisons[bundle->comparison_count++] = comparison;
	return comparison;
}

/* Run `index` of the bundle. 0, or an error; the reason of the first that may not be compared is kept. */
static int compare(struct bundle_comparison *comparison, const json_t *run, json_t *index, const char *path,
		   char *ret_message)
{
	int error = comparison->own ? ebbi_comparison_take_run(&comparison->comparison, run, path, ret_message)
				    : ebbi_comparison_add_run(&comparison->comparison, run, path, ret_message);

	if (error == 0)
		json_array_append(comparison->runs, index);
	if (error != 0 && !comparison->not_comparable[0])
		memcpy(comparison->not_comparable, ret_message, SAVED_MESSAGE);
	return error;
}

/* --- Documents --------------------------------------------------------------------------- */

enum kind { KIND_NONE, KIND_RUN, KIND_COMPARE, KIND_SIZE, KIND_CHECK, KIND_DOCTOR, KIND_COUNT };

static const char *const schemas[KIND_COUNT] = {
	[KIND_RUN] = "ebb.run/1",     [KIND_COMPARE] = "ebb.compare/1", [KIND_SIZE] = "ebb.size/1",
	[KIND_CHECK] = "ebb.check/1", [KIND_DOCTOR] = "ebb.doctor/1",
};

static int wrong(char *ret_message, const char *path, const char *what)
{
	snprintf(ret_message, SAVED_MESSAGE, "%.400s: %.500s", path, what);
	return -EINVAL;
}

/* KIND_NONE after a line. */
static enum kind kind_of(const json_t *document, const char *path, char *ret_message)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));
	char what[128];

	for (enum kind i = KIND_RUN; schema && i < KIND_COUNT; i++) {
		size_t family = strlen(schemas[i]) - 1;

		if (strcmp(schema, schemas[i]) == 0)
			return i;
		if (strncmp(schema, schemas[i], family) != 0)
			continue;
		snprintf(what, sizeof(what), "was written by another version of ebb; this one reads %s", schemas[i]);
		wrong(ret_message, path, what);
		return KIND_NONE;
	}
	wrong(ret_message, path, "is no result that ebb saved (--save of run, compare, size, check or doctor)");
	return KIND_NONE;
}

static bool is_run(const json_t *value)
{
	const char *schema = json_string_value(json_object_get(value, "schema"));

	return schema && strcmp(schema, schemas[KIND_RUN]) == 0;
}

/* The run's index, or null when there is none or no more fit. */
static json_t *take_run(struct bundle *bundle, const json_t *document, size_t source)
{
	size_t index = json_array_size(bundle->runs);

	if (!is_run(document) || index == BUNDLE_RUNS)
		return json_null();
	json_array_append_new(bundle->runs, ebbi_bundle_run(document, source));
	return json_integer((json_int_t)index);
}

/* Where the runs of a document go. */
struct taking {
	struct bundle *bundle;
	size_t source;
	const char *path;
	struct bundle_comparison *comparison; /* NULL: they are not compared */
	json_t *indices;
};

/* Every run below `value`, in its order. */
static void take_runs(const struct taking *taking, const json_t *value, unsigned depth)
{
	char message[SAVED_MESSAGE];
	const char *key;
	json_t *inner, *index;

	if (is_run(value)) {
		index = take_run(taking->bundle, value, taking->source);
		json_array_append_new(taking->indices, index);
		if (taking->comparison && json_is_integer(index))
			compare(taking->comparison, value, index, taking->path, message);
		return;
	}
	if (depth == DEPTH_MOST)
		return;
	for (size_t i = 0; i < json_array_size(value); i++)
		take_runs(taking, json_array_get(value, i), depth + 1);
	json_object_foreach ((json_t *)(uintptr_t)value, key, inner) {
		take_runs(taking, inner, depth + 1);
	}
}

/* As it would be typed. */
static json_t *command_of(const json_t *document)
{
	const json_t *given = json_object_get(document, "command");
	char *words[64], line[512];
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(given) && count < 63; i++) {
		if (json_is_string(json_array_get(given, i)))
			words[count++] = (char *)(uintptr_t)json_string_value(json_array_get(given, i));
	}
	if (count == 0)
		return json_null();
	words[count] = NULL;
	ebbi_format_command(words, line, sizeof(line));
	return ebbi_json_foreign(line);
}

static json_t *list_of(const json_t *given, const struct field *fields, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(given) && i < BUNDLE_RUNS; i++) {
		const json_t *entry = json_array_get(given, i);

		if (json_is_object(entry))
			json_array_append_new(list, ebbi_fields_take(entry, fields, count));
	}
	return list;
}

/* The runs of a size have one label: they are told apart by what their row swept. */
static void name_row(struct bundle *bundle, const json_t *row)
{
	json_t *index = json_object_get(row, "run");
	const char *sweep = json_string_value(json_object_get(row, "sweep"));
	const json_t *bytes = json_object_get(row, "event_bytes");
	char name[160];

	if (!json_is_integer(index))
		return;
	snprintf(name, sizeof(name), "%g/s", json_number_value(json_object_get(row, "rate")));
	if (json_is_number(bytes))
		snprintf(name + strlen(name), sizeof(name) - strlen(name), ", %.0f bytes", json_number_value(bytes));
	if (sweep)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), ", %s", sweep);
	json_object_set_new(json_array_get(bundle->runs, (size_t)json_integer_value(index)), "label",
			    ebbi_json_foreign(name));
}

static void add_size(struct bundle *bundle, const json_t *document, json_t *result, size_t source)
{
	json_t *given = json_object_get(document, "rows");
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(given); i++) {
		const json_t *entry = json_array_get(given, i);
		json_t *row = ebbi_fields_take(entry, ebbi_size_row_fields, ebbi_size_row_field_count);

		json_object_set_new(row, "run", take_run(bundle, json_object_get(entry, "run"), source));
		name_row(bundle, row);
		json_array_append_new(rows, row);
	}
	json_object_set_new(result, "rows", rows);
}

/* What the document says in words: one conclusion, or one for each group of rows. */
static json_t *sentences_of(const json_t *document)
{
	const json_t *groups = json_object_get(document, "groups");
	const char *conclusion = json_string_value(json_object_get(document, "conclusion"));
	json_t *list = json_array();

	if (conclusion)
		json_array_append_new(list, ebbi_field_text(conclusion));
	for (size_t i = 0; i < json_array_size(groups) && i < 64; i++) {
		const char *sentence = json_string_value(json_object_get(json_array_get(groups, i), "sentence"));

		if (sentence)
			json_array_append_new(list, ebbi_field_text(sentence));
	}
	return list;
}

static void add_result(struct bundle *bundle, const json_t *document, enum kind kind, const char *path)
{
	size_t source = json_array_size(bundle->sources) - 1;
	json_t *result = ebbi_fields_take(document, ebbi_result_fields, ebbi_result_field_count);
	json_t *indices = json_array();
	struct bundle_comparison *comparison = NULL;

	if (kind == KIND_COMPARE || kind == KIND_CHECK)
		comparison = new_comparison(bundle, source);
	if (comparison)
		comparison->own = true;
	if (kind == KIND_SIZE)
		add_size(bundle, document, result, source);
	else
		take_runs(&(struct taking){bundle, source, path, comparison, indices}, document, 0);
	if (kind == KIND_CHECK)
		json_object_set_new(
			result, "limits",
			list_of(json_object_get(document, "limits"), ebbi_limit_fields, ebbi_limit_field_count));
	if (kind == KIND_DOCTOR || kind == KIND_CHECK)
		json_object_set_new(
			result, "verdict",
			ebbi_verdict_take(kind == KIND_CHECK ? json_object_get(document, "verdict") : document));
	json_object_set_new(result, "sentences", sentences_of(document));
	json_object_set_new(result, "schema", json_string(schemas[kind]));
	json_object_set_new(result, "source", json_integer((json_int_t)source));
	json_object_set_new(result, "runs", indices);
	json_array_append_new(bundle->results, result);
}

int ebbi_bundle_add_document(struct bundle *bundle, const json_t *document, const char *path, char *ret_message)
{
	enum kind kind = kind_of(document, path, ret_message);
	struct saved_run sound;
	size_t source;
	json_t *taken, *index;
	int error = 0;

	if (kind == KIND_NONE)
		return -EINVAL;
	/* What is said of a run alone: without a machine it says nothing. */
	if (kind == KIND_RUN)
		error = ebbi_saved_run(document, path, &sound, ret_message);
	if (error == -EINVAL)
		return error;
	if (!bundle->sources) {
		bundle->sources = json_array();
		bundle->runs = json_array();
		bundle->results = json_array();
	}
	source = json_array_size(bundle->sources);
	taken = ebbi_fields_take(document, ebbi_source_fields, ebbi_source_field_count);
	json_object_set_new(taken, "file", ebbi_json_foreign(path));
	json_object_set_new(taken, "command", command_of(document));
	json_array_append_new(bundle->sources, taken);
	if (kind != KIND_RUN) {
		add_result(bundle, document, kind, path);
		return 0;
	}
	index = take_run(bundle, document, source);
	if (!bundle->loose)
		bundle->loose = new_comparison(bundle, source);
	if (bundle->loose && json_is_integer(index))
		error = compare(bundle->loose, document, index, path, ret_message);
	json_decref(index);
	return error;
}

int ebbi_bundle_add(struct bundle *bundle, const char *path, char *ret_message)
{
	json_t *document = NULL;
	int error = ebbi_saved_load(path, &document, ret_message);

	if (error == 0)
		error = ebbi_bundle_add_document(bundle, document, path, ret_message);
	json_decref(document);
	return error;
}

void ebbi_bundle_free(struct bundle *bundle)
{
	json_decref(bundle->sources);
	json_decref(bundle->runs);
	json_decref(bundle->results);
	for (size_t i = 0; i < bundle->comparison_count; i++) {
		ebbi_comparison_free(&bundle->comparisons[i]->comparison);
		json_decref(bundle->comparisons[i]->runs);
		free(bundle->comparisons[i]);
	}
	*bundle = (struct bundle){0};
}
