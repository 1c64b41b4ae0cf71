#include "doctor/ledger_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/files.h"
#include "observe/text.h"

#define SOURCE "ledger.json"
/* As real numbers, integers beyond 2^63 are none that end the reading; up to 8 PiB they are exact. */
#define LOAD_FLAGS (JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL)

static const char *const tried_words[TRIED_COUNT] = {
	[TRIED_TRIM] = "trim",           [TRIED_RELEASE] = "release",     [TRIED_ENVIRONMENT] = "environment",
	[TRIED_ALLOCATOR] = "allocator", [TRIED_DROP_SLAB] = "drop_slab", [TRIED_DROP_CACHE] = "drop_cache",
	[TRIED_FREE_ALL] = "free_all",   [TRIED_FREEZE] = "freeze",       [TRIED_THP_OFF] = "thp_off",
	[TRIED_COLLECT] = "collect",
};

const char *ebbi_tried_word(enum intervention_kind kind)
{
	return tried_words[kind];
}

static int refuse(char *message, const char *group, const char *key, const char *why)
{
	snprintf(message, FACTS_MESSAGE, SOURCE ": %.60s%s%.60s: %s", group, key[0] ? "." : "", key, why);
	return -EINVAL;
}

/* A figure of an object: absent or null is not known. 1: it is there. */
static int figure(const json_t *object, const char *group, const char *key, uint64_t *ret_value, char *message)
{
	const json_t *value = json_object_get(object, key);

	if (!value || json_is_null(value))
		return 0;
	if (json_is_boolean(value)) {
		*ret_value = json_is_true(value);
		return 1;
	}
	/* Some tools report numbers that wrapped around: they are no reason to refuse the rest, but a finding. */
	if (json_is_real(value) && json_real_value(value) >= 0) {
		*ret_value = json_real_value(value) < 1.8e19 ? (uint64_t)json_real_value(value) : UINT64_MAX;
		return 1;
	}
	return refuse(message, group, key, "write a number of 0 or more, or true or false");
}

static void text_of(const json_t *object, const char *key, char *ret_text, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(ret_text, size, "%s", text ? text : "");
	ebbi_text_clean(ret_text);
}

static int read_facts(struct facts *facts, const json_t *document, char *message)
{
	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		const struct fact_kind *kind = &ebbi_fact_kinds[id];
		const json_t *group = kind->group[0] ? json_object_get(document, kind->group) : NULL;
		char source[32] = "";
		uint64_t value;
		int got = group ? figure(group, kind->group, kind->key, &value, message) : 0;

		if (got < 0)
			return got;
		if (got == 0)
			continue;
		text_of(group, "source", source, sizeof(source));
		if (kind->unit != UNIT_FLAG || value != 0)
			ebbi_fact_set(facts, id, value, source[0] ? source : SOURCE);
	}
	return 0;
}

void ebbi_facts_add_ledger(struct facts *facts, const char *name, uint64_t bytes, bool total)
{
	struct ledger_entry *entry = &facts->ledger[facts->ledger_count];

	if (facts->ledger_count == FACTS_LEDGER)
		return;
	facts->ledger_count++;
	*entry = (struct ledger_entry){.bytes = bytes, .total = total};
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	ebbi_text_clean(entry->name);
}

typedef int read_item(struct facts *facts, const json_t *item, char *message);

static int each_item(struct facts *facts, const json_t *document, const char *key, size_t most, read_item *read,
		     char *message)
{
	const json_t *list = json_object_get(document, key);
	int error = 0;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return refuse(message, key, "", "write a list");
	if (json_array_size(list) > most)
		return refuse(message, key, "", "too many entries");
	for (size_t i = 0; i < json_array_size(list) && error == 0; i++)
		error = read(facts, json_array_get(list, i), message);
	return error;
}

static int read_entry(struct facts *facts, const json_t *item, char *message)
{
	char name[48];
	uint64_t bytes;
	int got = figure(item, "ledger", "bytes", &bytes, message);

	text_of(item, "name", name, sizeof(name));
	if (got < 0)
		return got;
	if (got == 0 || name[0] == 0)
		return refuse(message, "ledger", "", "each entry needs a \"name\" and its \"bytes\"");
	ebbi_facts_add_ledger(facts, name, bytes, json_is_true(json_object_get(item, "total")));
	facts->ledger[facts->ledger_count - 1].growing = json_is_true(json_object_get(item, "growing"));
	return 0;
}

static int read_process(struct facts *facts, const json_t *item, char *message)
{
	char name[32];
	uint64_t rss = 0, pss = 0;
	int got = figure(item, "processes", "rss_bytes", &rss, message);
	int more = figure(item, "processes", "pss_bytes", &pss, message);

	text_of(item, "name", name, sizeof(name));
	if (got < 0 || more < 0)
		return -EINVAL;
	if (got + more == 0)
		return refuse(message, "processes", "", "each needs its \"rss_bytes\" or \"pss_bytes\"");
	ebbi_facts_add_process(facts, name, rss, pss);
	return 0;
}

