#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/allocator.h"
#include "lab/nearest.h"
#include "lab/promise_parts.h"
#include "lab/units.h"
#include "lab/workscan.h"

static const struct promise_key keys[] = {
#define PROMISE_SECTION(path, key, help) {path, KEY_SECTION, key, 0, 0, 0, LIMIT_BYTES},
#define PROMISE_KEY(path, field, kind, preset, low, high, help) \
	{path, KEY_##kind, preset, low, high, offsetof(struct promise, field), LIMIT_BYTES},
#define PROMISE_LIMIT(path, figure, unit, help) {path, KEY_LIMIT, NULL, 0, 0, PROMISED_##figure, LIMIT_##unit},
#include "lab/promise.def"
#undef PROMISE_SECTION
#undef PROMISE_KEY
#undef PROMISE_LIMIT
};
#define KEY_COUNT_ALL (sizeof(keys) / sizeof(keys[0]))

/* Whether `path` names a key right below `section`: what follows it has no further dot. */
static const char *leaf_of(const char *path, const char *section)
{
	size_t length = strlen(section);

	if (strncmp(path, section, length) != 0)
		return NULL;
	if (length > 0 && path[length] != '.')
		return NULL;
	path += length ? length + 1 : 0;
	return strchr(path, '.') ? NULL : path;
}

static const struct promise_key *find_key(const char *section, const char *name)
{
	for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
		const char *leaf = leaf_of(keys[i].path, section);

		if (leaf && strcmp(leaf, name) == 0)
			return &keys[i];
	}
	return NULL;
}

/* The nearest key of this section, or where else the key belongs, or all that there are. */
static int unknown_key(const struct promise_reader *reader, const char *section, const struct yaml_node *name)
{
	struct nearest nearest = {.wanted = name->text, .most = 2};
	char list[400] = "";
	size_t length = 0;

	for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
		const char *leaf = leaf_of(keys[i].path, section);
		const char *dot = strrchr(keys[i].path, '.');

		if (leaf) {
			ebbi_nearest_try(&nearest, leaf);
			length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s", length ? ", " : "",
						   leaf);
		} else if (dot && strcmp(dot + 1, name->text) == 0) {
			return ebbi_promise_wrong(reader, name,
						  "'%.60s' does not belong here: put it below %.*s:", name->text,
						  (int)(dot - keys[i].path), keys[i].path);
		}
	}
	if (nearest.found)
		return ebbi_promise_wrong(reader, name, "unknown key '%.60s': did you mean %s?", name->text,
					  nearest.found);
	if (find_key("", name->text))
		return ebbi_promise_wrong(reader, name, "'%.60s' does not belong below %s: move it to the left margin",
					  name->text, section);
	return ebbi_promise_wrong(reader, name, "unknown key '%.60s': %s has %s", name->text,
				  section[0] ? section : "a promise", list);
}

static int read_section(struct promise_reader *reader, const char *section, const struct yaml_node *map)
{
	int error = 0;

	for (const struct yaml_node *name = map->first; name && error == 0; name = name->next->next) {
		const struct promise_key *key = find_key(section, name->text);

		if (!key)
			return unknown_key(reader, section, name);
		if (key->kind != KEY_SECTION) {
			error = ebbi_promise_set(reader, key, name);
		} else if (name->next->kind == YAML_MAP) {
			error = read_section(reader, key->path, name->next);
		} else if (key->preset[0] && name->next->kind == YAML_TEXT) {
			error = ebbi_promise_set(reader, find_key(key->path, key->preset), name);
		} else {
			error = ebbi_promise_wrong(reader, name->next,
						   "%s is %s here: write its keys below it, indented", key->path,
						   ebbi_promise_kind(name->next));
		}
	}
	return error;
}

static int set_presets(struct promise_reader *reader)
{
	int error = 0;

	for (size_t i = 0; i < KEY_COUNT_ALL && error == 0; i++) {
		struct yaml_node value = {.kind = YAML_TEXT, .text = keys[i].preset};
		struct yaml_node name = {.next = &value};

		if (keys[i].kind != KEY_SECTION && keys[i].preset)
			error = ebbi_promise_set(reader, &keys[i], &name);
	}
	return error;
}

/* --- The whole --------------------------------------------------------------------------- */

static int check_ready(const struct promise_reader *reader, const struct yaml_node *root)
{
	struct promise *promise = reader->promise;
	const char *const targets[] = {
		[READY_TCP] = promise->ready_tcp, [READY_HTTP] = promise->ready_http, [READY_LOG] = promise->ready_log};
	char message[LAB_MESSAGE];
	int given = 0;

	for (int kind = READY_TCP; kind <= READY_LOG; kind++) {
		if (!targets[kind])
			continue;
		if (given++)
			return ebbi_promise_wrong(reader, root,
						  "ready: tcp, http and log exclude each other: give one");
		if (ebbi_ready_parse((enum ready_kind)kind, targets[kind], &promise->ready, message) != 0)
			return ebbi_promise_wrong(reader, root, "%.700s", message);
	}
	if (given && !promise->load_command)
		return ebbi_promise_wrong(
			reader, root,
			"ready is there and load is not: the command would run for ever; add load: COMMAND (load: true to measure boot and rest alone)");
	return 0;
}

