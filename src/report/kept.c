#include "report/kept.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/run_json.h"
#include "report/saved.h"

/* --- One figure of one run --------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void unknown(struct measured *measured, const char *format, ...)
{
	va_list arguments;

	measured->known = false;
	va_start(arguments, format);
	vsnprintf(measured->problem, sizeof(measured->problem), format, arguments);
	va_end(arguments);
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) && json_number_value(value) >= 0 ? json_number_value(value) : 0;
}

static void known(struct measured *measured, double value, double below, double above)
{
	*measured = (struct measured){
		.known = true, .value = value, .low = value > below ? value - below : 0, .high = value + above};
}

static const json_t *last_rest(const json_t *run)
{
	const json_t *resting = json_object_get(run, "resting");

	return json_array_get(resting, json_array_size(resting) - 1);
}

static void measure_mark(const json_t *mark, const char *what, struct measured *measured)
{
	if (!json_is_integer(json_object_get(mark, "bytes")))
		unknown(measured, "%s was not measured", what);
	else
		known(measured, number(mark, "bytes"), number(mark, "bound_bytes"), number(mark, "bound_bytes"));
}

static void measure_peak(const json_t *run, struct measured *measured)
{
	const json_t *peak = json_object_get(run, "peak");
	const char *source = json_string_value(json_object_get(peak, "source"));
	double bytes = number(peak, "bytes"), bound = number(peak, "bound_bytes");

	if (!json_is_integer(json_object_get(peak, "bytes"))) {
		unknown(measured, "the peak was not measured");
		return;
	}
	known(measured, bytes, bound, ebbi_larger(number(peak, "upper_bytes") - bytes, 0) + bound);
	if (source && strcmp(source, "wait4-at-most") == 0)
		measured->low = 0;
}

static void measure_ebb(const json_t *run, const char *key, struct measured *measured)
{
	const json_t *mark = last_rest(run) ? last_rest(run) : json_object_get(run, "last");
	const json_t *ebb = json_object_get(mark, "ebb");

	if (!json_is_object(ebb))
		unknown(measured,
			"it is known under Ebb alone, and only of a process that rests or works for a second");
	else
		known(measured, number(ebb, key), 0, 0);
}

/* Rows of that name, or else of the section of that key. */
static bool sum_rows(const json_t *rows, const char *field, const char *name, struct measured *measured)
{
	double bytes = 0, error = 0;
	bool found = false;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *here = json_string_value(json_object_get(row, field));

		if (!here || strcmp(here, name) != 0)
			continue;
		found = true;
		bytes += json_number_value(json_object_get(row, "bytes"));
		error += number(row, "error_bytes");
	}
	if (found)
		known(measured, ebbi_larger(bytes, 0), 2 * error, 2 * error);
	return found;
}

static void measure_account(const json_t *run, const char *name, struct measured *measured)
{
	const json_t *rows = json_object_get(json_object_get(run, "accounts"), "rows");
	char names[160] = "";
	size_t length = 0;

	if (!json_is_array(rows)) {
		unknown(measured, "no account table could be made");
		return;
	}
	if (sum_rows(rows, "name", name, measured) || sum_rows(rows, "section", name, measured))
		return;
	for (size_t i = 0; i < json_array_size(rows) && length < sizeof(names); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *other = json_string_value(json_object_get(row, "name"));
		const char *section = json_string_value(json_object_get(row, "section"));

		/* What somebody may have meant: an account, a library, threads. */
		if (other && section && strcmp(section, "held") != 0 && strncmp(section, "not_", 4) != 0 &&
		    strcmp(section, "other") != 0 && number(row, "bytes") > 0)
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%.40s",
						   length ? ", " : "", other);
	}
	unknown(measured, "no row of the account table has that name; there are %s%s", names,
		length >= sizeof(names) ? "..." : "");
}

static void measure_cpu(const json_t *run, struct measured *measured)
{
	const json_t *totals = json_object_get(run, "totals");

	if (!json_is_object(totals))
		unknown(measured, "CPU time was not measured");
	else
		known(measured, number(totals, "cpu_user_seconds") + number(totals, "cpu_system_seconds"), 0, 0);
}

static void measure_work(const json_t *run, struct measured *measured)
{
	const json_t *load = json_object_get(run, "load");

	if (!json_is_number(json_object_get(load, "work")))
		unknown(measured, "the load printed nothing that load.work matches");
	else
		known(measured, number(load, "work"), 0, 0);
}

