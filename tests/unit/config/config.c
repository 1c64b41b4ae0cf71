/* EBB_CONF: texts, what they mean, and what is said about them. */
#include "config/config.h"

#include "check.h"

#define SECOND 1000000000ull

static char said[16][400];
static unsigned said_count;

static void complain(const char *line, size_t length)
{
	if (said_count < 16)
		snprintf(said[said_count], sizeof(said[0]), "%.*s", (int)length, line);
	said_count++;
}

static struct ebbi_config parse(const char *text)
{
	struct ebbi_config config;

	said_count = 0;
	ebbi_config_defaults(&config);
	ebbi_config_parse(&config, text, complain);
	return config;
}

TEST(defaults)
{
	struct ebbi_config config = parse(NULL);

	CHECK_EQ(said_count, 0u);
	CHECK_EQ(config.delay, SECOND);
	CHECK_EQ(config.scavenger, 1u);
	CHECK_EQ(config.purge, 1u);
	CHECK_EQ(config.membarrier, 1u);
	CHECK_EQ(config.hugepages, (uint64_t)EBB_HUGEPAGES_DEFAULT);
	CHECK_EQ(config.stats, 0u);
	CHECK_EQ(config.zero_on_free, 0u);
	CHECK_EQ(config.check, (uint64_t)EBB_CHECK_BASIC);
}

TEST(texts_without_anything)
{
	static const char *const texts[] = {"", ",", " , ,\t,", ",,,,", "   "};
	struct ebbi_config standard = parse(NULL);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ebbi_config config = parse(texts[i]);

		CHECK_EQ(said_count, 0u);
		CHECK_MEM_EQ(&config, &standard, sizeof(config));
	}
}

TEST(times)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{"delay:0", 0},
		{"delay:0s", 0},
		{"delay:1ns", 1},
		{"delay:7us", 7000},
		{"delay:100ms", 100000000},
		{"delay:2s", 2 * SECOND},
		{"delay:5m", 300 * SECOND},
		{"delay:1440m", 86400 * SECOND},
		{"delay:86400s", 86400 * SECOND},
		{" delay : 3s ", 3 * SECOND},
		{"delay:3s,delay:4s", 4 * SECOND},
		{"delay:0003s", 3 * SECOND},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_EQ(parse(rows[i].text).delay, rows[i].ns);
		CHECK_EQ(said_count, 0u);
	}
}

TEST(words)
{
	static const char *const yes[] = {"1", "true", "on", "yes"};
	static const char *const no[] = {"0", "false", "off", "no"};
	char text[64];

	for (size_t i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "stats:%s,purge:%s", yes[i], no[i]);
		CHECK_EQ(parse(text).stats, 1u);
		CHECK_EQ(parse(text).purge, 0u);
		CHECK_EQ(said_count, 0u);
	}
	CHECK_EQ(parse("stats").stats, 1u);
	CHECK_EQ(parse("stats:0, hardened ,delay:0").hardened, 1u);
	CHECK_EQ(said_count, 0u);
	CHECK_EQ(parse("hugepages:off").hugepages, (uint64_t)EBB_HUGEPAGES_OFF);
	CHECK_EQ(parse("hugepages:on").hugepages, (uint64_t)EBB_HUGEPAGES_ON);
	CHECK_EQ(parse("hugepages:on,hugepages:default").hugepages, (uint64_t)EBB_HUGEPAGES_DEFAULT);
	CHECK_EQ(parse("check:full").check, (uint64_t)EBB_CHECK_FULL);
	CHECK_EQ(said_count, 0u);
}

/* The value is wrong: the default stays, and one line says what was expected. */
TEST(wrong_values)
{
	static const char *const texts[] = {
		"delay:",
		"delay",
		"delay:5",
		"delay:1.5s",
		"delay:-1s",
		"delay:1 s",
		"delay:1S",
		"delay:1h",
		"delay:s",
		"delay:1441m",
		"delay:99999999999999999999s",
		"delay:18446744073709551616ns",
		"delay:18446744073709551615m",
		"delay:0x10s",
		"delay:1s2s",
		"stats:2",
		"stats:",
		"stats:TRUE",
		"stats:1:1",
		"hugepages:1",
		"hugepages:",
		"check:all",
		"check:",
	};
	struct ebbi_config standard = parse(NULL);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ebbi_config config = parse(texts[i]);

		if (said_count != 1)
			CHECK_FAIL("%s: %u complaints", texts[i], said_count);
		CHECK_MEM_EQ(&config, &standard, sizeof(config));
		CHECK(strstr(said[0], "EBB_CONF: ") == said[0]);
		CHECK(strstr(said[0], "; the default is used") != NULL);
	}
	(void)parse("delay:soon");
	CHECK_STR_EQ(said[0],
		     "EBB_CONF: delay cannot be 'soon'; expected a time such as 0, 100ms or 2s; the default is used");
	(void)parse("check:maybe");
	CHECK_STR_EQ(said[0], "EBB_CONF: check cannot be 'maybe'; expected one of basic, full; the default is used");
}

