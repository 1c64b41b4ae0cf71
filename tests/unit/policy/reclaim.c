/* When it is worth giving everything back before an allocation is refused. */
#include "policy/reclaim.h"

#include "check.h"

#define MS UINT64_C(1000000)

TEST(first)
{
	struct ebbi_reclaim_last last = {0};

	CHECK(ebbi_policy_reclaim_is_due(&last, 0, 0, 1));
	CHECK(ebbi_policy_reclaim_is_due(&last, 5 * MS, 1000, 100000));
}

/* One that gave what was wanted may be followed by the next at once. */
TEST(after_success)
{
	struct ebbi_reclaim_last last = {.end_ns = 50 * MS, .took_ns = 10 * MS, .free_pages = 1000, .vain = false};

	CHECK(ebbi_policy_reclaim_is_due(&last, 50 * MS, 1000, 10));
}

TEST(after_a_vain_one)
{
	struct ebbi_reclaim_last last = {.end_ns = 50 * MS, .took_ns = 10 * MS, .free_pages = 1000, .vain = true};

	CHECK(!ebbi_policy_reclaim_is_due(&last, 50 * MS, 1000, 10));
	CHECK(!ebbi_policy_reclaim_is_due(&last, 149 * MS, 1000, 10));
	CHECK(ebbi_policy_reclaim_is_due(&last, 150 * MS, 1000, 10));
	/* Or when what is wanted now has become free. */
	CHECK(!ebbi_policy_reclaim_is_due(&last, 51 * MS, 1009, 10));
	CHECK(ebbi_policy_reclaim_is_due(&last, 51 * MS, 1010, 10));
	CHECK(!ebbi_policy_reclaim_is_due(&last, 51 * MS, 0, 10));
}

int main(void)
{
	RUN(first);
	RUN(after_success);
	RUN(after_a_vain_one);
	return check_report();
}
