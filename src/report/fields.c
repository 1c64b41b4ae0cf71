#include "report/fields.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROW(key, type, path, head) {#key, FIELD_##type, path, head},

const struct field ebbi_run_fields[] = {
#define RUN_FIELD(key, type, path, head) ROW(key, type, path, head)
#include "report/fields.def"
#undef RUN_FIELD
};
const size_t ebbi_run_field_count = sizeof(ebbi_run_fields) / sizeof(ebbi_run_fields[0]);

const struct field ebbi_source_fields[] = {
#define SOURCE_FIELD(key, type, path, head) ROW(key, type, path, head)
#include "report/fields.def"
#undef SOURCE_FIELD
};
const size_t ebbi_source_field_count = sizeof(ebbi_source_fields) / sizeof(ebbi_source_fields[0]);

const struct field ebbi_result_fields[] = {
#define RESULT_FIELD(key, type, path, head) ROW(key, type, path, head)
#include "report/fields.def"
#undef RESULT_FIELD
};
const size_t ebbi_result_field_count = sizeof(ebbi_result_fields) / sizeof(ebbi_result_fields[0]);

const struct field ebbi_size_row_fields[] = {
#define SIZE_ROW_FIELD(key, type, path, head) ROW(key, type, path, head)
#include "report/fields.def"
#undef SIZE_ROW_FIELD
};
const size_t ebbi_size_row_field_count = sizeof(ebbi_size_row_fields) / sizeof(ebbi_size_row_fields[0]);

const struct field ebbi_limit_fields[] = {
#define LIMIT_FIELD(key, type, path, head) ROW(key, type, path, head)
#include "report/fields.def"
#undef LIMIT_FIELD
};
const size_t ebbi_limit_field_count = sizeof(ebbi_limit_fields) / sizeof(ebbi_limit_fields[0]);

const struct field ebbi_verdict_fields[] = {
#define VERDICT_FIELD(key, type, path, head) ROW(key, type, path, head)
#include "report/fields.def"
#undef VERDICT_FIELD
};
const size_t ebbi_verdict_field_count = sizeof(ebbi_verdict_fields) / sizeof(ebbi_verdict_fields[0]);

json_t *ebbi_field_find(const json_t *document, const char *path)
{
	const json_t *at = document;

	while (at && *path) {
		size_t length = strcspn(path, ".");
		char name[64];

		if (length >= sizeof(name))
			return NULL;
		memcpy(name, path, length);
		name[length] = 0;
		if (json_is_array(at) && strcmp(name, "-1") == 0)
			at = json_array_get(at, json_array_size(at) - 1);
		else
			at = json_object_get(at, name);
		path += length + (path[length] == '.');
	}
	return (json_t *)(uintptr_t)at;
}

json_t *ebbi_field_text(const char *text)
{
	char shown[FIELD_TEXT_MOST + 1];
	size_t length = strnlen(text, FIELD_TEXT_MOST);

	/* Never half of a character. */
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	memcpy(shown, text, length);
	shown[length] = 0;
	for (char *at = shown; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = *at == '\n' || *at == '\t' ? ' ' : '?';
	}
	return json_string(shown);
}

json_t *ebbi_field_take(const json_t *document, enum field_type type, const char *path)
{
	json_t *value = ebbi_field_find(document, path);

	switch (type) {
	case FIELD_TEXT:
		return json_is_string(value) ? ebbi_field_text(json_string_value(value)) : json_null();
	case FIELD_FLAG:
		return json_is_boolean(value) ? json_boolean(json_is_true(value)) : json_null();
	case FIELD_BYTES:
	case FIELD_COUNT:
		if (json_is_integer(value) && json_integer_value(value) >= 0)
			return json_integer(json_integer_value(value));
		break;
	case FIELD_SECONDS:
	case FIELD_LATENCY:
		break;
	}
	/* A rate or a median may have a fraction. */
	if (json_is_number(value) && json_number_value(value) >= 0)
		return json_real(json_number_value(value));
	return json_null();
}

