#include "observe/ledger.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- What is asked ----------------------------------------------------------------------- */

static int refuse(char *ret_message, const char *text, const char *why)
{
	snprintf(ret_message, LEDGER_MESSAGE, "--ledger '%.200s': %s", text, why);
	return -EINVAL;
}

/* "", or ":HOST:PORT" into target and port. */
static bool host_and_port(const char *text, const char *usual_port, struct ledger_plan *plan)
{
	const char *colon;

	snprintf(plan->target, sizeof(plan->target), "127.0.0.1");
	snprintf(plan->port, sizeof(plan->port), "%s", usual_port);
	if (text[0] == 0)
		return true;
	colon = strrchr(text + 1, ':');
	if (text[0] != ':' || !colon || colon == text + 1 || strlen(colon + 1) == 0 ||
	    strlen(colon + 1) >= sizeof(plan->port) || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    (size_t)(colon - text) >= sizeof(plan->target) - 64)
		return false;
	snprintf(plan->target, sizeof(plan->target), "%.*s", (int)(colon - text - 1), text + 1);
	snprintf(plan->port, sizeof(plan->port), "%s", colon + 1);
	return true;
}

/* http://HOST:PORT/path for the host and port that are in the plan. */
static void make_url(struct ledger_plan *plan, const char *path)
{
	char host[sizeof(plan->target)];

	memcpy(host, plan->target, sizeof(host));
	snprintf(plan->target, sizeof(plan->target), "http://%.800s:%s%s", host, plan->port, path);
	plan->kind = LEDGER_URL;
}

/* A preset: 1 when it is one, 0 when not, -EINVAL when it is and makes no sense. */
static int preset(const char *text, struct ledger_plan *plan)
{
	static const struct {
		const char *name;
		const char *port;
		enum ledger_form form;
		const char *path; /* NULL: no URL */
	} presets[] = {
		{"redis", "6379", FORM_REDIS, NULL},
		{"clickhouse", "8123", FORM_NUMBER,
		 "/?query=SELECT%20value%20FROM%20system.metrics%20WHERE%20metric%3D'MemoryTracking'"},
		/* The httpserver extension: DuckDB itself listens nowhere. */
		{"duckdb", "9999", FORM_JSON,
		 "/?q=SELECT%20sum(memory_usage_bytes)%3A%3ABIGINT%20FROM%20duckdb_memory()&default_format=JSONCompact"},
		{"prometheus", "9090", FORM_PROMETHEUS, "/metrics"},
	};
	char head[sizeof(plan->target)];
	const char *hash = strchr(text, '#');

	snprintf(head, sizeof(head), "%.*s", hash ? (int)(hash - text) : (int)strlen(text), text);
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		size_t length = strlen(presets[i].name);

		if (strncmp(head, presets[i].name, length) != 0 || (head[length] != 0 && head[length] != ':'))
			continue;
		if (!host_and_port(head + length, presets[i].port, plan) ||
		    (presets[i].form == FORM_PROMETHEUS) != (hash && hash[1]))
			return -EINVAL;
		plan->kind = LEDGER_REDIS;
		plan->form = presets[i].form;
		if (presets[i].path)
			make_url(plan, presets[i].path);
		snprintf(plan->key, sizeof(plan->key), "%s",
			 hash                      ? hash + 1
			 : plan->form == FORM_JSON ? "data.0.0"
						   : "");
		if (plan->form == FORM_REDIS)
			snprintf(plan->key, sizeof(plan->key), "used_memory");
		return 1;
	}
	return 0;
}

int ebbi_ledger_parse(const char *text, struct ledger_plan *ret_plan, char *ret_message)
{
	struct ledger_plan plan = {.kind = LEDGER_COMMAND, .form = FORM_NUMBER};
	const char *equals = strchr(text, '=');
	const char *what = equals ? equals + 1 : "";
	const char *hash;
	int known;

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(plan.name) || what[0] == 0)
		return refuse(ret_message, text, "write NAME=COMMAND, NAME=URL#json.key or NAME=redis");
	if (strlen(what) >= sizeof(plan.target))
		return refuse(ret_message, text, "that is too long");
	snprintf(plan.name, sizeof(plan.name), "%.*s", (int)(equals - text), text);
	known = preset(what, &plan);
	if (known < 0)
		return refuse(
			ret_message, text,
			"write redis, redis:HOST:PORT (clickhouse and duckdb alike) or prometheus:HOST:PORT#METRIC");
	if (known == 0) {
		snprintf(plan.target, sizeof(plan.target), "%s", what);
		hash = strrchr(what, '#');
		if (strncmp(what, "http://", 7) == 0 || strncmp(what, "https://", 8) == 0) {
			plan.kind = LEDGER_URL;
			if (hash && hash[1]) {
				plan.form = FORM_JSON;
				snprintf(plan.key, sizeof(plan.key), "%s", hash + 1);
			}
			if (hash)
				plan.target[hash - what] = 0;
		}
	}
	*ret_plan = plan;
	return 0;
}

