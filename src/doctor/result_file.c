#include "doctor/result_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "doctor/files.h"
#include "observe/text.h"

static void set(struct facts *facts, enum fact_id id, const json_t *object, const char *key, const char *source)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		ebbi_fact_set(facts, id, (uint64_t)json_integer_value(value), source);
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

/* The mark that says most of what rests. */
static const json_t *mark_of(const json_t *document, const char **ret_source)
{
	static const char *const others[] = {"last", "load_end", "boot"};
	const json_t *resting = json_object_get(document, "resting");
	size_t count = json_array_size(resting);

	*ret_source = "at rest";
	if (count > 0 && json_is_object(json_array_get(resting, count - 1)))
		return json_array_get(resting, count - 1);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		*ret_source = others[i];
		if (json_is_object(json_object_get(document, others[i])))
			return json_object_get(document, others[i]);
	}
	return NULL;
}

static void from_mark(struct facts *facts, const json_t *mark, const char *source)
{
	const json_t *ebb = json_object_get(mark, "ebb"), *held;
	const json_t *processes = json_object_get(mark, "processes");
	bool tree = json_integer_value(processes) > 1;

	set(facts, FACT_RSS, mark, tree ? "pss_bytes" : "rss_bytes", source);
	set(facts, FACT_RSS, mark, "bytes", source);
	set(facts, FACT_PSS, mark, "pss_bytes", source);
	set(facts, FACT_RSS_ANON, mark, "anonymous_bytes", source);
	set(facts, FACT_LAZYFREE, mark, "lazyfree_bytes", source);
	set(facts, FACT_ANON_HUGE, mark, "anon_huge_bytes", source);
	set(facts, FACT_SWAP, mark, "swap_bytes", source);
	set(facts, FACT_THREADS, mark, "threads", source);
	if (!json_is_object(ebb))
		return;
	set(facts, FACT_LIVE, ebb, "live_bytes", source);
	/* The library's figures may be a second older than the mark: what it has given back since is no longer held. */
	held = json_object_get(ebb, "held_bytes");
	if (json_is_integer(held) && json_integer_value(held) >= 0 &&
	    (uint64_t)json_integer_value(held) > ebbi_fact(facts, FACT_RSS))
		return;
	set(facts, FACT_HELD, ebb, "held_bytes", source);
	set(facts, FACT_TRIMMABLE, ebb, "held_bytes", source);
}

/* Sums of the sections of the account table, when it is of the whole. */
static void from_accounts(struct facts *facts, const json_t *accounts)
{
	static const struct {
		const char *section;
		enum fact_id id;
	} sections[] = {{"objects", FACT_OBJECTS}, {"stacks", FACT_STACKS}};
	const json_t *rows = json_object_get(accounts, "rows");

	if (json_integer_value(json_object_get(accounts, "processes")) > 1)
		return;
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && json_is_array(rows); i++) {
		uint64_t sum = 0;

		for (size_t k = 0; k < json_array_size(rows); k++) {
			const json_t *row = json_array_get(rows, k);
			json_int_t bytes = json_integer_value(json_object_get(row, "bytes"));

			if (strcmp(text(row, "section"), sections[i].section) == 0 && bytes > 0)
				sum += (uint64_t)bytes;
		}
		ebbi_fact_set(facts, sections[i].id, sum, "accounts");
	}
}

int ebbi_facts_from_run(struct facts *facts, const json_t *document, const char *path, char *ret_message)
{
	const json_t *machine = json_object_get(document, "machine");
	const char *source;
	const json_t *mark = mark_of(document, &source);
	json_t *first = json_array_get(json_object_get(document, "command"), 0);

	if (strcmp(text(document, "schema"), "ebb.run/1") != 0) {
		snprintf(ret_message, FACTS_MESSAGE,
			 "%.300s: no result of ebb run (schema ebb.run/1): give a PID, such a result, or a directory",
			 path);
		return -EINVAL;
	}
	if (!mark) {
		snprintf(ret_message, FACTS_MESSAGE, "%.300s: no figure of memory in it: the command ended too early",
			 path);
		return -EINVAL;
	}
	if (json_is_string(first)) {
		const char *slash = strrchr(json_string_value(first), '/');

		snprintf(facts->command, sizeof(facts->command), "%s", slash ? slash + 1 : json_string_value(first));
		ebbi_text_clean(facts->command);
	}
	from_mark(facts, mark, source);
	from_accounts(facts, json_object_get(document, "accounts"));
	set(facts, FACT_HWM, json_object_get(document, "peak"), "bytes", "peak");
	set(facts, FACT_MEMORY, machine, "memory_bytes", "machine");
	if (strcmp(text(machine, "thp"), "always") == 0)
		ebbi_fact_set(facts, FACT_THP_ALWAYS, 1, "machine");
	ebbi_facts_add_allocator(facts, text(json_object_get(document, "allocator"), "name"));
	snprintf(facts->allocator, sizeof(facts->allocator), "%s", facts->allocators[0]);
	return 0;
}

int ebbi_facts_from_result(struct facts *facts, const char *path, char *ret_message)
{
	json_error_t where;
	json_t *document = json_load_file(path, 0, &where);
	int error;

	if (!document) {
		if (where.line > 0)
			snprintf(ret_message, FACTS_MESSAGE, "%.300s: line %d: %s", path, where.line, where.text);
		else
			snprintf(ret_message, FACTS_MESSAGE, "%.300s: %s", path, strerror(errno != 0 ? errno : EINVAL));
		return -EINVAL;
	}
	error = json_is_object(document) ? ebbi_facts_from_run(facts, document, path, ret_message) : -EINVAL;
	if (!json_is_object(document))
		snprintf(ret_message, FACTS_MESSAGE, "%.300s: no result of ebb run", path);
	json_decref(document);
	return error;
}
