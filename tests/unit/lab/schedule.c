/* When a request is meant to be sent, which rate is tried next, and quantiles of what came of it. */
#include "lab/schedule.h"

#include "check.h"
#include "lab/ladder.h"
#include "lab/latency.h"

#define SECOND 1000000000ull

TEST(as_many_as_the_rate_says)
{
	struct schedule schedule;

	ebbi_schedule_start(&schedule, 20000, 10 * SECOND, 5);
	CHECK_EQ(schedule.total, 200000u);
	ebbi_schedule_start(&schedule, 3, SECOND / 2, 5);
	CHECK_EQ(schedule.total, 1u);
	ebbi_schedule_start(&schedule, 1, SECOND / 100, 5);
	CHECK_EQ(schedule.total, 1u);
	ebbi_schedule_start(&schedule, SCHEDULE_RATE_MOST, 3600 * SECOND, 5);
	CHECK_EQ(schedule.total, 3600000000u);
}

TEST(due_agrees_with_time_to_the_nanosecond)
{
	const uint64_t rates[] = {1, 3, 7, 999, 1000, 20000, 333333, SCHEDULE_RATE_MOST};
	struct schedule schedule;

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		ebbi_schedule_start(&schedule, rates[r], 10 * SECOND, 12345);
		CHECK_EQ(ebbi_schedule_due(&schedule, 12344), 0u);
		CHECK_EQ(ebbi_schedule_due(&schedule, 12345), 1u);
		for (uint64_t i = 1; i < schedule.total; i += 1 + schedule.total / 100) {
			uint64_t at_ns = ebbi_schedule_time(&schedule, i);

			CHECK_EQ(ebbi_schedule_due(&schedule, at_ns - 1), i);
			CHECK_EQ(ebbi_schedule_due(&schedule, at_ns), i + 1);
		}
		CHECK_EQ(ebbi_schedule_due(&schedule, 100 * SECOND), schedule.total);
	}
}

/* Nobody took any for a second: they are all still there, with the times that were meant. */
TEST(a_stall_loses_no_request)
{
	struct schedule schedule;
	uint64_t request = 0, taken = 0;

	ebbi_schedule_start(&schedule, 1000, 2 * SECOND, SECOND);
	CHECK(!ebbi_schedule_take(&schedule, SECOND - 1, &request));
	while (ebbi_schedule_take(&schedule, 2 * SECOND, &request))
		CHECK_EQ(request, taken++);
	CHECK_EQ(taken, 1001u);
	CHECK_EQ(ebbi_schedule_time(&schedule, 500), SECOND + SECOND / 2);
	CHECK_EQ(ebbi_schedule_next(&schedule), 2 * SECOND + SECOND / 1000);
	while (ebbi_schedule_take(&schedule, 4 * SECOND, &request))
		taken++;
	CHECK_EQ(taken, 2000u);
	CHECK_EQ(ebbi_schedule_next(&schedule), SCHEDULE_NEVER);
}

TEST(those_who_waited_too_long_are_given_up)
{
	struct schedule schedule;
	uint64_t request;

	ebbi_schedule_start(&schedule, 1000, 10 * SECOND, 10 * SECOND);
	CHECK_EQ(ebbi_schedule_expire(&schedule, 11 * SECOND, 5 * SECOND), 0u);
	/* At 16 s those of the first second have waited for five and more. */
	CHECK_EQ(ebbi_schedule_expire(&schedule, 16 * SECOND, 5 * SECOND), 1001u);
	CHECK_EQ(ebbi_schedule_expire(&schedule, 16 * SECOND, 5 * SECOND), 0u);
	CHECK(ebbi_schedule_take(&schedule, 16 * SECOND, &request));
	CHECK_EQ(request, 1001u);
	CHECK_EQ(ebbi_schedule_expire(&schedule, 60 * SECOND, 5 * SECOND), 10000u - 1002u);
	CHECK_EQ(ebbi_schedule_next(&schedule), SCHEDULE_NEVER);
}

/* --- The ladder -------------------------------------------------------------------------- */

/* What is tried for a server that serves up to `capacity`. */
static size_t climb(struct ladder *ladder, uint64_t capacity, uint64_t *ret_tried)
{
	size_t count = 0;
	uint64_t rate;

	while (count < LADDER_RATES && ebbi_ladder_next(ladder, &rate)) {
		ret_tried[count++] = rate;
		ebbi_ladder_tell(ladder, rate, rate <= capacity);
	}
	return count;
}

