#include "report/saved.h"

#include <errno.h>
#include <signal.h>
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

/* A text, or false; longer ones are cut. */
static bool copy_text(const json_t *string, char *ret_text, size_t size)
{
	const char *value = json_string_value(string);

	if (!value)
		return false;
	snprintf(ret_text, size, "%s", value);
	/* Never half of a character. */
	if (strlen(value) >= size) {
		size_t length = size - 1;

		while (length > 0 && ((unsigned char)value[length] & 0xc0) == 0x80)
			length--;
		ret_text[length] = 0;
	}
	for (char *at = ret_text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?';
	}
	return true;
}

static bool get_text(const json_t *object, const char *key, char *ret_text, size_t size)
{
	return copy_text(json_object_get(object, key), ret_text, size);
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

/* Swapped memory is needed as well. Of a tree, shared pages would count once a process: unknown. */
static void set_anonymous(struct saved_run *run, enum figure figure, const json_t *mark)
{
	double anonymous, swap;

	run->known[figure] = strcmp(run->basis, "rss") == 0 && get_number(mark, "anonymous_bytes", &anonymous) &&
			     get_number(mark, "swap_bytes", &swap);
	if (run->known[figure])
		run->figures[figure] = anonymous + swap;
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
	if (count > 0) {
		set_anonymous(run, FIGURE_REST_ANONYMOUS, last ? last : first);
		set_figure(run, FIGURE_REST_LAZYFREE, last ? last : first, "lazyfree_bytes");
	}
}

static void read_load(const json_t *root, struct saved_run *run)
{
	const json_t *load = json_object_get(root, "load");

	set_figure(run, FIGURE_LOAD, load, "seconds");
	set_figure(run, FIGURE_WORK, load, "work");
	run->known[FIGURE_RATE] = run->known[FIGURE_WORK] && run->known[FIGURE_LOAD] && run->figures[FIGURE_LOAD] > 0;
	if (run->known[FIGURE_RATE])
		run->figures[FIGURE_RATE] = run->figures[FIGURE_WORK] / run->figures[FIGURE_LOAD];
}

static void read_figures(const json_t *root, struct saved_run *run)
{
	const json_t *totals = json_object_get(root, "totals");
	const json_t *boot = json_object_get(root, "boot");
	const json_t *peak = json_object_get(root, "peak");
	double first, second;

	set_figure(run, FIGURE_BOOT, boot, "bytes");
	set_anonymous(run, FIGURE_BOOT_ANONYMOUS, boot);
	set_figure(run, FIGURE_READY, json_object_get(root, "ready"), "seconds");
	set_figure(run, FIGURE_PEAK, peak, "bytes");
	if (get_number(peak, "bound_bytes", &first))
		run->peak_bound_bytes = first;
	read_resting(root, run);
	read_load(root, run);
	run->known[FIGURE_CPU] =
		get_number(totals, "cpu_user_seconds", &first) && get_number(totals, "cpu_system_seconds", &second);
	if (run->known[FIGURE_CPU])
		run->figures[FIGURE_CPU] = first + second;
	run->known[FIGURE_FAULTS] =
		get_number(totals, "minor_faults", &first) && get_number(totals, "major_faults", &second);
	if (run->known[FIGURE_FAULTS])
		run->figures[FIGURE_FAULTS] = first + second;
}

static void read_build(const json_t *root, struct saved_build *build)
{
	const json_t *allocator = json_object_get(root, "allocator");
	const json_t *command = json_object_get(root, "command");
	size_t length = 0;

	get_text(allocator, "name", build->allocator, sizeof(build->allocator));
	get_text(allocator, "build_id", build->allocator_build_id, sizeof(build->allocator_build_id));
	if (!json_is_string(json_object_get(allocator, "path")))
		copy_text(json_array_get(json_object_get(allocator, "other_allocators"), 0), build->linked,
			  sizeof(build->linked));
	get_text(json_object_get(root, "executable"), "build_id", build->build_id, sizeof(build->build_id));
	for (size_t i = 0; i < json_array_size(command) && length < sizeof(build->command); i++) {
		const char *word = json_string_value(json_array_get(command, i));

		length += (size_t)snprintf(build->command + length, sizeof(build->command) - length, "%s%s",
					   i > 0 ? " " : "", word ? word : "?");
	}
}

/* It ended by itself, and not as it should have: nobody knows what it did of its work. Who asked it to end has its reasons. */
static bool failed(const json_t *root, int *ret_exit, int *ret_signal)
{
	static const int asked[] = {SIGINT, SIGTERM, SIGHUP};
	const json_t *ended = json_object_get(root, "ended");

	*ret_exit = (int)json_integer_value(json_object_get(ended, "exit_code"));
	*ret_signal = (int)json_integer_value(json_object_get(ended, "signal"));
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		if (*ret_signal == asked[i] || *ret_exit == 128 + asked[i])
			return false;
	}
	return *ret_exit != 0 || *ret_signal != 0;
}

/* Runs that say nothing about the allocator they were to be under. */
static int check_sound(const json_t *root, const char *path, char *ret_message)
{
	const char *outcome = json_string_value(json_object_get(root, "outcome"));
	const json_t *allocator = json_object_get(root, "allocator");
	const char *preload = json_string_value(json_object_get(allocator, "preload"));
	int code, signal;

	if (!outcome)
		return wrong(ret_message, path, "has no outcome");
	if (strcmp(outcome, "complete") != 0 && strcmp(outcome, "ended") != 0) {
		snprintf(ret_message, SAVED_MESSAGE,
			 "%.400s: the run was not completed (%.40s): leave it out or run it again", path, outcome);
		return -EXDEV;
	}
	if (strcmp(outcome, "ended") == 0 && failed(root, &code, &signal)) {
		snprintf(ret_message, SAVED_MESSAGE, "%.400s: the command failed (%s %d): leave it out or run it again",
			 path, signal != 0 ? "signal" : "exit", signal != 0 ? signal : code);
		return -EXDEV;
	}
	if (preload && strcmp(preload, "missed") == 0) {
		const char *reason = json_string_value(json_object_get(allocator, "preload_reason"));

		snprintf(ret_message, SAVED_MESSAGE,
			 "%.400s: the allocator was not in the command (%.40s): see its notes", path,
			 reason ? reason : "unexplained");
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
	get_text(root, "generation", run->generation, sizeof(run->generation));
	read_build(root, &run->build);
	run->has_load = json_is_object(json_object_get(root, "load"));
	read_figures(root, run);
	return 0;
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

int ebbi_saved_read(const json_t *root, const char *path, struct saved_run *ret_run, char *ret_message)
{
	struct saved_run run = {0};
	int error = read_run(root, path, &run, ret_message);

	if (error == 0)
		*ret_run = run;
	return error;
}

int ebbi_saved_run(const json_t *root, const char *path, struct saved_run *ret_run, char *ret_message)
{
	struct saved_run run;
	int error = ebbi_saved_read(root, path, &run, ret_message);

	if (error == 0)
		error = check_sound(root, path, ret_message);
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
