#include "report/saved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/run_json.h"

/* A run is some tens of KiB, and a comparison holds some hundreds of them; whatever is larger is something else. */
#define FILE_LIMIT (64u << 20)

static int wrong(char *ret_message, const char *path, const char *what)
{
	snprintf(ret_message, SAVED_MESSAGE, "%.400s: %.500s", path, what);
	return -EINVAL;
}

/* A text field, or false; longer ones are cut. */
static bool get_text(const json_t *object, const char *key, char *ret_text, size_t size)
{
	const char *value = json_string_value(json_object_get(object, key));

	if (!value)
		return false;
	snprintf(ret_text, size, "%s", value);
	for (char *at = ret_text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?';
	}
	return true;
}

static bool get_number(const json_t *object, const char *key, double *ret_value)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_number(value) || json_number_value(value) < 0)
		return false;
	*ret_value = json_number_value(value);
	return true;
}

static bool get_count(const json_t *object, const char *key, uint64_t *ret_value)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret_value = (uint64_t)json_integer_value(value);
	return true;
}

/* `key` of object.`part`, when both are there. */
static void set_figure(struct saved_run *run, enum figure figure, const json_t *part, const char *key)
{
	run->known[figure] = get_number(part, key, &run->figures[figure]);
}

static void read_resting(const json_t *root, struct saved_run *run)
{
	const json_t *resting = json_object_get(root, "resting");
	size_t count = json_array_size(resting);
	const json_t *first = json_array_get(resting, 0);
	const json_t *last = count > 1 ? json_array_get(resting, count - 1) : NULL;

	if (get_number(first, "after_seconds", &run->rest_seconds[0]))
		set_figure(run, FIGURE_REST_FIRST, first, "bytes");
	if (get_number(last, "after_seconds", &run->rest_seconds[1]))
		set_figure(run, FIGURE_REST_LAST, last, "bytes");
}

static void read_figures(const json_t *root, struct saved_run *run)
{
	const json_t *totals = json_object_get(root, "totals");
	double user, system;

	set_figure(run, FIGURE_BOOT, json_object_get(root, "boot"), "bytes");
	set_figure(run, FIGURE_PEAK, json_object_get(root, "peak"), "bytes");
	read_resting(root, run);
	set_figure(run, FIGURE_LOAD, json_object_get(root, "load"), "seconds");
	run->known[FIGURE_CPU] =
		get_number(totals, "cpu_user_seconds", &user) && get_number(totals, "cpu_system_seconds", &system);
	if (run->known[FIGURE_CPU])
		run->figures[FIGURE_CPU] = user + system;
}

/* Runs that say nothing about the allocator they were to be under. */
static int check_sound(const json_t *root, const char *path, char *ret_message)
{
	const char *outcome = json_string_value(json_object_get(root, "outcome"));
	const json_t *allocator = json_object_get(root, "allocator");
	const char *preload = json_string_value(json_object_get(allocator, "preload"));

	if (!outcome)
		return wrong(ret_message, path, "has no outcome");
	if (strcmp(outcome, "complete") != 0 && strcmp(outcome, "ended") != 0) {
		snprintf(ret_message, SAVED_MESSAGE,
			 "%.400s: the run was not completed (%.40s): leave it out or run it again", path, outcome);
		return -EXDEV;
	}
	if (preload && strcmp(preload, "missed") == 0) {
		snprintf(ret_message, SAVED_MESSAGE, "%.400s: the allocator was not in the command: see its notes",
			 path);
		return -EXDEV;
	}
	return 0;
}

static int read_run(const json_t *root, const char *path, struct saved_run *run, char *ret_message)
{
	const json_t *machine = json_object_get(root, "machine");
	char schema[32] = "";

	get_text(root, "schema", schema, sizeof(schema));
	if (strncmp(schema, "ebb.run/", 8) == 0 && strcmp(schema, RUN_SCHEMA) != 0)
		return wrong(ret_message, path, "was written by another version of ebb; this one reads " RUN_SCHEMA);
	if (strcmp(schema, RUN_SCHEMA) != 0)
		return wrong(ret_message, path, "is no result of ebb run --save");
	if (!get_text(root, "label", run->label, sizeof(run->label)) ||
	    !get_text(root, "basis", run->basis, sizeof(run->basis)))
		return wrong(ret_message, path, "has no label or basis");
	if (!get_text(machine, "kernel", run->kernel, sizeof(run->kernel)) ||
	    !get_text(machine, "thp", run->thp, sizeof(run->thp)) || !get_count(machine, "cpus", &run->cpus) ||
	    !get_count(machine, "page_bytes", &run->page_bytes))
		return wrong(ret_message, path, "does not say on what machine it was made");
	run->has_load = json_is_object(json_object_get(root, "load"));
	read_figures(root, run);
	return check_sound(root, path, ret_message);
}

int ebbi_saved_document(const char *text, size_t length, const char *path, json_t **ret_root, char *ret_message)
{
	json_error_t where;
	json_t *root = json_loadb(text, length, 0, &where);

	if (!root) {
		snprintf(ret_message, SAVED_MESSAGE, "%.400s:%d:%d: no JSON: %.160s", path, where.line, where.column,
			 where.text);
		return -EINVAL;
	}
	*ret_root = root;
	return 0;
}