TEST(up_until_the_knee_then_between)
{
	const uint64_t rates[] = {40000, 5000, 20000, 10000, 20000, 80000};
	uint64_t tried[LADDER_RATES];
	struct ladder ladder;

	ebbi_ladder_start(&ladder, rates, 6, 2);
	CHECK_EQ(climb(&ladder, 32000, tried), 6u);
	CHECK_EQ(tried[0], 5000u);
	CHECK_EQ(tried[1], 10000u);
	CHECK_EQ(tried[2], 20000u);
	CHECK_EQ(tried[3], 40000u);
	CHECK_EQ(tried[4], 30000u);
	CHECK_EQ(tried[5], 35000u);
	CHECK_EQ(ladder.good, 30000u);
	CHECK_EQ(ladder.bad, 35000u);
}

TEST(no_knee_no_steps)
{
	const uint64_t rates[] = {1, 2, 3};
	uint64_t tried[LADDER_RATES];
	struct ladder ladder;

	ebbi_ladder_start(&ladder, rates, 3, 5);
	CHECK_EQ(climb(&ladder, 3, tried), 3u);
	CHECK_EQ(ladder.good, 3u);
	CHECK_EQ(ladder.bad, 0u);
}

TEST(below_the_lowest_when_even_that_is_too_much)
{
	const uint64_t rates[] = {1000};
	uint64_t tried[LADDER_RATES];
	struct ladder ladder;

	ebbi_ladder_start(&ladder, rates, 1, 3);
	CHECK_EQ(climb(&ladder, 300, tried), 4u);
	CHECK_EQ(tried[1], 500u);
	CHECK_EQ(tried[2], 250u);
	CHECK_EQ(tried[3], 370u);
	CHECK_EQ(ladder.good, 250u);
}

TEST(it_ends_where_nothing_lies_between)
{
	uint64_t tried[LADDER_RATES];

	for (uint64_t bad = 1; bad < 3000; bad++) {
		const uint64_t rates[] = {bad / 2 + 1, bad + 1};
		struct ladder ladder;

		ebbi_ladder_start(&ladder, rates, 2, 30);
		CHECK(climb(&ladder, bad, tried) < 20);
		CHECK(ladder.good == 0 || ladder.bad == 0 || ladder.good < ladder.bad);
	}
}

/* --- Latency ----------------------------------------------------------------------------- */

static struct latency latency;

TEST(nothing_has_no_quantile)
{
	latency = (struct latency){0};
	CHECK_EQ(ebbi_latency_quantile(&latency, 0.99), 0u);
}

/* Against a sorted list: never below, and above by less than 1 in 128 or a microsecond. */
TEST(quantiles_are_near_and_never_too_low)
{
	const double shares[] = {0.001, 0.01, 0.5, 0.9, 0.99, 0.999, 1};
	const uint64_t count = 100000;

	latency = (struct latency){0};
	/* Squares, from a microsecond to ten seconds: each decade has its values. */
	for (uint64_t i = 1; i <= count; i++)
		ebbi_latency_add(&latency, i * i);
	CHECK_EQ(latency.count, count);
	CHECK_EQ(latency.most_ns, count * count);
	for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
		uint64_t rank = (uint64_t)(shares[s] * (double)count + 0.5);
		uint64_t exact_ns = rank * rank;
		uint64_t ns = ebbi_latency_quantile(&latency, shares[s]);

		CHECK(ns >= exact_ns);
		CHECK(ns <= exact_ns + exact_ns / 128 + 1000);
	}
	CHECK_EQ(ebbi_latency_quantile(&latency, 1), latency.most_ns);
}

TEST(what_is_too_long_still_counts)
{
	latency = (struct latency){0};
	ebbi_latency_add(&latency, 1000);
	ebbi_latency_add(&latency, UINT64_MAX);
	CHECK_EQ(latency.count, 2u);
	CHECK_EQ(ebbi_latency_quantile(&latency, 1), UINT64_MAX);
	CHECK(ebbi_latency_quantile(&latency, 0.5) <= 2000);
}

int main(void)
{
	RUN(as_many_as_the_rate_says);
	RUN(due_agrees_with_time_to_the_nanosecond);
	RUN(a_stall_loses_no_request);
	RUN(those_who_waited_too_long_are_given_up);
	RUN(up_until_the_knee_then_between);
	RUN(no_knee_no_steps);
	RUN(below_the_lowest_when_even_that_is_too_much);
	RUN(it_ends_where_nothing_lies_between);
	RUN(nothing_has_no_quantile);
	RUN(quantiles_are_near_and_never_too_low);
	RUN(what_is_too_long_still_counts);
	return check_report();
}