json_t *ebbi_fields_take(const json_t *document, const struct field *fields, size_t count)
{
	json_t *object = json_object();

	for (size_t i = 0; i < count; i++)
		json_object_set_new(object, fields[i].key, ebbi_field_take(document, fields[i].type, fields[i].path));
	return object;
}

/* --- A verdict --------------------------------------------------------------------------- */

#define EVIDENCE_MOST 64

static void mib(char *ret_text, size_t size, const char *before, const json_t *bytes, const char *after)
{
	snprintf(ret_text, size, "%s%.1f MiB%s", before, json_number_value(bytes) / 1048576.0, after);
}

/* "resident memory (RSS): 110.6 MiB", or a text as it is. */
static json_t *evidence_text(const json_t *entry)
{
	const char *title = json_string_value(json_object_get(entry, "title"));
	const json_t *bytes = json_object_get(entry, "bytes"), *value = json_object_get(entry, "value");
	char line[FIELD_TEXT_MOST], figure[64] = "";

	if (json_is_string(entry))
		return ebbi_field_text(json_string_value(entry));
	if (!title)
		return json_null();
	if (json_is_number(bytes))
		mib(figure, sizeof(figure), ": ", bytes, "");
	else if (json_is_number(value))
		snprintf(figure, sizeof(figure), ": %g", json_number_value(value));
	snprintf(line, sizeof(line), "%.1800s%s", title, figure);
	return ebbi_field_text(line);
}

static json_t *evidence_of(const json_t *given)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(given) && i < EVIDENCE_MOST; i++) {
		const json_t *entry = json_array_get(given, i);
		json_t *taken = json_object();

		json_object_set_new(taken, "text", evidence_text(entry));
		json_object_set_new(taken, "source", ebbi_field_take(entry, FIELD_TEXT, "source"));
		json_array_append_new(list, taken);
	}
	return list;
}

/* What to do, what it gains and what it costs, as one text. */
static json_t *remedy_of(const json_t *given)
{
	const char *text = json_string_value(json_object_get(given, "text"));
	const char *cost = json_string_value(json_object_get(given, "cost"));
	const json_t *gain = json_object_get(given, "gain_bytes");
	char line[FIELD_TEXT_MOST], gained[64] = "";

	if (json_is_string(given))
		return ebbi_field_text(json_string_value(given));
	if (!text)
		return json_null();
	if (json_is_number(gain))
		mib(gained, sizeof(gained), "; it may gain ", gain, "");
	snprintf(line, sizeof(line), "%.900s%s%s%.900s", text, gained, cost && cost[0] ? "; it costs: " : "",
		 cost ? cost : "");
	return ebbi_field_text(line);
}

/* The table of an ebb.doctor/1 is its list of rows. */
static json_t *verdict_accounts(const json_t *given)
{
	json_t *accounts = json_object_get(given, "accounts"), *whole, *taken;

	if (!json_is_array(accounts))
		return ebbi_accounts_take(accounts);
	whole = json_object();
	json_object_set(whole, "rows", accounts);
	json_object_set(whole, "rss_bytes", json_object_get(given, "rss_bytes"));
	json_object_set(whole, "not_in_rss", json_object_get(given, "not_in_rss"));
	taken = ebbi_accounts_take(whole);
	json_decref(whole);
	return taken;
}

json_t *ebbi_verdict_take(const json_t *given)
{
	const json_t *further = json_object_get(given, "further");
	json_t *verdict, *list = json_array();

	if (!json_is_string(json_object_get(given, "code"))) {
		json_decref(list);
		return json_null();
	}
	verdict = ebbi_fields_take(given, ebbi_verdict_fields, ebbi_verdict_field_count);
	for (size_t i = 0; i < json_array_size(further) && i < EVIDENCE_MOST; i++)
		json_array_append_new(list, ebbi_fields_take(json_array_get(further, i), ebbi_verdict_fields,
							     ebbi_verdict_field_count));
	json_object_set_new(verdict, "further", list);
	json_object_set_new(verdict, "evidence", evidence_of(json_object_get(given, "evidence")));
	json_object_set_new(verdict, "remedy", remedy_of(json_object_get(given, "remedy")));
	json_object_set_new(verdict, "accounts", verdict_accounts(given));
	return verdict;
}
