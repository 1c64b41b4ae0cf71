/* Figures as text, series, and saved results read back. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "report/format.h"
#include "report/run_json.h"
#include "report/saved.h"
#include "report/series.h"
#include "report/sparkline.h"

TEST(figures)
{
	char text[FORMAT_BYTES];

	CHECK_STR_EQ(ebbi_format_bytes(text, 0, false), "0.0 MiB");
	CHECK_STR_EQ(ebbi_format_bytes(text, 35861504, false), "34.2 MiB");
	CHECK_STR_EQ(ebbi_format_bytes(text, 35861504, true), "35861504");
	CHECK_STR_EQ(ebbi_format_bytes(text, 3ull << 40, false), "3145728.0 MiB");
	CHECK(strlen(ebbi_format_bytes(text, UINT64_MAX, false)) < FORMAT_BYTES);
	CHECK_STR_EQ(ebbi_format_count(text, 0), "0");
	CHECK_STR_EQ(ebbi_format_count(text, 999), "999");
	CHECK_STR_EQ(ebbi_format_count(text, 1000), "1,000");
	CHECK_STR_EQ(ebbi_format_count(text, 81234567), "81,234,567");
	CHECK_STR_EQ(ebbi_format_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
	CHECK_STR_EQ(ebbi_format_seconds(text, 812345678), "0.81 s");
	CHECK_STR_EQ(ebbi_format_change(text, 59, 100), "-41 %");
	CHECK_STR_EQ(ebbi_format_change(text, 103, 100), "+3 %");
	CHECK_STR_EQ(ebbi_format_change(text, 100.4, 100), "0 %");
	CHECK_STR_EQ(ebbi_format_change(text, 1, 0), "-");
}

TEST(commands)
{
	char *plain[] = {"puma", "-t", "5:5", NULL};
	char *odd[] = {"sh", "-c", "echo 'a' $b\n", "", "\033[1m", NULL};
	char text[64], little[12];

	ebbi_format_command(plain, text, sizeof(text));
	CHECK_STR_EQ(text, "puma -t 5:5");
	ebbi_format_command(odd, text, sizeof(text));
	CHECK_STR_EQ(text, "sh -c 'echo '\\''a'\\'' $b?' '' '?[1m'");
	ebbi_format_command(odd, little, sizeof(little));
	CHECK_STR_EQ(little, "sh -c 'e...");
	for (size_t size = 5; size < sizeof(text); size++) {
		ebbi_format_command(odd, text, size);
		CHECK_LT(strlen(text), size);
	}
}

TEST(series)
{
	static struct series a, b;

	CHECK(ebbi_series_add(&a, 5) && ebbi_series_add(&a, 1) && ebbi_series_add(&a, 3));
	CHECK(ebbi_series_median(&a) == 3.0);
	CHECK(ebbi_series_least(&a) == 1.0 && ebbi_series_most(&a) == 5.0);
	CHECK(ebbi_series_add(&a, 4));
	CHECK(ebbi_series_median(&a) == 3.5);
	CHECK(ebbi_series_add(&b, 5.5));
	CHECK(ebbi_series_apart(&a, &b) && ebbi_series_apart(&b, &a));
	CHECK(ebbi_series_add(&b, 5));
	CHECK(!ebbi_series_apart(&a, &b));
	for (int i = 0; i < SERIES_MAX + 10; i++)
		CHECK_EQ(ebbi_series_add(&b, i), i < SERIES_MAX - 2);
}

static int parse(const char *text, size_t length, struct saved_run *ret_run, char *ret_message)
{
	json_t *root = NULL;
	int error = ebbi_saved_document(text, length, "x.json", &root, ret_message);

	if (error == 0)
		error = ebbi_saved_run(root, "x.json", ret_run, ret_message);
	json_decref(root);
	return error;
}

/* What we write, we read back. */
TEST(saved_and_read)
{
	static struct run_result result;
	static char *argv[] = {"x", NULL};
	char message[SAVED_MESSAGE];
	struct saved_run run;
	json_t *document;
	char *text;

	result = (struct run_result){.label = "mine",
				     .argv = argv,
				     .outcome = OUTCOME_COMPLETE,
				     .load_command = "l",
				     .load_ns = 2500000000,
				     .rest_count = 2,
				     .rest_ns = {1000000000, 5000000000},
				     .user_ns = 1000000000,
				     .system_ns = 500000000};
	strcpy(result.machine.kernel, "6.18");
	strcpy(result.machine.thp, "never");
	result.machine.cpus = 4;
	result.machine.page_bytes = 4096;
	result.peak.source = PEAK_HWM;
	result.peak.bytes = 1ull << 53 | 1; /* a double would lose the last bit */
	for (int i = 0; i < 2; i++)
		result.rest[i] = (struct mark){
			.taken = true, .statm_bytes = 1, .memory = {.processes = 1, .rss_bytes = 100 + (uint64_t)i}};
	document = ebbi_run_json(&result);
	text = ebbi_json_text(document);
	REQUIRE(text != NULL);
	CHECK(strstr(text, "\"bytes\": 9007199254740993") != NULL);
	REQUIRE(parse(text, strlen(text), &run, message) == 0);
	CHECK_STR_EQ(run.label, "mine");
	CHECK_STR_EQ(run.kernel, "6.18");
	CHECK_EQ(run.cpus, 4u);
	CHECK(run.has_load);
	CHECK(!run.known[FIGURE_BOOT]);
	CHECK(run.known[FIGURE_REST_FIRST] && run.figures[FIGURE_REST_FIRST] == 100);
	CHECK(run.known[FIGURE_REST_LAST] && run.figures[FIGURE_REST_LAST] == 101);
	CHECK(run.rest_seconds[0] == 1 && run.rest_seconds[1] == 5);
	CHECK(run.figures[FIGURE_CPU] == 1.5 && run.figures[FIGURE_LOAD] == 2.5);
	/* Cut anywhere: one clear line, never a result. */
	for (size_t length = 0; length + 2 < strlen(text); length += 7) {
		message[0] = 0;
		CHECK_EQ(parse(text, length, &run, message), -EINVAL);
		CHECK(strncmp(message, "x.json:", 7) == 0);
	}
	free(text);
	json_decref(document);
}

TEST(sparkline)
{
	static const struct timeline_point points[] = {{0, 1}, {10, 50}, {20, 100}, {30, 1}, {90, 100}};
	struct timeline_point many[1000];
	char line[SPARKLINE_BYTES];

	ebbi_sparkline(points, 5, 4, line);
	/* 0 to 22 holds the 100; nothing between 31 and 89 but what was before. */
	CHECK_STR_EQ(line, "\xe2\x96\x88\xe2\x96\x81\xe2\x96\x81\xe2\x96\x88");
	ebbi_sparkline(points, 1, 4, line);
	CHECK_STR_EQ(line, "");
	ebbi_sparkline(points, 5, 0, line);
	CHECK_STR_EQ(line, "");
	for (size_t i = 0; i < 1000; i++)
		many[i] = (struct timeline_point){i, UINT64_MAX / 8};
	ebbi_sparkline(many, 1000, 1000, line);
	CHECK_EQ(strlen(line), 3u * SPARKLINE_MOST);
}

int main(void)
{
	RUN(figures);
	RUN(commands);
	RUN(series);
	RUN(saved_and_read);
	RUN(sparkline);
	return check_report();
}