TEST(unknown_keys)
{
	struct ebbi_config config = parse("delai:1s,stats:1,: ,:1,DELAY:1s,delay2:1s");

	CHECK_EQ(said_count, 5u);
	CHECK_EQ(config.stats, 1u);
	CHECK_EQ(config.delay, SECOND);
	CHECK_STR_EQ(said[0], "EBB_CONF: unknown key 'delai' is ignored; known: delay, scavenger, purge, membarrier, "
			      "hugepages, budget, on_limit, sample, stats, zero_on_free, check, hardened");
}

/* A value that is wrong does not undo one that was right. */
TEST(the_last_right_value_stays)
{
	CHECK_EQ(parse("delay:3s,delay:x").delay, 3 * SECOND);
	CHECK_EQ(said_count, 1u);
}

TEST(foreign_text_is_quoted_safely)
{
	char text[2000];

	(void)parse("\x1b[31m\n:\x80\xff");
	CHECK_EQ(said_count, 1u);
	for (const char *at = said[0]; *at != '\0'; at++)
		CHECK(*at >= ' ' && *at <= '~');
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)parse(text);
	CHECK_EQ(said_count, 1u);
	CHECK(strstr(said[0], "xxx...' is ignored") != NULL);
	CHECK_LT(strlen(said[0]), 330u);
	memcpy(text, "delay:", 6);
	(void)parse(text);
	CHECK_EQ(said_count, 1u);
	CHECK_LT(strlen(said[0]), 330u);
}

TEST(not_more_than_eight_complaints)
{
	struct ebbi_config config = parse("a:1,b:1,c:1,d:1,e:1,f:1,g:1");

	CHECK_EQ(said_count, 7u);
	config = parse("a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1,j:1,stats:1");
	CHECK_EQ(said_count, 9u);
	CHECK_STR_EQ(said[8], "EBB_CONF: more of it is wrong; the rest is ignored");
	CHECK_EQ(config.stats, 0u);
}

TEST(budgets)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{"budget:256M", 256ull << 20},
		{"budget:0", 0},
		{"budget:1M", 1ull << 20},
		{"budget:auto", EBB_BUDGET_AUTO},
		{"budget:50%", EBB_BUDGET_SHARE + 50},
		{"budget:100%", EBB_BUDGET_SHARE + 100},
		{"budget:1%,budget: 2G ", 2ull << 30},
	};
	static const char *const bad[] = {"budget:",
					  "budget",
					  "budget:0%",
					  "budget:101%",
					  "budget:%",
					  "budget:5K%",
					  "budget:100K",
					  "budget:-1M",
					  "budget:Auto",
					  "budget:1T",
					  "budget:99999999999999999999M",
					  "budget:300000G"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_EQ(parse(good[i].text).budget, good[i].value);
		CHECK_EQ(said_count, 0u);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(parse(bad[i]).budget, 0u);
		CHECK_EQ(said_count, 1u);
	}
	(void)parse("budget:lots");
	CHECK_STR_EQ(
		said[0],
		"EBB_CONF: budget cannot be 'lots'; expected a size of 1M or more such as 256M, a share such as 50%, "
		"auto or 0; the default is used");
	CHECK_EQ(parse("on_limit:abort").on_limit, (uint64_t)EBB_ON_LIMIT_ABORT);
	CHECK_EQ(parse("on_limit:log").on_limit, (uint64_t)EBB_ON_LIMIT_LOG);
}

int main(void)
{
	RUN(defaults);
	RUN(texts_without_anything);
	RUN(times);
	RUN(words);
	RUN(wrong_values);
	RUN(unknown_keys);
	RUN(the_last_right_value_stays);
	RUN(foreign_text_is_quoted_safely);
	RUN(not_more_than_eight_complaints);
	RUN(budgets);
	return check_report();
}
