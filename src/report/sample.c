#include "report/sample.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/run_json.h"

/* Every figure of metrics.def for one sample. */
enum metric_type { GAUGE, COUNTER, MS_COUNTER };
struct metric {
	const char *name;
	enum metric_type type;
	bool known;
	uint64_t value;
	const char *help;
};

enum {
#define WATCH_METRIC(name, type, known, value, help) METRIC_##name,
#include "report/metrics.def"
#undef WATCH_METRIC
	METRIC_COUNT
};

static void read_metrics(const struct sample *s, struct metric ret_metrics[METRIC_COUNT])
{
	const struct metric metrics[METRIC_COUNT] = {
#define WATCH_METRIC(name, type, known, value, help) {#name, type, known, value, help},
#include "report/metrics.def"
#undef WATCH_METRIC
	};

	memcpy(ret_metrics, metrics, sizeof(metrics));
}

/* --- Rates ------------------------------------------------------------------------------- */

static double rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

void ebbi_sample_rates(struct sample *sample, const struct sample *before)
{
	const struct look *now = sample->look, *then;
	uint64_t ticks = now->stat.user_ticks + now->stat.system_ticks;
	double seconds;

	sample->cpu_ms = ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	sample->has_rates = before != NULL;
	if (!before)
		return;
	then = before->look;
	seconds = (double)(now->at_ns - then->at_ns) / 1e9;
	sample->cpu_share = rate(sample->cpu_ms, before->cpu_ms, seconds * 1000);
	sample->faults = rate(now->stat.minor_faults + now->stat.major_faults,
			      then->stat.minor_faults + then->stat.major_faults, seconds);
	sample->major_faults = rate(now->stat.major_faults, then->stat.major_faults, seconds);
	if (now->snapshot_error != 0 || then->snapshot_error != 0)
		return;
	sample->purges = rate(now->snapshot.purge_calls, then->snapshot.purge_calls, seconds);
	sample->purged_bytes = rate(now->snapshot.purged_bytes, then->snapshot.purged_bytes, seconds);
	sample->refaults = rate(now->snapshot.refault_pages, then->snapshot.refault_pages, seconds);
}

static void time_text(const struct sample *sample, char ret_text[32])
{
	time_t at = (time_t)sample->look->at_unix;
	struct tm utc;

	gmtime_r(&at, &utc);
	strftime(ret_text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* --- CSV --------------------------------------------------------------------------------- */

/* In quotes where the name asks for it, by RFC 4180. */
static void csv_text(FILE *stream, const char *text)
{
	if (!strpbrk(text, "\",\n\r")) {
		fputs(text, stream);
		return;
	}
	fputc('"', stream);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', stream);
		fputc(*text, stream);
	}
	fputc('"', stream);
}

void ebbi_sample_csv_head(FILE *stream, const struct sample *sample)
{
	struct metric metrics[METRIC_COUNT];

	read_metrics(sample, metrics);
	fputs("time,pid", stream);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		fprintf(stream, ",%s", metrics[i].name);
	for (size_t i = 0; i < sample->ledger_count; i++) {
		char name[80];

		snprintf(name, sizeof(name), "ledger_%s_bytes", sample->ledgers[i].name);
		fputc(',', stream);
		csv_text(stream, name);
	}
	fputc('\n', stream);
}

void ebbi_sample_csv(FILE *stream, const struct sample *sample)
{
	struct metric metrics[METRIC_COUNT];
	char at[32];

	read_metrics(sample, metrics);
	time_text(sample, at);
	fprintf(stream, "%s,%d", at, (int)sample->look->pid);
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		fputc(',', stream);
		if (metrics[i].known)
			fprintf(stream, "%" PRIu64, metrics[i].value);
	}
	for (size_t i = 0; i < sample->ledger_count; i++) {
		fputc(',', stream);
		if (sample->ledgers[i].known)
			fprintf(stream, "%" PRIu64, sample->ledgers[i].bytes);
	}
	fputc('\n', stream);
}

