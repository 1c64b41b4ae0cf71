/* One ebb.run/1, as a report has it: fields, marks, timeline and accounts, each checked. */
#include <stdio.h>
#include <string.h>

#include "report/accounts.h"
#include "report/bundle.h"
#include "report/fields.h"
#include "report/run_json.h"

/* Shares of RSS; ebb writes fewer of each. */
#define ROWS_MOST 512
#define POINTS_MOST 4096

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* {"name", "at_seconds", "bytes"}, when both figures are there. */
static void add_mark(json_t *marks, const char *name, const json_t *mark)
{
	json_t *at = ebbi_field_take(mark, FIELD_SECONDS, "at_seconds");
	json_t *bytes = ebbi_field_take(mark, FIELD_BYTES, "bytes");

	if (json_is_number(at) && json_is_number(bytes))
		json_array_append_new(marks,
				      json_pack("{s:s, s:O, s:O}", "name", name, "at_seconds", at, "bytes", bytes));
	json_decref(at);
	json_decref(bytes);
}

static json_t *marks_of(const json_t *document)
{
	json_t *marks = json_array();
	json_t *resting = json_object_get(document, "resting");

	add_mark(marks, "boot", json_object_get(document, "boot"));
	add_mark(marks, "load end", json_object_get(document, "load_end"));
	for (size_t i = 0; i < json_array_size(resting) && i < 16; i++) {
		const json_t *mark = json_array_get(resting, i);
		char name[48];

		snprintf(name, sizeof(name), "rest %g s", json_number_value(json_object_get(mark, "after_seconds")));
		add_mark(marks, name, mark);
	}
	if (json_array_size(resting) == 0)
		add_mark(marks, "last", json_object_get(document, "last"));
	return marks;
}

static json_t *timeline_of(const json_t *document)
{
	const json_t *given = json_object_get(document, "timeline");
	json_t *points = json_array();

	for (size_t i = 0; i < json_array_size(given) && i < POINTS_MOST; i++) {
		const json_t *point = json_array_get(given, i);
		double seconds = json_number_value(json_array_get(point, 0));
		json_t *bytes = json_array_get(point, 1);

		if (json_is_integer(bytes) && json_integer_value(bytes) >= 0 && seconds >= 0)
			json_array_append_new(points, json_pack("[f, O]", seconds, bytes));
	}
	return points;
}

/* The section's key, of "other" for those that we do not know; NULL when there is none. */
static const char *section_of(const json_t *row)
{
	const char *section = json_string_value(json_object_get(row, "section"));

	for (int i = 0; section && i < SECTION_COUNT; i++) {
		if (strcmp(section, ebbi_section_key((enum section)i)) == 0)
			return ebbi_section_key((enum section)i);
	}
	return section ? ebbi_section_key(SECTION_OTHER) : NULL;
}

static json_t *row_of(const json_t *given)
{
	const json_t *bytes = json_object_get(given, "bytes");
	json_t *row;

	/* Live memory that was never touched is taken out by a row below 0. */
	if (!json_is_integer(bytes) || !section_of(given))
		return NULL;
	row = json_object();
	set(row, "section", json_string(section_of(given)));
	set(row, "name", ebbi_field_take(given, FIELD_TEXT, "name"));
	set(row, "bytes", json_integer(json_integer_value(bytes)));
	set(row, "error_bytes", ebbi_field_take(given, FIELD_BYTES, "error_bytes"));
	set(row, "limit_bytes", ebbi_field_take(given, FIELD_BYTES, "limit_bytes"));
	return row;
}

/* By name: of an object of figures, or of a list of rows. */
static json_t *outside_of(const json_t *given)
{
	json_t *taken = json_object(), *value;
	const char *key;
	size_t i;

	json_object_foreach ((json_t *)(uintptr_t)given, key, value) {
		if (json_is_integer(value) && json_integer_value(value) >= 0 && json_object_size(taken) < 16)
			set(taken, key, json_integer(json_integer_value(value)));
	}
	json_array_foreach (given, i, value) {
		const char *section = json_string_value(json_object_get(value, "section"));

		if (section && i < 16)
			set(taken, section, ebbi_field_take(value, FIELD_BYTES, "bytes"));
	}
	return taken;
}

json_t *ebbi_accounts_take(const json_t *given)
{
	const json_t *rows = json_object_get(given, "rows");
	json_t *table, *taken;

	if (!json_is_array(rows))
		return json_null();
	table = json_object();
	set(table, "process", ebbi_field_take(given, FIELD_TEXT, "process"));
	set(table, "mark", ebbi_field_take(given, FIELD_TEXT, "mark"));
	set(table, "rss_bytes", ebbi_field_take(given, FIELD_BYTES, "rss_bytes"));
	set(table, "bound_bytes", ebbi_field_take(given, FIELD_BYTES, "bound_bytes"));
	taken = json_array();
	for (size_t i = 0; i < json_array_size(rows) && i < ROWS_MOST; i++) {
		json_t *row = row_of(json_array_get(rows, i));

		if (row)
			json_array_append_new(taken, row);
	}
	set(table, "rows", taken);
	set(table, "not_in_rss", outside_of(json_object_get(given, "not_in_rss")));
	return table;
}

/* As a comparison has it, which groups by label and generation. */
static json_t *label_of(const json_t *document)
{
	struct saved_run saved;
	char message[SAVED_MESSAGE], name[128];
	const char *label = json_string_value(json_object_get(document, "label"));

	if (ebbi_saved_read(document, "", &saved, message) != 0)
		return label ? ebbi_field_text(label) : json_string("run");
	snprintf(name, sizeof(name), "%s%s%s", saved.label, saved.generation[0] ? ", " : "", saved.generation);
	return ebbi_json_foreign(name);
}

json_t *ebbi_bundle_run(const json_t *document, size_t source)
{
	json_t *run = ebbi_fields_take(document, ebbi_run_fields, ebbi_run_field_count);
	json_t *budget = json_object_get(run, "budget_bytes");

	set(run, "source", json_integer((json_int_t)source));
	if (json_integer_value(budget) == 0)
		set(run, "budget_bytes", json_null());
	set(run, "label", label_of(document));
	set(run, "marks", marks_of(document));
	set(run, "timeline", timeline_of(document));
	set(run, "accounts", ebbi_accounts_take(json_object_get(document, "accounts")));
	return run;
}