void ebbi_kept_measure(const json_t *run, enum promised figure, const char *account, struct measured *ret_measured)
{
	switch (figure) {
	case PROMISED_BOOT:
		measure_mark(json_object_get(run, "boot"), "boot", ret_measured);
		break;
	case PROMISED_PEAK:
		measure_peak(run, ret_measured);
		break;
	case PROMISED_RESTING:
		measure_mark(last_rest(run), "resting memory", ret_measured);
		break;
	case PROMISED_LIVE:
		measure_ebb(run, "live_bytes", ret_measured);
		break;
	case PROMISED_HELD:
		measure_ebb(run, "held_bytes", ret_measured);
		break;
	case PROMISED_CPU:
		measure_cpu(run, ret_measured);
		break;
	case PROMISED_WORK:
		measure_work(run, ret_measured);
		break;
	case PROMISED_ACCOUNT:
		measure_account(run, account, ret_measured);
		break;
	case PROMISED_COUNT:
		break;
	}
}

/* --- The baseline ------------------------------------------------------------------------ */

/* A run of ebb run is its own; others hold theirs in a list. */
static size_t base_count(const json_t *baseline)
{
	const json_t *runs = json_object_get(baseline, "runs");

	return json_is_array(runs) ? json_array_size(runs) : 1;
}

static const json_t *base_run(const json_t *baseline, size_t i)
{
	const json_t *runs = json_object_get(baseline, "runs");

	return json_is_array(runs) ? json_array_get(runs, i) : baseline;
}

static int differ(char *ret_message, const char *path, const char *what)
{
	snprintf(
		ret_message, SAVED_MESSAGE,
		"not comparable: %s is another one in the baseline %.300s than here: measure the baseline anew, with --save",
		what, path);
	return -EXDEV;
}

static int compare_run(const json_t *base, const json_t *run, const char *path, char *ret_message)
{
	static const struct {
		const char *part;
		const char *key;
		const char *what;
	} same[] = {
		{"machine", "kernel", "the kernel"},
		{"machine", "thp", "the huge page setting"},
		{"machine", "cpus", "the number of CPUs"},
		{"machine", "page_bytes", "the page size"},
		{NULL, "command", "the command"},
		{"load", "command", "the load"},
		{NULL, "basis", "the kind of figure (RSS or PSS)"},
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		const json_t *a = same[i].part ? json_object_get(base, same[i].part) : base;
		const json_t *b = same[i].part ? json_object_get(run, same[i].part) : run;

		a = json_object_get(a, same[i].key);
		b = json_object_get(b, same[i].key);
		if (a != b && !(a && b && json_equal(a, b)))
			return differ(ret_message, path, same[i].what);
	}
	if (number(last_rest(base), "after_seconds") != number(last_rest(run), "after_seconds"))
		return differ(ret_message, path, "the time at rest");
	return 0;
}

int ebbi_kept_comparable(const json_t *baseline, const json_t *run, const char *path, char *ret_message)
{
	struct saved_run saved;

	if (base_count(baseline) == 0) {
		snprintf(ret_message, SAVED_MESSAGE, "%.300s: holds no runs", path);
		return -EINVAL;
	}
	for (size_t i = 0; i < base_count(baseline); i++) {
		const json_t *base = base_run(baseline, i);
		int error = ebbi_saved_run(base, path, &saved, ret_message);

		if (error == 0)
			error = compare_run(base, run, path, ret_message);
		if (error != 0)
			return error;
	}
	return 0;
}

/* --- Judging ----------------------------------------------------------------------------- */

static bool base_figure(const struct kept_check *check, struct judged *judged)
{
	static struct series values;

	values.count = 0;
	for (size_t i = 0; i < base_count(check->baseline); i++) {
		struct measured measured = {0};

		ebbi_kept_measure(base_run(check->baseline, i), judged->limit->figure, judged->limit->account,
				  &measured);
		if (measured.known)
			ebbi_series_add(&values, measured.value);
	}
	judged->has_base = values.count > 0;
	judged->base = judged->has_base ? ebbi_series_median(&values) : 0;
	return judged->has_base;
}

static bool at_least(const struct promise_limit *limit)
{
	return ebbi_promised_unit(limit->figure) == LIMIT_COUNT;
}

static bool worse(const struct promise_limit *limit, double a, double b)
{
	return at_least(limit) ? a < b : a > b;
}

static enum kept against(const struct promise_limit *limit, const struct measured *measured, double most)
{
	if (!measured->known)
		return KEPT_UNKNOWN;
	if (at_least(limit))
		return measured->value < most ? KEPT_BROKEN : KEPT;
	if (measured->low > most)
		return KEPT_BROKEN;
	return measured->high > most ? KEPT_UNSURE : KEPT;
}

/* The median with the medians of its bounds. */
static void judge_median(const struct kept_check *check, struct judged *judged, struct measured *decider)
{
	static struct series lows, highs;

	lows.count = highs.count = 0;
	for (size_t i = 0; i < json_array_size(check->runs); i++) {
		struct measured measured = {0};

		ebbi_kept_measure(json_array_get(check->runs, i), judged->limit->figure, judged->limit->account,
				  &measured);
		ebbi_series_add(&lows, measured.low);
		ebbi_series_add(&highs, measured.high);
	}
	decider->value = ebbi_series_median(&judged->values);
	decider->low = ebbi_series_median(&lows);
	decider->high = ebbi_series_median(&highs);
}

