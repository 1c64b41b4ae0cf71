#include "report/size_json.h"

#include <ebb/ebb.h>

#include "report/run_json.h"
#include "report/size_text.h"

static const char *const verdict_words[] = {
	[ROW_SERVED] = "served", [ROW_LATE] = "late",       [ROW_REFUSED] = "refused", [ROW_NOT_SERVED] = "not-served",
	[ROW_DIED] = "died",     [ROW_MACHINE] = "machine", [ROW_NO_LOAD] = "no-load",
};

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *known(bool is, json_t *value)
{
	if (is)
		return value;
	json_decref(value);
	return json_null();
}

static json_t *latency_json(const struct latency *latency)
{
	static const struct {
		const char *key;
		double share;
	} shares[] = {{"p50_seconds", 0.5}, {"p90_seconds", 0.9}, {"p99_seconds", 0.99}, {"p999_seconds", 0.999}};
	json_t *object = json_object();

	set(object, "count", number(latency->count));
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		set(object, shares[i].key,
		    known(latency->count > 0, seconds(ebbi_latency_quantile(latency, shares[i].share))));
	set(object, "max_seconds", known(latency->count > 0, seconds(latency->most_ns)));
	return object;
}

static json_t *errors_json(const struct generator_result *load)
{
	json_t *object = json_object();

#define KEY(id, key, words) set(object, #key, number(load->errors[GENERATOR_##id]));
	GENERATOR_ERRORS(KEY)
#undef KEY
	return object;
}

static json_t *statuses_json(const struct generator_result *load)
{
	json_t *object = json_object();
	char name[8];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (load->status[i] > 0)
			set(object, name, number(load->status[i]));
	}
	return object;
}

static json_t *generator_json(const struct generator_result *load)
{
	json_t *object = json_object();

	set(object, "seconds", seconds(load->wall_ns));
	set(object, "cpu_seconds", seconds(load->cpu_ns));
	set(object, "waited_seconds", seconds(load->waited_ns));
	set(object, "own_delay", latency_json(&load->own));
	set(object, "backlog_most", number(load->backlog_most));
	set(object, "connections_open", number(load->connections));
	set(object, "connections_opened", number(load->opened));
	set(object, "connections_failed", number(load->not_opened));
	return object;
}

static json_t *sum_json(const struct generator_result *load)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < GENERATOR_ERROR_COUNT; i++)
		sum += load->errors[i];
	return number(sum);
}

static json_t *row_json(const struct sizing *sizing, const struct sizing_series *series, const struct sizing_row *row,
			json_t *run)
{
	const struct generator_result *load = row->load;
	json_t *object = json_object();
	size_t box = ebbi_sizing_box(sizing, row);
	uint64_t upper = ebbi_sizing_peak(&row->trial->result);
	char reason[1024];

	ebbi_size_reason(sizing, row, reason, sizeof(reason));
	set(object, "rate", number(row->rate));
	set(object, "event_bytes", known(row->event_bytes > 0, number(row->event_bytes)));
	set(object, "connections", number(row->connections));
	set(object, "sweep", row->sweep ? ebbi_json_foreign(row->sweep) : json_null());
	set(object, "verdict", json_string(verdict_words[row->verdict]));
	set(object, "knee", json_boolean(series->bad > 0 && row->rate == series->good));
	set(object, "reason", reason[0] ? ebbi_json_foreign(reason) : json_null());
	set(object, "complete", json_boolean(load->done));
	set(object, "offered", number(load->offered));
	set(object, "served", number(load->served));
	set(object, "served_per_second", json_real(ebbi_generator_throughput(load, sizing->load.duration_ns)));
	set(object, "refused", number(load->refused));
	set(object, "errors", sum_json(load));
	set(object, "errors_by_kind", errors_json(load));
	set(object, "errors_by_status", statuses_json(load));
	set(object, "latency", latency_json(&load->latency));
	set(object, "refusal_latency", latency_json(&load->refusal));
	set(object, "generator", generator_json(load));
	set(object, "peak_upper_bytes", known(upper > 0, number(upper)));
	set(object, "box_bytes",
	    known(box < sizing->box_count, number(box < sizing->box_count ? sizing->boxes[box] : 0)));
	set(object, "run", run);
	return object;
}

static json_t *series_json(const struct sizing *sizing, const struct sizing_series *series)
{
	const struct sizing_row *first = &sizing->rows[series->first];
	json_t *object = json_object();

	set(object, "first_row", number(series->first));
	set(object, "rows", number(series->count));
	set(object, "event_bytes", known(first->event_bytes > 0, number(first->event_bytes)));
	set(object, "connections", number(first->connections));
	set(object, "sweep", first->sweep ? ebbi_json_foreign(first->sweep) : json_null());
	set(object, "served_rate", known(series->good > 0, number(series->good)));
	set(object, "beyond_rate", known(series->bad > 0, number(series->bad)));
	set(object, "beyond_verdict",
	    series->bad ? json_string(verdict_words[sizing->rows[series->bad_row].verdict]) : json_null());
	return object;
}

static json_t *boxes_json(const struct sizing *sizing)
{
	json_t *boxes = json_array();

	for (size_t i = 0; i < sizing->box_count; i++)
		json_array_append_new(boxes, number(sizing->boxes[i]));
	return boxes;
}

/* What is the same in all rows stands once in front, too. */
static void add_common(json_t *root, const json_t *run)
{
	static const char *const keys[] = {"started_at", "machine", "command", "allocator"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_set(root, keys[i], json_object_get(run, keys[i]));
}

/* Rates were tried as the knee had it; who reads a series wants them in order. */
static void add_rows(const struct sizing *sizing, const struct sizing_series *series, json_t *rows, json_t *root)
{
	uint64_t last = 0;

	for (size_t k = 0; k < series->count; k++) {
		const struct sizing_row *next = NULL;
		json_t *run;

		for (size_t i = series->first; i < series->first + series->count; i++) {
			const struct sizing_row *row = &sizing->rows[i];

			if (row->rate > last && (!next || row->rate < next->rate))
				next = row;
		}
		if (!next)
			break;
		last = next->rate;
		run = ebbi_run_json(&next->trial->result);
		if (json_array_size(rows) == 0)
			add_common(root, run);
		json_array_append_new(rows, row_json(sizing, series, next, run));
		ebbi_trial_rest(next->trial);
	}
}

json_t *ebbi_size_json(const struct sizing *sizing, const char *url, const char *requests_file)
{
	json_t *root = json_object();
	json_t *rows = json_array();
	json_t *all = json_array();

	set(root, "schema", json_string(SIZE_SCHEMA));
	set(root, "ebb_version", json_string(EBB_VERSION));
	for (size_t i = 0; i < sizing->series_count; i++) {
		json_array_append_new(all, series_json(sizing, &sizing->series[i]));
		add_rows(sizing, &sizing->series[i], rows, root);
	}
	set(root, "url", ebbi_json_foreign(url));
	set(root, "requests_file", requests_file ? ebbi_json_foreign(requests_file) : json_null());
	set(root, "seconds", seconds(sizing->load.duration_ns));
	set(root, "patience_seconds", seconds(sizing->load.patience_ns));
	set(root, "late_seconds", seconds(sizing->late_ns));
	set(root, "share", json_real(sizing->share));
	set(root, "boxes_bytes", boxes_json(sizing));
	set(root, "sweep_variable", sizing->sweep_variable ? ebbi_json_foreign(sizing->sweep_variable) : json_null());
	set(root, "series", all);
	set(root, "rows", rows);
	return root;
}