/* --- JSON -------------------------------------------------------------------------------- */

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *rows_json(const struct account_table *table)
{
	json_t *array = json_array();

	for (size_t i = 0; i < table->count; i++) {
		const struct account_row *row = &table->rows[i];
		json_t *object = json_object();

		json_object_set_new(object, "section", json_string(ebbi_section_key(row->section)));
		json_object_set_new(object, "name", ebbi_json_foreign(row->name));
		json_object_set_new(object, "bytes", json_integer(row->bytes));
		if (row->error_bytes > 0)
			json_object_set_new(object, "error_bytes", integer(row->error_bytes));
		if (row->limit_bytes > 0)
			json_object_set_new(object, "limit_bytes", integer(row->limit_bytes));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *outside_json(const struct account_table *table)
{
	json_t *object = json_object();

	for (size_t i = 0; i < table->outside_count; i++) {
		const struct outside_row *row = &table->outside[i];

		json_object_set_new(object, row->key, row->known ? integer(row->bytes) : json_null());
	}
	return object;
}

json_t *ebbi_accounts_json(const struct account_table *table)
{
	json_t *object = json_object();

	json_object_set_new(object, "rss_bytes", integer(table->rss_bytes));
	json_object_set_new(object, "bound_bytes", integer(table->bound_bytes));
	json_object_set_new(object, "rows", rows_json(table));
	json_object_set_new(object, "not_in_rss", outside_json(table));
	return object;
}

static json_t *ledgers_json(const struct sample *sample)
{
	json_t *array = json_array();

	for (size_t i = 0; i < sample->ledger_count; i++) {
		const struct ledger_value *ledger = &sample->ledgers[i];
		json_t *object = json_object();

		json_object_set_new(object, "name", ebbi_json_foreign(ledger->name));
		json_object_set_new(object, "bytes", ledger->known ? integer(ledger->bytes) : json_null());
		json_object_set_new(
			object, "gap_bytes",
			ledger->known ? json_integer((json_int_t)sample->table->rss_bytes - (json_int_t)ledger->bytes)
				      : json_null());
		if (!ledger->known)
			json_object_set_new(object, "problem", ebbi_json_foreign(ledger->problem));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *stats_json(const struct ebb_snapshot *snapshot)
{
	json_t *object = json_object();

#define EBB_STAT(name, unit, help) json_object_set_new(object, #name, integer(snapshot->name));
#include <ebb/stats.def>
#undef EBB_STAT
	return object;
}

json_t *ebbi_sample_json(const struct sample *sample)
{
	struct metric metrics[METRIC_COUNT];
	json_t *object = json_object();
	char at[32];

	read_metrics(sample, metrics);
	time_text(sample, at);
	json_object_set_new(object, "schema", json_string(WATCH_SCHEMA));
	json_object_set_new(object, "time", json_string(at));
	json_object_set_new(object, "pid", json_integer(sample->look->pid));
	json_object_set_new(object, "command", ebbi_json_foreign(sample->look->command));
	for (size_t i = 0; i < METRIC_COUNT; i++)
		json_object_set_new(object, metrics[i].name,
				    metrics[i].known ? integer(metrics[i].value) : json_null());
	json_object_set_new(object, "accounts", ebbi_accounts_json(sample->table));
	json_object_set_new(object, "ledgers", ledgers_json(sample));
	json_object_set_new(object, "ebb", sample->table->on_ebb ? stats_json(&sample->look->snapshot) : json_null());
	return object;
}

/* --- Prometheus -------------------------------------------------------------------------- */

/* A label's value: backslash, quote and newline are escaped; bytes that are no UTF-8 would be refused, so ASCII only. */
static void label(FILE *stream, const char *name, const char *value)
{
	fprintf(stream, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fprintf(stream, "\\%c", *value);
		else
			fputc((unsigned char)*value < ' ' || (unsigned char)*value > '~' ? '?' : *value, stream);
	}
	fputc('"', stream);
}

static void begin_metric(FILE *stream, const char *name, const char *suffix, const char *type, const char *help)
{
	fprintf(stream, "# HELP ebb_%s%s %s\n# TYPE ebb_%s%s %s\n", name, suffix, help, name, suffix, type);
}

static void process_labels(FILE *stream, const struct sample *sample)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)sample->look->pid);
	label(stream, "pid", pid);
	fputc(',', stream);
	label(stream, "command", sample->look->command);
}

static void plain_metric(FILE *stream, const struct sample *sample, const struct metric *metric)
{
	bool grows = metric->type != GAUGE;
	const char *suffix = grows ? "_total" : "";
	char name[80];

	if (!metric->known)
		return;
	/* Prometheus wants base units: cpu_milliseconds is cpu_seconds there. */
	if (metric->type == MS_COUNTER)
		snprintf(name, sizeof(name), "process_%.*s_seconds",
			 (int)(strlen(metric->name) - strlen("_milliseconds")), metric->name);
	else
		snprintf(name, sizeof(name), "process_%s", metric->name);
	begin_metric(stream, name, suffix, grows ? "counter" : "gauge", metric->help);
	fprintf(stream, "ebb_%s%s{", name, suffix);
	process_labels(stream, sample);
	if (metric->type == MS_COUNTER)
		fprintf(stream, "} %" PRIu64 ".%03" PRIu64 "\n", metric->value / 1000, metric->value % 1000);
	else
		fprintf(stream, "} %" PRIu64 "\n", metric->value);
}

static void account_metrics(FILE *stream, const struct sample *sample)
{
	begin_metric(stream, "account_bytes", "", "gauge",
		     "resident memory by account; all together are ebb_process_rss_bytes");
	for (size_t i = 0; i < sample->table->count; i++) {
		const struct account_row *row = &sample->table->rows[i];

		fputs("ebb_account_bytes{", stream);
		process_labels(stream, sample);
		fputc(',', stream);
		label(stream, "section", ebbi_section_key(row->section));
		fputc(',', stream);
		label(stream, "account", row->name);
		fprintf(stream, "} %" PRId64 "\n", row->bytes);
	}
}

static void ledger_metrics(FILE *stream, const struct sample *sample)
{
	if (sample->ledger_count == 0)
		return;
	begin_metric(stream, "ledger_bytes", "", "gauge", "the application's own figure for its memory");
	for (size_t i = 0; i < sample->ledger_count; i++) {
		if (!sample->ledgers[i].known)
			continue;
		fputs("ebb_ledger_bytes{", stream);
		process_labels(stream, sample);
		fputc(',', stream);
		label(stream, "ledger", sample->ledgers[i].name);
		fprintf(stream, "} %" PRIu64 "\n", sample->ledgers[i].bytes);
	}
}

void ebbi_sample_prometheus(FILE *stream, const struct sample *sample)
{
	struct metric metrics[METRIC_COUNT];

	read_metrics(sample, metrics);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		plain_metric(stream, sample, &metrics[i]);
	account_metrics(stream, sample);
	ledger_metrics(stream, sample);
	if (!sample->table->on_ebb)
		return;
		/* Whether a statistic only grows is not in stats.def, so all are gauges. */
#define EBB_STAT(name, unit, help) \
	begin_metric(stream, "stat_" #name, "", "gauge", help); \
	fputs("ebb_stat_" #name "{", stream); \
	process_labels(stream, sample); \
	fprintf(stream, "} %" PRIu64 "\n", sample->look->snapshot.name);
#include <ebb/stats.def>
#undef EBB_STAT
}
