/* The parser of flags.def. */
#include "cli/options.h"

#include <errno.h>

#include "check.h"

static int parse_run(char **argv, struct run_options *options, char ***rest, bool *help, char *message)
{
	return ebbi_options_parse(ebbi_verb_find("run"), argv, options, rest, help, message);
}

TEST(presets)
{
	char *argv[] = {"run", "true", NULL};
	char message[OPTIONS_MESSAGE], **rest;
	struct run_options options;
	bool help;

	REQUIRE(parse_run(argv, &options, &rest, &help, message) == 0);
	CHECK_STR_EQ(options.allocator, "ebb");
	CHECK(options.load == NULL && options.save == NULL && !options.json && !options.bytes);
	CHECK_EQ(options.rest, 5000000000u);
	CHECK_EQ(options.ready_timeout, 30000000000u);
	CHECK_EQ(options.grace, 10000000000u);
	CHECK(!help);
	CHECK(rest == argv + 1);
}

TEST(every_form)
{
	char *argv[] = {"run",    "--rest", "1s", "--rest=250ms", "--json", "--load=a=b",
			"--save", "",       "--", "--json",       NULL};
	char message[OPTIONS_MESSAGE], **rest;
	struct run_options options;
	bool help;

	REQUIRE(parse_run(argv, &options, &rest, &help, message) == 0);
	CHECK_EQ(options.rest, 250000000u); /* the last one counts */
	CHECK_STR_EQ(options.load, "a=b");
	CHECK_STR_EQ(options.save, "");
	CHECK(options.json);
	CHECK_STR_EQ(rest[0], "--json");
}

TEST(end_of_flags)
{
	char *dash[] = {"run", "-", "x", NULL};
	char *nothing[] = {"run", "--bytes", NULL};
	char *help_wanted[] = {"run", "--bytes", "--help", "--nonsense", NULL};
	char message[OPTIONS_MESSAGE], **rest;
	struct run_options options;
	bool help;

	REQUIRE(parse_run(dash, &options, &rest, &help, message) == 0);
	CHECK_STR_EQ(rest[0], "-");
	REQUIRE(parse_run(nothing, &options, &rest, &help, message) == 0);
	CHECK(rest[0] == NULL);
	REQUIRE(parse_run(help_wanted, &options, &rest, &help, message) == 0);
	CHECK(help);
}

TEST(operands_before_flags)
{
	char *argv[] = {"report", "a", "--json", "b", "--", "--bytes", NULL};
	char message[OPTIONS_MESSAGE], **rest;
	struct report_options options;
	bool help;

	REQUIRE(ebbi_options_parse(ebbi_verb_find("report"), argv, &options, &rest, &help, message) == 0);
	CHECK(options.json && !options.bytes);
	CHECK_STR_EQ(rest[0], "a");
	CHECK_STR_EQ(rest[1], "b");
	CHECK_STR_EQ(rest[2], "--bytes");
	CHECK(rest[3] == NULL);
}

TEST(errors)
{
	static char *const wrong[][3] = {
		{"run", "--nonsense", NULL}, {"run", "--rest", NULL},   {"run", "--json=1", NULL},
		{"run", "-j", NULL},         {"run", "--rest=x", NULL}, {"run", "--res", NULL},
		{"run", "---json", NULL},    {"run", "--=", NULL},      {"run", "--json=", NULL},
	};
	char message[OPTIONS_MESSAGE], **rest;
	struct run_options options;
	bool help;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		message[0] = 0;
		CHECK_EQ(parse_run((char **)wrong[i], &options, &rest, &help, message), -EINVAL);
		CHECK(message[0] != 0);
	}
}

TEST(times)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"0", 0},
		    {"5", 5000000000},
		    {"5s", 5000000000},
		    {"500ms", 500000000},
		    {"1.5s", 1500000000},
		    {"2m", 120000000000},
		    {"1h", 3600000000000},
		    {"0.25", 250000000}};
	static const char *const bad[] = {"",   "s",  "-1",  "+1",  ".5",   "1 s",  "5x",
					  "5 ", " 5", "inf", "nan", "1e99", "0x10", "1000h"};
	uint64_t ns;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		REQUIRE(ebbi_parse_time(good[i].text, &ns));
		CHECK_EQ(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!ebbi_parse_time(bad[i], &ns));
}

TEST(nearest)
{
	CHECK_STR_EQ(ebbi_verb_nearest("rn"), "run");
	CHECK_STR_EQ(ebbi_verb_nearest("reprot"), "report");
	CHECK(ebbi_verb_nearest("xyzzy") == NULL);
	CHECK(ebbi_verb_nearest("a-word-of-more-than-thirty-one-letters") == NULL);
	CHECK(ebbi_verb_find("ru") == NULL);
}

int main(void)
{
	RUN(presets);
	RUN(every_form);
	RUN(end_of_flags);
	RUN(operands_before_flags);
	RUN(errors);
	RUN(times);
	RUN(nearest);
	return check_report();
}