static int read_tried(struct facts *facts, const json_t *item, char *message)
{
	struct intervention tried = {.kind = TRIED_COUNT};
	char kind[32];
	uint64_t returned;
	int before, after, back, took;

	text_of(item, "kind", kind, sizeof(kind));
	for (enum intervention_kind i = 0; i < TRIED_COUNT; i++) {
		if (strcmp(kind, tried_words[i]) == 0)
			tried.kind = i;
	}
	if (tried.kind == TRIED_COUNT)
		return refuse(message, "tried", kind, "no such kind: trim, release, environment, allocator, ...");
	text_of(item, "name", tried.name, sizeof(tried.name));
	before = figure(item, "tried", "before_bytes", &tried.before_bytes, message);
	after = figure(item, "tried", "after_bytes", &tried.after_bytes, message);
	back = figure(item, "tried", "returned_bytes", &returned, message);
	took = figure(item, "tried", "took_ms", &tried.took_ms, message);
	if (before < 0 || after < 0 || back < 0 || took < 0)
		return -EINVAL;
	tried.has_bytes = back > 0 || (before > 0 && after > 0);
	/* What came back is known, not what there was. */
	if (back > 0 && after == 0) {
		tried.before_bytes = before > 0 ? tried.before_bytes : returned;
		tried.after_bytes = tried.before_bytes > returned ? tried.before_bytes - returned : 0;
	} else if (back > 0) {
		tried.before_bytes = tried.after_bytes + returned;
	}
	tried.helped = json_is_true(json_object_get(item, "helped"));
	tried.falls = json_is_true(json_object_get(item, "falls"));
	facts->tried[facts->tried_count++] = tried;
	return 0;
}

static int read_moment(struct facts *facts, const json_t *item, char *message)
{
	struct moment moment = {.at_s = json_number_value(json_object_get(item, "at_seconds"))};
	int rss = figure(item, "series", "rss_bytes", &moment.rss_bytes, message);
	int live = figure(item, "series", "live_bytes", &moment.live_bytes, message);

	if (rss < 0 || live < 0)
		return -EINVAL;
	facts->moments[facts->moment_count++] = moment;
	return 0;
}

static int read_allocator_name(struct facts *facts, const json_t *item, char *message)
{
	if (!json_is_string(item))
		return refuse(message, "allocators", "", "write a list of names");
	ebbi_facts_add_allocator(facts, json_string_value(item));
	return 0;
}

static int read_document(struct facts *facts, const json_t *document, char *message)
{
	const json_t *allocator = json_object_get(document, "allocator");
	const json_t *run = json_object_get(document, "run");
	int error = read_facts(facts, document, message);

	if (allocator)
		text_of(allocator, "name", facts->allocator, sizeof(facts->allocator));
	text_of(run, "kernel", facts->run.kernel, sizeof(facts->run.kernel));
	text_of(run, "build", facts->run.build, sizeof(facts->run.build));
	text_of(run, "environment", facts->run.environment, sizeof(facts->run.environment));
	text_of(run, "phase", facts->run.phase, sizeof(facts->run.phase));
	if (facts->allocator[0])
		ebbi_facts_add_allocator(facts, facts->allocator);
	if (error == 0)
		error = each_item(facts, document, "allocators", FACTS_ALLOCATORS, read_allocator_name, message);
	if (error == 0)
		error = each_item(facts, document, "ledger", FACTS_LEDGER, read_entry, message);
	if (error == 0)
		error = each_item(facts, document, "processes", 100000, read_process, message);
	if (error == 0)
		error = each_item(facts, document, "tried", FACTS_TRIED, read_tried, message);
	if (error == 0)
		error = each_item(facts, document, "series", FACTS_MOMENTS, read_moment, message);
	if (error == 0 && facts->command[0] == 0)
		text_of(document, "command", facts->command, sizeof(facts->command));
	return error;
}

int ebbi_facts_from_ledger(struct facts *facts, const char *bytes, size_t length, char *ret_message)
{
	json_error_t where;
	json_t *document = json_loadb(bytes, length, LOAD_FLAGS, &where);
	int error;

	if (!document) {
		snprintf(ret_message, FACTS_MESSAGE, SOURCE ": line %d: %s", where.line, where.text);
		return -EINVAL;
	}
	if (!json_is_object(document)) {
		json_decref(document);
		return refuse(ret_message, "the document", "", "write an object");
	}
	/* Twice the same file would be twice the entries. */
	error = facts->tried_count + facts->moment_count == 0 ? read_document(facts, document, ret_message)
							      : refuse(ret_message, "", "", "it was read already");
	json_decref(document);
	return error;
}