/* --- What is answered -------------------------------------------------------------------- */

/* The first number, as its digits stand there: 12, 1.5e9. Negative ones and those beyond 64 bits are none. */
static bool number_at(const char *text, uint64_t *ret_value)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value >= 0) || value >= 18446744073709549568.0)
		return false;
	/* Digits alone are exact. */
	if (strspn(text, "0123456789") == (size_t)(end - text))
		*ret_value = strtoull(text, NULL, 10);
	else
		*ret_value = (uint64_t)value;
	return true;
}

static bool first_number(const char *text, uint64_t *ret_value)
{
	text += strcspn(text, "0123456789");
	return *text != 0 && number_at(text, ret_value);
}

/* "a.b.0.c": keys of objects, positions in arrays. */
static const json_t *walk(const json_t *at, const char *path)
{
	char step[256];

	while (at && *path) {
		size_t length = strcspn(path, ".");

		if (length == 0 || length >= sizeof(step))
			return NULL;
		memcpy(step, path, length);
		step[length] = 0;
		if (json_is_array(at))
			at = strspn(step, "0123456789") == length ? json_array_get(at, strtoul(step, NULL, 10)) : NULL;
		else
			at = json_object_get(at, step);
		path += length;
		path += *path == '.';
	}
	return at;
}

static bool from_json(const char *text, size_t length, const char *path, uint64_t *ret_value)
{
	json_t *document = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
	const json_t *at = walk(document, path);
	bool found = false;

	if (json_is_integer(at) && json_integer_value(at) >= 0) {
		*ret_value = (uint64_t)json_integer_value(at);
		found = true;
	} else if (json_is_real(at) && json_real_value(at) >= 0 && json_real_value(at) < 18446744073709549568.0) {
		*ret_value = (uint64_t)json_real_value(at);
		found = true;
	} else if (json_is_string(at)) {
		/* Servers write 64 bits as text, since JavaScript's numbers have 53. */
		found = number_at(json_string_value(at), ret_value);
	}
	json_decref(document);
	return found;
}

/* "key:123" on a line of its own. */
static bool from_redis(const char *text, const char *key, uint64_t *ret_value)
{
	size_t length = strlen(key);

	for (const char *at = text; (at = strstr(at, key)); at += length) {
		if ((at == text || at[-1] == '\n') && at[length] == ':')
			return number_at(at + length + 1, ret_value);
	}
	return false;
}

/* The sum over all label sets of one metric. The key may carry labels: then it is one. */
static bool from_prometheus(const char *text, const char *key, uint64_t *ret_value)
{
	size_t length = strlen(key);
	bool found = false;
	uint64_t sum = 0, value;

	for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		const char *rest = at + length;

		if (strncmp(at, key, length) != 0 || (*rest != ' ' && *rest != '{'))
			continue;
		if (*rest == '{')
			rest += strcspn(rest, "}\n");
		rest += *rest == '}';
		rest += strspn(rest, " ");
		if (!number_at(rest, &value))
			continue;
		sum += value;
		found = true;
	}
	if (found)
		*ret_value = sum;
	return found;
}

bool ebbi_ledger_extract(const struct ledger_plan *plan, const char *bytes, size_t length, uint64_t *ret_value)
{
	char *text = strndup(bytes, length);
	bool found = false;

	if (!text)
		return false;
	switch (plan->form) {
	case FORM_NUMBER:
		found = first_number(text, ret_value);
		break;
	case FORM_JSON:
		found = from_json(bytes, length, plan->key, ret_value);
		break;
	case FORM_REDIS:
		found = from_redis(text, plan->key, ret_value);
		break;
	case FORM_PROMETHEUS:
		found = from_prometheus(text, plan->key, ret_value);
		break;
	}
	free(text);
	return found;
}