static void judge_limit(const struct kept_check *check, const struct promise_limit *limit, struct judged *judged)
{
	struct measured *decider = &judged->held_against;

	*judged = (struct judged){.limit = limit, .most = limit->value};
	snprintf(judged->name, sizeof(judged->name), "%s%s%.70s", ebbi_promised_word(limit->figure),
		 limit->account ? " " : "", limit->account ? limit->account : "");
	for (size_t i = 0; i < json_array_size(check->runs); i++) {
		struct measured measured = {0};

		ebbi_kept_measure(json_array_get(check->runs, i), limit->figure, limit->account, &measured);
		if (measured.known)
			ebbi_series_add(&judged->values, measured.value);
		/* What is not known is worse than any figure. */
		if (i == 0 || (decider->known && (!measured.known || worse(limit, measured.value, decider->value)))) {
			*decider = measured;
			judged->worst_run = i;
		}
	}
	if (limit->ratio && !base_figure(check, judged))
		unknown(decider, "the baseline does not have it");
	if (limit->ratio)
		judged->most = limit->value * judged->base;
	if (limit->keep == KEEP_MEDIAN && decider->known)
		judge_median(check, judged, decider);
	judged->kept = against(limit, decider, judged->most);
}

double ebbi_kept_used(const struct judged *judged)
{
	double value = judged->held_against.value, most = judged->most;

	if (at_least(judged->limit))
		return value > 0 ? most / value : INFINITY;
	return most > 0 ? value / most : INFINITY;
}

void ebbi_kept_judge(struct kept_check *check)
{
	double worst = 0;

	check->count = check->promise->limit_count;
	check->kept = KEPT;
	for (size_t i = 0; i < check->count; i++) {
		struct judged *judged = &check->limits[i];

		judge_limit(check, &check->promise->limits[i], judged);
		if (judged->kept > check->kept)
			check->kept = judged->kept;
		if (judged->kept == KEPT_BROKEN && ebbi_kept_used(judged) > worst) {
			worst = ebbi_kept_used(judged);
			check->worst_run = judged->worst_run;
		}
	}
}

/* --- Words ------------------------------------------------------------------------------- */

const char *ebbi_kept_word(enum kept kept)
{
	static const char *const words[] = {[KEPT] = "kept",
					    [KEPT_UNSURE] = "inconclusive",
					    [KEPT_UNKNOWN] = "not_measured",
					    [KEPT_BROKEN] = "broken"};

	return words[kept];
}

const char *ebbi_kept_title(enum kept kept)
{
	return kept == KEPT_UNKNOWN ? "not measured" : kept == KEPT_BROKEN ? "BROKEN" : ebbi_kept_word(kept);
}

const char *ebbi_kept_format(char *ret_text, const struct judged *judged, double value, bool exact)
{
	if (ebbi_promised_unit(judged->limit->figure) == LIMIT_SECONDS)
		return ebbi_format_seconds(ret_text, (uint64_t)(value * 1e9));
	if (ebbi_promised_unit(judged->limit->figure) == LIMIT_COUNT)
		return ebbi_format_count(ret_text, (uint64_t)value);
	return ebbi_format_bytes(ret_text, (uint64_t)value, exact);
}

void ebbi_kept_sentence(const struct judged *judged, char *ret_text, size_t size)
{
	char value[FORMAT_BYTES], most[FORMAT_BYTES], low[FORMAT_BYTES], high[FORMAT_BYTES];
	char which[40] = "in the median";
	const struct measured *measured = &judged->held_against;

	if (judged->limit->keep == KEEP_EVERY)
		snprintf(which, sizeof(which), "in run %zu", judged->worst_run + 1);
	ebbi_kept_format(value, judged, measured->value, false);
	ebbi_kept_format(most, judged, judged->most, false);
	ebbi_kept_format(low, judged, measured->low, false);
	ebbi_kept_format(high, judged, measured->high, false);
	if (judged->kept == KEPT_UNKNOWN)
		snprintf(ret_text, size, "%s: %s", judged->name, measured->problem);
	else if (judged->kept == KEPT_UNSURE)
		snprintf(ret_text, size, "%s lies between %s and %s %s, and so does the limit of %s: give it more room",
			 judged->name, low, high, which, most);
	else
		snprintf(ret_text, size, "%s is %s %s; promised: at %s %s%s%s%s", judged->name, value, which,
			 at_least(judged->limit) ? "least" : "most", most, judged->limit->ratio ? " (" : "",
			 judged->limit->ratio ? judged->limit->text : "",
			 judged->limit->ratio ? " of the baseline)" : "");
}
