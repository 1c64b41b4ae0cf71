/* The profile as JSON, schema "ebb.profile/1" (docs/profile.md). */
#include <math.h>

#include "report/heap.h"
#include "report/run_json.h"

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* Sums of damaged tables may be anything. */
static json_t *whole(double value)
{
	return json_integer(value < 0x1p63 ? (json_int_t)value : INT64_MAX);
}

/* The error is known of what is live alone. */
static void set_sum(json_t *object, const char *prefix, const struct heap *heap, const struct heap_sum *sum)
{
	char key[32];

	snprintf(key, sizeof(key), "%sbytes", prefix);
	set(object, key, whole(sum->bytes));
	snprintf(key, sizeof(key), "%serror_bytes", prefix);
	set(object, key, heap->about.total ? json_null() : whole(sqrt(sum->variance)));
	snprintf(key, sizeof(key), "%sobjects", prefix);
	set(object, key, whole(sum->objects));
}

static json_t *functions_json(const struct heap *heap)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < heap->function_count; i++) {
		const struct heap_row *row = &heap->functions[i];
		const struct stack_function *function = &heap->stacks->functions[row->index];
		json_t *object = json_object();

		set(object, "name", ebbi_json_foreign(function->name));
		set(object, "library", ebbi_json_foreign(ebbi_heap_library(heap, row->index)));
		set(object, "file", function->file ? ebbi_json_foreign(function->file) : json_null());
		set_sum(object, "flat_", heap, &row->flat);
		set_sum(object, "cum_", heap, &row->cum);
		json_array_append_new(rows, object);
	}
	return rows;
}

static json_t *libraries_json(const struct heap *heap)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < heap->library_count; i++) {
		const struct heap_row *row = &heap->libraries[i];
		const struct ebb_profile_module *module = &heap->stacks->profile.modules[row->index];
		char id[2 * EBB_PROFILE_BUILD_ID + 1] = "";
		json_t *object = json_object();

		for (size_t j = 0; j < module->build_id_bytes; j++)
			snprintf(id + 2 * j, 3, "%02x", module->build_id[j]);
		set(object, "name", ebbi_json_foreign(ebbi_stacks_library(heap->stacks, row->index)));
		set(object, "path", module->path[0] ? ebbi_json_foreign(module->path) : json_null());
		set(object, "build_id", id[0] ? json_string(id) : json_null());
		set_sum(object, "flat_", heap, &row->flat);
		set_sum(object, "cum_", heap, &row->cum);
		json_array_append_new(rows, object);
	}
	return rows;
}

static json_t *stacks_json(const struct heap *heap)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < heap->path_count; i++) {
		const struct heap_path *path = &heap->paths[i];
		json_t *object = json_object(), *frames = json_array();

		for (uint32_t j = 0; j < path->count; j++)
			json_array_append_new(frames,
					      ebbi_json_foreign(heap->stacks->functions[path->functions[j]].name));
		set(object, "frames", frames);
		set_sum(object, "", heap, &path->sum);
		json_array_append_new(rows, object);
	}
	return rows;
}

json_t *ebbi_heap_json(const struct heap *heap)
{
	json_t *document = json_object();

	set(document, "schema", json_string(HEAP_SCHEMA));
	set(document, "pid", json_integer(heap->about.pid));
	set(document, "command", ebbi_json_foreign(heap->about.command));
	set(document, "time_unix_ns", json_integer((json_int_t)heap->about.time_ns));
	set(document, "counts", json_string(heap->about.total ? "total" : "live"));
	set(document, "interval_bytes", json_integer((json_int_t)heap->stacks->profile.interval_bytes));
	set(document, "samples_dropped", json_integer((json_int_t)heap->stacks->profile.samples_dropped));
	set_sum(document, "", heap, &heap->sum);
	set(document, "libraries", libraries_json(heap));
	set(document, "functions", functions_json(heap));
	set(document, "stacks", stacks_json(heap));
	return document;
}
