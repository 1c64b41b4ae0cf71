#include <string.h>

#include "doctor/ledger_file.h"
#include "report/run_json.h"
#include "report/verdict.h"
#include "report/verdict_arenas.h"
#include "report/verdict_rows.h"

static json_t *bytes_or_null(bool known, uint64_t bytes)
{
	/* What no machine has is no integer of JSON's either. */
	return !known ? json_null() : bytes > INT64_MAX ? json_real((double)bytes) : json_integer((json_int_t)bytes);
}

static void add_tried(json_t *list, const char *when, const struct intervention *tried, uint64_t bytes)
{
	json_t *row = json_object();
	char fact[64];

	snprintf(fact, sizeof(fact), "tried.%s.%s", ebbi_tried_word(tried->kind), when);
	json_object_set_new(row, "fact", json_string(fact));
	json_object_set_new(row, "title", ebbi_json_foreign(tried->name));
	json_object_set_new(row, "bytes", bytes_or_null(true, bytes));
	json_object_set_new(row, "bound_bytes", json_integer(0));
	json_object_set_new(row, "source", json_string("tried"));
	json_array_append_new(list, row);
}

static json_t *evidence(const struct facts *facts, const struct finding *finding)
{
	const struct intervention *tried = finding->tried > 0 ? &facts->tried[finding->tried - 1] : NULL;
	json_t *list = json_array();

	if (tried && tried->has_bytes) {
		add_tried(list, "before", tried, tried->before_bytes);
		add_tried(list, "after", tried, tried->after_bytes);
	}

	for (size_t i = 0; i < finding->evidence_count; i++) {
		enum fact_id id = finding->evidence[i];
		const struct fact_kind *kind = &ebbi_fact_kinds[id];
		const struct fact *fact = &facts->all[id];
		json_t *row = json_object();
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", kind->group, kind->group[0] ? "." : "", kind->key);
		json_object_set_new(row, "fact", json_string(name));
		json_object_set_new(row, "title", json_string(kind->title));
		json_object_set_new(row, kind->unit == UNIT_BYTES ? "bytes" : "value",
				    bytes_or_null(true, fact->value));
		json_object_set_new(row, "bound_bytes", json_integer((json_int_t)fact->bound));
		json_object_set_new(row, "source", ebbi_json_foreign(fact->source));
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *finding_json(const struct facts *facts, const struct finding *finding)
{
	json_t *object = json_object();

	json_object_set_new(object, "code", json_string(ebbi_codes[finding->code].word));
	json_object_set_new(object, "means", json_string(ebbi_codes[finding->code].means));
	json_object_set_new(object, "sentence", ebbi_json_foreign(finding->says));
	json_object_set_new(object, "note", finding->note[0] ? ebbi_json_foreign(finding->note) : json_null());
	json_object_set_new(object, "certain", json_boolean(finding->certain));
	json_object_set_new(object, "bytes", bytes_or_null(finding->bytes > 0, finding->bytes));
	json_object_set_new(object, "evidence", evidence(facts, finding));
	return object;
}

static json_t *remedy(const struct finding *finding)
{
	const struct code_kind *code = &ebbi_codes[finding->code];
	const char *text = finding->remedy[0] ? finding->remedy : code->remedy;
	json_t *object;

	if (!text[0])
		return json_null();
	object = json_object();
	json_object_set_new(object, "text", ebbi_json_foreign(text));
	json_object_set_new(object, "gain_bytes", bytes_or_null(finding->gain_bytes > 0, finding->gain_bytes));
	json_object_set_new(object, "cost", json_string(code->cost));
	return object;
}

static json_t *rows_json(const struct verdict_row *rows, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *row = json_object();

		json_object_set_new(row, "section", json_string(rows[i].key));
		json_object_set_new(row, "name", json_string(rows[i].title));
		json_object_set_new(row, "bytes", bytes_or_null(true, rows[i].bytes));
		json_array_append_new(list, row);
	}
	return list;
}

static void add_accounts(json_t *document, const struct facts *facts, const struct account_table *table)
{
	struct verdict_row rows[VERDICT_ROWS];
	size_t count;

	if (table) {
		json_t *accounts = ebbi_accounts_json(table);

		json_object_set(document, "rss_bytes", json_object_get(accounts, "rss_bytes"));
		json_object_set(document, "accounts", json_object_get(accounts, "rows"));
		json_decref(accounts);
	} else {
		count = ebbi_verdict_rows(facts, rows);
		json_object_set_new(document, "rss_bytes",
				    bytes_or_null(ebbi_known(facts, FACT_RSS), ebbi_fact(facts, FACT_RSS)));
		json_object_set_new(document, "accounts", rows_json(rows, count));
	}
	count = ebbi_verdict_outside(facts, rows);
	json_object_set_new(document, "not_in_rss", rows_json(rows, count));
}

json_t *ebbi_verdict_json(const struct facts *facts, const struct verdict *verdict, const struct account_table *table)
{
	json_t *document = json_object(), *first = finding_json(facts, &verdict->findings[0]), *list = json_array();

	json_object_set_new(document, "schema", json_string(DOCTOR_SCHEMA));
	json_object_set_new(document, "ebb_version", json_string(EBB_VERSION));
	json_object_set_new(document, "command", facts->command[0] ? ebbi_json_foreign(facts->command) : json_null());
	json_object_set_new(document, "pid", facts->pid > 0 ? json_integer(facts->pid) : json_null());
	json_object_update(document, first);
	json_decref(first);
	for (size_t i = 1; i < verdict->count; i++)
		json_array_append_new(list, finding_json(facts, &verdict->findings[i]));
	json_object_set_new(document, "further", list);
	json_object_set_new(document, "undecided", json_boolean(verdict->undecided));
	json_object_set_new(document, "remedy", remedy(&verdict->findings[0]));
	json_object_set_new(document, "next_measurement", verdict->next[0] ? json_string(verdict->next) : json_null());
	add_accounts(document, facts, table);
	json_object_set_new(document, "arenas", ebbi_arenas_json(facts));
	return document;
}
