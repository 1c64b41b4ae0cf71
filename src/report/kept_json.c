#include "report/kept.h"
#include "report/run_json.h"

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *optional(const char *text)
{
	return text ? ebbi_json_foreign(text) : json_null();
}

/* Bytes are whole. */
static json_t *figure(const struct judged *judged, double value)
{
	return ebbi_promised_unit(judged->limit->figure) == LIMIT_SECONDS ? json_real(value)
									  : json_integer((json_int_t)value);
}

static json_t *limit_json(const struct judged *judged)
{
	static const char *const units[] = {
		[LIMIT_BYTES] = "bytes", [LIMIT_SECONDS] = "seconds", [LIMIT_COUNT] = "count"};
	const struct promise_limit *limit = judged->limit;
	const struct measured *measured = &judged->held_against;
	bool sum = measured->known && judged->values.count > 0;
	json_t *object = json_object(), *values = json_array();

	set(object, "figure", json_string(ebbi_promised_word(limit->figure)));
	set(object, "account", optional(limit->account));
	set(object, "unit", json_string(units[ebbi_promised_unit(limit->figure)]));
	set(object, "limit", ebbi_json_foreign(limit->text));
	set(object, "most", !limit->ratio || judged->has_base ? figure(judged, judged->most) : json_null());
	set(object, "baseline", judged->has_base ? figure(judged, judged->base) : json_null());
	set(object, "keep", json_string(limit->keep == KEEP_MEDIAN ? "median" : "every"));
	set(object, "line", json_integer(limit->line));
	set(object, "column", json_integer(limit->column));
	set(object, "measured", sum ? figure(judged, measured->value) : json_null());
	set(object, "low", sum ? figure(judged, measured->low) : json_null());
	set(object, "high", sum ? figure(judged, measured->high) : json_null());
	for (size_t i = 0; i < judged->values.count; i++)
		json_array_append_new(values, figure(judged, judged->values.values[i]));
	set(object, "values", values);
	set(object, "worst_run", json_integer((json_int_t)judged->worst_run + 1));
	set(object, "kept", json_string(ebbi_kept_word(judged->kept)));
	set(object, "problem", measured->known ? json_null() : ebbi_json_foreign(measured->problem));
	return object;
}

static json_t *promise_json(const struct promise *promise)
{
	json_t *object = json_object();

	set(object, "path", ebbi_json_foreign(promise->path));
	set(object, "name", ebbi_json_foreign(promise->name));
	set(object, "allocator", ebbi_json_foreign(promise->allocator));
	set(object, "conf", optional(promise->conf));
	set(object, "budget", optional(promise->budget));
	set(object, "load", optional(promise->load_command));
	set(object, "rest_seconds", json_real((double)promise->rest_ns / 1e9));
	set(object, "runs", json_integer((json_int_t)promise->runs));
	set(object, "baseline", optional(promise->baseline));
	return object;
}

json_t *ebbi_kept_json(const struct kept_check *check)
{
	const json_t *first = json_array_get(check->runs, 0);
	json_t *root = json_object(), *limits = json_array();

	set(root, "schema", json_string(CHECK_SCHEMA));
	/* The figures of the first run; the others are of the same machine. */
	set(root, "ebb_version", json_deep_copy(json_object_get(first, "ebb_version")));
	set(root, "started_at", json_deep_copy(json_object_get(first, "started_at")));
	set(root, "machine", json_deep_copy(json_object_get(first, "machine")));
	set(root, "command", json_deep_copy(json_object_get(first, "command")));
	set(root, "promise", promise_json(check->promise));
	set(root, "kept", json_string(ebbi_kept_word(check->kept)));
	for (size_t i = 0; i < check->count; i++)
		json_array_append_new(limits, limit_json(&check->limits[i]));
	set(root, "limits", limits);
	set(root, "worst_run",
	    check->kept == KEPT_BROKEN ? json_integer((json_int_t)check->worst_run + 1) : json_null());
	set(root, "verdict", check->verdict ? json_deep_copy(check->verdict) : json_null());
	set(root, "runs", json_deep_copy(check->runs));
	return root;
}