int ebbi_saved_run(const json_t *root, const char *path, struct saved_run *ret_run, char *ret_message)
{
	struct saved_run run = {0};
	int error = read_run(root, path, &run, ret_message);

	if (error == 0)
		*ret_run = run;
	return error;
}

static int read_whole(const char *path, char **ret_text, size_t *ret_length)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t length = 0, size = 0;
	int error = 0;

	if (!file)
		return -errno;
	while (error == 0 && !feof(file)) {
		if (length == size) {
			char *larger = size < FILE_LIMIT ? realloc(text, size + 65536) : NULL;

			error = larger ? 0 : size < FILE_LIMIT ? -ENOMEM : -EFBIG;
			text = larger ? larger : text;
			size += larger ? 65536 : 0;
			continue;
		}
		length += fread(text + length, 1, size - length, file);
		error = ferror(file) ? -errno : 0;
	}
	fclose(file);
	if (error != 0) {
		free(text);
		return error;
	}
	*ret_text = text;
	*ret_length = length;
	return 0;
}

static int differ(char *ret_message, const struct comparison *comparison, const char *path, const char *what,
		  const char *here, const char *there)
{
	snprintf(ret_message, SAVED_MESSAGE, "not comparable: %s is %s in %.300s and %s in %.300s", what, there,
		 comparison->first_path, here, path);
	return -EXDEV;
}

static int check_comparable(const struct comparison *comparison, const struct saved_run *run, const char *path,
			    char *ret_message)
{
	const struct saved_run *first = &comparison->first;
	char here[32], there[32];

	if (strcmp(first->kernel, run->kernel) != 0)
		return differ(ret_message, comparison, path, "the kernel", run->kernel, first->kernel);
	if (strcmp(first->thp, run->thp) != 0)
		return differ(ret_message, comparison, path, "the huge page setting", run->thp, first->thp);
	if (first->has_load != run->has_load)
		return differ(ret_message, comparison, path, "a load", run->has_load ? "present" : "absent",
			      first->has_load ? "present" : "absent");
	if (strcmp(first->basis, run->basis) != 0)
		return differ(ret_message, comparison, path, "the kind of figure", run->basis, first->basis);
	if (first->cpus != run->cpus || first->page_bytes != run->page_bytes) {
		snprintf(here, sizeof(here), "%llu", (unsigned long long)run->cpus);
		snprintf(there, sizeof(there), "%llu", (unsigned long long)first->cpus);
		return differ(ret_message, comparison, path,
			      first->cpus != run->cpus ? "the number of CPUs" : "the page size", here, there);
	}
	/* Without a load, rest is where it happened to be. */
	for (size_t i = 0; i < SAVED_RESTS && run->has_load; i++) {
		if (first->rest_seconds[i] != run->rest_seconds[i])
			return differ(ret_message, comparison, path, "the time at rest", "another", "one");
	}
	return 0;
}

static struct group *group_for(struct comparison *comparison, const char *label)
{
	struct group *group;

	for (size_t i = 0; i < comparison->group_count; i++) {
		if (strcmp(comparison->groups[i]->label, label) == 0)
			return comparison->groups[i];
	}
	if (comparison->group_count == COMPARISON_GROUPS)
		return NULL;
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	snprintf(group->label, sizeof(group->label), "%.63s", label);
	comparison->groups[comparison->group_count++] = group;
	return group;
}

int ebbi_saved_load(const char *path, json_t **ret_root, char *ret_message)
{
	char *text = NULL;
	size_t length = 0;
	int error = read_whole(path, &text, &length);

	if (error != 0)
		return wrong(ret_message, path, strerror(-error));
	error = ebbi_saved_document(text, length, path, ret_root, ret_message);
	free(text);
	return error;
}

int ebbi_comparison_add_run(struct comparison *comparison, const json_t *root, const char *path, char *ret_message)
{
	struct saved_run run;
	struct group *group;
	int error = ebbi_saved_run(root, path, &run, ret_message);

	if (error == 0 && comparison->group_count > 0)
		error = check_comparable(comparison, &run, path, ret_message);
	if (error != 0)
		return error;
	if (comparison->group_count == 0) {
		comparison->first = run;
		comparison->first_path = path;
	}
	group = group_for(comparison, run.label);
	if (!group || group->runs == SERIES_MAX)
		return wrong(ret_message, path, "too many labels (16) or runs of one label (256)");
	group->runs++;
	for (size_t i = 0; i < FIGURE_COUNT; i++) {
		if (run.known[i])
			ebbi_series_add(&group->series[i], run.figures[i]);
	}
	return 0;
}

int ebbi_comparison_add(struct comparison *comparison, const char *path, char *ret_message)
{
	json_t *root = NULL;
	int error = ebbi_saved_load(path, &root, ret_message);

	if (error == 0)
		error = ebbi_comparison_add_run(comparison, root, path, ret_message);
	json_decref(root);
	return error;
}

void ebbi_comparison_free(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->group_count; i++)
		free(comparison->groups[i]);
	comparison->group_count = 0;
}
