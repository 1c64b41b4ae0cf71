/* Where the line is, and what follows from being near it. */
#include "policy/budget.h"

#include "check.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

TEST(line_from_limits)
{
	CHECK_EQ(ebbi_policy_budget_auto(UINT64_MAX, 8 * GIB), 4 * GIB);
	CHECK_EQ(ebbi_policy_budget_auto(8 * GIB, 8 * GIB), 4 * GIB);
	/* A twentieth, but 16 MiB at least, and half of a limit that is smaller still. */
	CHECK_EQ(ebbi_policy_budget_auto(2000 * MIB, 8 * GIB), 1900 * MIB);
	CHECK_EQ(ebbi_policy_budget_auto(256 * MIB, 8 * GIB), 240 * MIB);
	CHECK_EQ(ebbi_policy_budget_auto(320 * MIB, 8 * GIB), 304 * MIB);
	CHECK_EQ(ebbi_policy_budget_auto(20 * MIB, 8 * GIB), 10 * MIB);
	CHECK_EQ(ebbi_policy_budget_auto(0, 8 * GIB), 0u);
	/* A machine that does not say what it has. */
	CHECK_EQ(ebbi_policy_budget_auto(UINT64_MAX, UINT64_MAX), UINT64_MAX / 2);
}

TEST(pressure)
{
	CHECK_EQ(ebbi_policy_pressure(0, 0), 0u);
	CHECK_EQ(ebbi_policy_pressure(100, 0), 0u);
	CHECK_EQ(ebbi_policy_pressure(0, 1000), 0u);
	CHECK_EQ(ebbi_policy_pressure(799, 1000), 799u);
	CHECK_EQ(ebbi_policy_pressure(999999, 1000000), 999u);
	CHECK_EQ(ebbi_policy_pressure(1000, 1000), 1000u);
	CHECK_EQ(ebbi_policy_pressure(5000, 1000), 1000u);
	CHECK(!ebbi_policy_budget_exact(ebbi_policy_pressure(499, 1000)));
	CHECK(ebbi_policy_budget_exact(ebbi_policy_pressure(500, 1000)));
	CHECK_EQ(ebbi_policy_pressure((size_t)1 << 52, (size_t)1 << 53), 500u);
}

TEST(what_is_kept)
{
	CHECK_EQ(ebbi_policy_under_pressure(1000, 0), 1000u);
	CHECK_EQ(ebbi_policy_under_pressure(1000, 800), 1000u);
	CHECK_EQ(ebbi_policy_under_pressure(1000, 900), 500u);
	CHECK_EQ(ebbi_policy_under_pressure(1000, 1000), 0u);
	CHECK_EQ(ebbi_policy_under_pressure(0, 900), 0u);
	for (unsigned pressure = 0; pressure < 1000; pressure++)
		CHECK_GE(ebbi_policy_under_pressure(1 << 20, pressure),
			 ebbi_policy_under_pressure(1 << 20, pressure + 1));
}

TEST(steps)
{
	CHECK_EQ(ebbi_policy_budget_step(1 << 20), EBBI_BUDGET_STEP_PAGES);
	CHECK_EQ(ebbi_policy_budget_step(800), 100u);
	CHECK_EQ(ebbi_policy_budget_step(0), EBBI_BUDGET_STEP_LEAST);
	CHECK_EQ(ebbi_policy_budget_reserve(65536), 1024u);
	CHECK_EQ(ebbi_policy_budget_reserve((size_t)1 << 30), 4096u);
	CHECK_EQ(ebbi_policy_budget_reserve(16384), 512u);
	CHECK_EQ(ebbi_policy_budget_reserve(800), 100u);
	CHECK(ebbi_policy_budget_stays_open(65536, 65536));
	CHECK(ebbi_policy_budget_stays_open(65536 - 2047, 65536));
	CHECK(!ebbi_policy_budget_stays_open(65536 - 2048, 65536));
}

int main(void)
{
	RUN(line_from_limits);
	RUN(pressure);
	RUN(what_is_kept);
	RUN(steps);
	return check_report();
}
