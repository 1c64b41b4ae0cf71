/* Judging a promise: every run and the median, bounds, ratios, what is not known; and what is written for machines. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "lab/allocator.h"
#include "report/kept.h"

#define MIB 1048576.0

static struct promise promise;
static struct kept_check check;

/* A run with a peak in MiB, its bound, and a row of the account table. */
static json_t *run(double peak, double upper, double bound, const char *account, double account_mib, double error_mib)
{
	return json_pack("{s:{s:I, s:I, s:I, s:s}, s:{s:f, s:f}, s:{s:[{s:s, s:s, s:I, s:I}]}}", "peak", "bytes",
			 (json_int_t)(peak * MIB), "upper_bytes", (json_int_t)(upper * MIB), "bound_bytes",
			 (json_int_t)(bound * MIB), "source", "vmhwm", "totals", "cpu_user_seconds", 1.0,
			 "cpu_system_seconds", 0.5, "accounts", "rows", "section", "live", "name", account, "bytes",
			 (json_int_t)(account_mib * MIB), "error_bytes", (json_int_t)(error_mib * MIB));
}

/* Judges runs whose peaks are given, each with a bound of 1 MiB, against `limits`. */
static enum kept judge(const char *limits, size_t count, const double *peaks, json_t *baseline)
{
	char text[512], message[LAB_MESSAGE];
	json_t *runs = json_array();

	snprintf(text, sizeof(text), "name: a|b\ncommand: x\nbaseline: b\nlimits: {%s}\n", limits);
	if (ebbi_promise_parse(text, strlen(text), "p.yaml", &promise, message) != 0)
		CHECK_FAIL("%s", message);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(runs, run(peaks[i], peaks[i], 1, "requests", 5, 0.5));
	check = (struct kept_check){.promise = &promise, .runs = runs, .baseline = baseline};
	ebbi_kept_judge(&check);
	return check.kept;
}

static void done(void)
{
	json_decref((json_t *)(uintptr_t)check.runs);
	ebbi_promise_free(&promise);
}

static enum kept judged(const char *limits, size_t count, const double *peaks)
{
	enum kept kept = judge(limits, count, peaks, NULL);

	done();
	return kept;
}

#define PEAKS(...) \
	sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]) \
	{ \
		__VA_ARGS__ \
	}

TEST(every_run_or_the_median)
{
	CHECK(judged("peak: 60M", PEAKS(50, 55, 58)) == KEPT);
	CHECK(judged("peak: 60M", PEAKS(50, 55, 70)) == KEPT_BROKEN);
	CHECK(judged("peak: {most: 60M, keep: median}", PEAKS(50, 70, 55)) == KEPT);
	CHECK(judged("peak: {most: 60M, keep: median}", PEAKS(50, 70, 75)) == KEPT_BROKEN);
	/* Of an even number the middle of the two. */
	CHECK(judged("peak: {most: 60M, keep: median}", PEAKS(50, 64)) == KEPT);
	CHECK(judged("cpu: 2s", PEAKS(1)) == KEPT);
	CHECK(judged("cpu: 1.4s", PEAKS(1)) == KEPT_BROKEN);
}

TEST(a_limit_within_the_bounds_decides_nothing)
{
	CHECK(judged("peak: 60M", PEAKS(59)) == KEPT);
	CHECK(judged("peak: 60M", PEAKS(59.5)) == KEPT_UNSURE);
	CHECK(judged("peak: 60M", PEAKS(60.5)) == KEPT_UNSURE);
	CHECK(judged("peak: 60M", PEAKS(61.5)) == KEPT_BROKEN);
	/* Broken is worse than unsure, whichever comes first. */
	CHECK(judged("peak: 60M, cpu: 1s", PEAKS(60)) == KEPT_BROKEN);
	/* An estimate: twice its standard error. */
	CHECK(judged("accounts: {requests: 6.1M}", PEAKS(1)) == KEPT);
	CHECK(judged("accounts: {requests: 5.9M}", PEAKS(1)) == KEPT_UNSURE);
	CHECK(judged("accounts: {requests: 3.9M}", PEAKS(1)) == KEPT_BROKEN);
	/* The section, when no row has that name. */
	CHECK(judged("accounts: {live: 6.1M}", PEAKS(1)) == KEPT);
}