static int check_limit(const struct promise_reader *reader, struct promise_limit *limit)
{
	const struct yaml_node here = {.line = limit->line, .column = limit->column};
	const struct promise *promise = reader->promise;
	const char *name = limit->account ? limit->account : ebbi_promised_word(limit->figure);
	uint64_t budget_bytes;

	if (limit->keep == (enum keep) - 1)
		limit->keep = promise->keep;
	if (limit->ratio && !promise->baseline)
		return ebbi_promise_wrong(reader, &here,
					  "%.60s: %s is a ratio to a baseline, and there is none: add baseline: FILE",
					  name, limit->text);
	if (limit->share && (!promise->budget || !ebbi_parse_size(promise->budget, &budget_bytes)))
		return ebbi_promise_wrong(
			reader, &here,
			"%.60s: %s is a share of the budget, and there is none in bytes: add budget: 256M", name,
			limit->text);
	if (limit->share)
		limit->value *= (double)budget_bytes;
	if (limit->figure == PROMISED_WORK && !promise->work)
		return ebbi_promise_wrong(reader, &here,
					  "minimum is of the work, and nothing says what that is: add work: REGEX");
	if (limit->figure == PROMISED_RESTING && !promise->load_command)
		return ebbi_promise_wrong(reader, &here,
					  "resting is what is left after a load, and there is none: add load: COMMAND");
	return 0;
}

static int check_limits(const struct promise_reader *reader, const struct yaml_node *root)
{
	struct promise *promise = reader->promise;
	size_t memory = 0;
	int error = 0;

	for (size_t i = 0; i < promise->limit_count && error == 0; i++) {
		memory += promise->limits[i].figure != PROMISED_WORK;
		error = check_limit(reader, &promise->limits[i]);
	}
	if (error == 0 && memory == 0)
		return ebbi_promise_wrong(
			reader, root,
			"nothing is promised: add limits: with boot, peak, resting, held, cpu or accounts");
	return error;
}

static int check_whole(const struct promise_reader *reader, const struct yaml_node *root)
{
	const struct promise *promise = reader->promise;
	char message[LAB_MESSAGE];
	int error;

	if (!promise->command[0])
		return ebbi_promise_wrong(reader, root, "there is no command: add command: COMMAND");
	if (promise->budget && strcmp(promise->allocator, "ebb") != 0 && !strchr(promise->allocator, '/'))
		return ebbi_promise_wrong(
			reader, root,
			"a budget is kept by libebb alone: write allocator: ebb, or leave the budget out");
	if (promise->work && !promise->load_command)
		return ebbi_promise_wrong(reader, root,
					  "work is read from what the load prints: add command: to load:");
	if (promise->work && ebbi_workscan_check(promise->work, message) != 0)
		return ebbi_promise_wrong(reader, root, "load.work: %.600s", message);
	error = check_ready(reader, root);
	return error != 0 ? error : check_limits(reader, root);
}

int ebbi_promise_parse(const char *bytes, size_t length, const char *path, struct promise *ret_promise,
		       char *ret_message)
{
	static const struct yaml_node nowhere = {.line = 1, .column = 1};
	struct promise promise = {.path = path, .keep = KEEP_EVERY};
	struct promise_reader reader = {.promise = &promise, .message = ret_message};
	const struct yaml_node *root;
	int error = ebbi_yaml_parse(bytes, length, path, &promise.yaml, ret_message);

	if (error != 0)
		return error;
	root = promise.yaml.count ? promise.yaml.nodes : &nowhere;
	error = set_presets(&reader);
	if (error == 0 && (promise.yaml.count == 0 || root->kind != YAML_MAP))
		error = ebbi_promise_wrong(&reader, root,
					   "this is no promise: begin with 'command: COMMAND' and 'limits:'");
	if (error == 0)
		error = read_section(&reader, "", root);
	if (error == 0)
		error = check_whole(&reader, root);
	if (error == 0)
		*ret_promise = promise;
	else
		ebbi_yaml_free(&promise.yaml);
	return error;
}

int ebbi_promise_read(const char *path, struct promise *ret_promise, char *ret_message)
{
	/* One byte more than is taken, so that too much is seen. */
	char *bytes = malloc(YAML_BYTES + 1);
	FILE *file = fopen(path, "re");
	size_t length = 0;
	int error = 0;

	if (!file || !bytes) {
		error = file ? -ENOMEM : -errno;
	} else {
		length = fread(bytes, 1, YAML_BYTES + 1, file);
		if (ferror(file))
			error = -errno;
	}
	if (error != 0)
		snprintf(ret_message, LAB_MESSAGE, "%.300s: %s%s", path, strerror(-error),
			 error == -ENOENT ? ": ebb check --init -o FILE -- COMMAND writes a first one" : "");
	else
		error = ebbi_promise_parse(bytes, length, path, ret_promise, ret_message);
	if (file)
		fclose(file);
	free(bytes);
	return error;
}

void ebbi_promise_free(struct promise *promise)
{
	ebbi_yaml_free(&promise->yaml);
}

const char *ebbi_promised_word(enum promised figure)
{
	if (figure == PROMISED_WORK)
		return "work";
	for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
		if (keys[i].kind == KEY_LIMIT && keys[i].offset == (size_t)figure)
			return strrchr(keys[i].path, '.') + 1;
	}
	return "account";
}

enum promised_unit ebbi_promised_unit(enum promised figure)
{
	for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
		if (keys[i].kind == KEY_LIMIT && keys[i].offset == (size_t)figure)
			return keys[i].unit;
	}
	return LIMIT_BYTES;
}

void ebbi_promise_path(const struct promise *promise, const char *file, char *ret_path, size_t size)
{
	const char *slash = strrchr(promise->path, '/');

	if (file[0] == '/' || !slash)
		snprintf(ret_path, size, "%s", file);
	else
		snprintf(ret_path, size, "%.*s/%s", (int)(slash - promise->path), promise->path, file);
}