TEST(a_tree_lies_between_its_sums)
{
	json_t *tree = run(50, 80, 1, "a", 1, 0);
	struct measured measured;

	ebbi_kept_measure(tree, PROMISED_PEAK, NULL, &measured);
	CHECK(measured.known && measured.low == 49 * MIB && measured.value == 50 * MIB && measured.high == 81 * MIB);
	json_object_set_new(json_object_get(tree, "peak"), "source", json_string("wait4-at-most"));
	ebbi_kept_measure(tree, PROMISED_PEAK, NULL, &measured);
	CHECK(measured.low == 0);
	json_decref(tree);
}

TEST(what_is_missing_is_not_known)
{
	static const char *const documents[] = {"{}",
						"[]",
						"null",
						"{\"peak\": 3, \"totals\": [], \"resting\": {}}",
						"{\"peak\": {\"bytes\": null}, \"boot\": {\"bytes\": \"x\"}}",
						"{\"resting\": [3], \"accounts\": {\"rows\": [3, {}, {\"name\": 1}]}}"};

	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		json_t *document = json_loads(documents[i], JSON_DECODE_ANY, NULL);

		for (enum promised figure = 0; figure < PROMISED_COUNT; figure++) {
			struct measured measured = {.known = true};

			ebbi_kept_measure(document, figure, "a", &measured);
			CHECK(!measured.known && measured.problem[0]);
		}
		json_decref(document);
	}
	CHECK(judged("accounts: {nobody: 9M}", PEAKS(1, 2)) == KEPT_UNKNOWN);
	CHECK(judged("accounts: {nobody: {most: 9M, keep: median}}", PEAKS(1, 2)) == KEPT_UNKNOWN);
	CHECK(judged("accounts: {nobody: 9M}, cpu: 1s", PEAKS(1, 2)) == KEPT_BROKEN);
}

TEST(ratios)
{
	json_t *base = json_object(), *runs = json_array();

	for (int peak = 90; peak <= 110; peak += 10)
		json_array_append_new(runs, run(peak, peak, 1, "a", 1, 0));
	json_object_set_new(base, "runs", runs);
	CHECK(judge("peak: 1.05x", PEAKS(103), base) == KEPT);
	CHECK(check.limits[0].base == 100 * MIB && fabs(check.limits[0].most - 105 * MIB) < 1);
	CHECK(fabs(ebbi_kept_used(&check.limits[0]) - 103.0 / 105) < 1e-9);
	done();
	CHECK(judge("peak: 1.05x", PEAKS(107), base) == KEPT_BROKEN);
	done();
	/* A figure that the baseline does not have. */
	CHECK(judge("held: 1.05x", PEAKS(107), base) == KEPT_UNKNOWN);
	done();
	json_decref(base);
}

/* What `write` writes of the check; the caller frees it. */
static char *written(void (*write)(FILE *stream, const struct kept_check *check))
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	write(stream, &check);
	fclose(stream);
	return text;
}

static void annotations(FILE *stream, const struct kept_check *of)
{
	ebbi_kept_annotations(stream, of, "a,b:c%\n.yaml");
}

TEST(what_machines_read_is_escaped)
{
	char *text;

	judge("peak: 60M, accounts: {\"<&\\\">|*\": 1M}", PEAKS(50), NULL);
	text = written(ebbi_kept_junit);
	CHECK(strstr(text, "name=\"account &lt;&amp;&quot;&gt;|*\"") != NULL);
	CHECK(strstr(text, "tests=\"2\" failures=\"0\" errors=\"1\"") != NULL);
	free(text);
	text = written(ebbi_kept_markdown);
	CHECK(strstr(text, "### a\\|b: the promise is not measured") != NULL);
	CHECK(strstr(text, "| account \\<\\&\"\\>\\|\\* | 1.0 MiB | - | - | - | **not measured** |") != NULL);
	free(text);
	text = written(annotations);
	CHECK(strncmp(text, "::error file=a%2Cb%3Ac%25%0A.yaml,line=4,col=32,title=a|b%3A account", 63) == 0);
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	free(text);
	done();
}

int main(void)
{
	RUN(every_run_or_the_median);
	RUN(a_limit_within_the_bounds_decides_nothing);
	RUN(a_tree_lies_between_its_sums);
	RUN(what_is_missing_is_not_known);
	RUN(ratios);
	RUN(what_machines_read_is_escaped);
	return check_report();
}
