/* The phases of an experiment on a manual clock. */
#include "lab/phases.h"

#include "check.h"

#define MS 1000000ull
#define S 1000000000ull

static const struct phases_plan plan = {
	.ready_timeout_ns = 30 * S,
	.idle_ns = 300 * MS,
	.idle_limit_ns = 2 * S,
	.grace_ns = 10 * S,
	.last_every_ns = 1 * S,
	.rest_count = 2,
	.rest_ns = {1 * S, 5 * S},
};

static struct phases started(bool has_ready, bool has_load)
{
	struct phases_plan mine = plan;
	struct phases phases;

	mine.has_ready = has_ready;
	mine.has_load = has_load;
	ebbi_phases_start(&phases, &mine, 100 * S);
	return phases;
}

TEST(whole_run_with_load)
{
	struct phases p = started(true, true);

	CHECK_EQ(ebbi_phases_next(&p, 100 * S), LAB_WAIT);
	CHECK_EQ(ebbi_phases_deadline(&p), 130 * S);
	ebbi_phases_ready(&p);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_MARK_BOOT);
	CHECK_EQ(p.boot_by, BOOT_BY_READY);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_START_LOAD);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_WAIT);
	CHECK_EQ(ebbi_phases_deadline(&p), LAB_NEVER);
	ebbi_phases_load_ended(&p, false);
	CHECK_EQ(ebbi_phases_next(&p, 110 * S), LAB_MARK_LOAD_END);
	CHECK_EQ(ebbi_phases_next(&p, 110 * S), LAB_WAIT);
	CHECK_EQ(ebbi_phases_deadline(&p), 111 * S);
	CHECK_EQ(ebbi_phases_next(&p, 111 * S - 1), LAB_WAIT);
	CHECK_EQ(ebbi_phases_next(&p, 111 * S), LAB_MARK_REST);
	CHECK_EQ(ebbi_phases_rest_index(&p), 0u);
	CHECK_EQ(ebbi_phases_next(&p, 111 * S), LAB_WAIT);
	CHECK_EQ(ebbi_phases_deadline(&p), 115 * S);
	CHECK_EQ(ebbi_phases_next(&p, 115 * S), LAB_MARK_REST);
	CHECK_EQ(ebbi_phases_rest_index(&p), 1u);
	CHECK_EQ(ebbi_phases_next(&p, 115 * S), LAB_SEND_TERM);
	CHECK_EQ(ebbi_phases_next(&p, 115 * S), LAB_WAIT);
	CHECK_EQ(ebbi_phases_deadline(&p), 125 * S);
	ebbi_phases_main_ended(&p);
	CHECK_EQ(ebbi_phases_next(&p, 116 * S), LAB_WAIT); /* others of the tree are there still */
	ebbi_phases_all_ended(&p);
	CHECK_EQ(ebbi_phases_next(&p, 116 * S), LAB_FINISH);
	CHECK_EQ(p.outcome, OUTCOME_COMPLETE);
	CHECK_EQ(ebbi_phases_next(&p, 117 * S), LAB_WAIT); /* once */
}

TEST(never_ready)
{
	struct phases p = started(true, true);

	CHECK_EQ(ebbi_phases_next(&p, 130 * S - 1), LAB_WAIT);
	CHECK_EQ(ebbi_phases_next(&p, 130 * S), LAB_SEND_TERM);
	CHECK_EQ(p.outcome, OUTCOME_NOT_READY);
	CHECK_EQ(ebbi_phases_next(&p, 140 * S - 1), LAB_WAIT);
	CHECK_EQ(ebbi_phases_next(&p, 140 * S), LAB_SEND_KILL);
	CHECK_EQ(ebbi_phases_next(&p, 140 * S), LAB_WAIT);
	/* It cannot even be killed (a disk that hangs): that is not waited for forever. */
	CHECK_EQ(ebbi_phases_next(&p, 145 * S), LAB_FINISH);
}

TEST(dies_before_ready)
{
	struct phases p = started(true, false);

	ebbi_phases_main_ended(&p);
	ebbi_phases_all_ended(&p);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_FINISH);
	CHECK_EQ(p.outcome, OUTCOME_DIED_EARLY);
}

TEST(dies_during_load_and_rest)
{
	struct phases p = started(true, true);

	ebbi_phases_ready(&p);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_MARK_BOOT);
	ebbi_phases_main_ended(&p);
	ebbi_phases_all_ended(&p);
	CHECK_EQ(ebbi_phases_next(&p, 102 * S), LAB_FINISH); /* and the load is never started */
	CHECK_EQ(p.outcome, OUTCOME_DIED_LOADED);
}

TEST(load_fails)
{
	struct phases p = started(true, true);

	ebbi_phases_ready(&p);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_MARK_BOOT);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_START_LOAD);
	ebbi_phases_load_ended(&p, true);
	CHECK_EQ(ebbi_phases_next(&p, 102 * S), LAB_MARK_LOAD_END);
	CHECK_EQ(ebbi_phases_next(&p, 102 * S), LAB_SEND_TERM); /* no rest */
	CHECK_EQ(p.outcome, OUTCOME_LOAD_FAILED);
}

TEST(boot_by_idleness)
{
	struct phases p = started(false, true);

	CHECK(ebbi_phases_wants_cpu(&p));
	ebbi_phases_cpu(&p, 100 * S + 100 * MS, 90 * MS, false);
	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 300 * MS), LAB_WAIT);
	ebbi_phases_cpu(&p, 100 * S + 300 * MS, 100 * MS, false); /* a tick is no work */
	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 400 * MS - 1), LAB_WAIT);
	CHECK_EQ(ebbi_phases_deadline(&p), 100 * S + 400 * MS);
	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 400 * MS), LAB_MARK_BOOT);
	CHECK_EQ(p.boot_by, BOOT_BY_IDLE);
	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 400 * MS), LAB_START_LOAD);
	CHECK(!ebbi_phases_wants_cpu(&p));
}

TEST(boot_by_time_when_always_busy)
{
	struct phases p = started(false, false);

	for (uint64_t ms = 100; ms < 2000; ms += 100) {
		ebbi_phases_cpu(&p, 100 * S + ms * MS, ms * MS, false);
		CHECK_EQ(ebbi_phases_next(&p, 100 * S + ms * MS), LAB_WAIT);
	}
	CHECK_EQ(ebbi_phases_next(&p, 102 * S), LAB_MARK_BOOT);
	CHECK_EQ(p.boot_by, BOOT_BY_TIME);
}

TEST(waiting_for_a_cpu_is_no_rest)
{
	struct phases p = started(false, false);

	ebbi_phases_cpu(&p, 100 * S + 250 * MS, 0, true);
	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 400 * MS), LAB_WAIT);
	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 550 * MS), LAB_MARK_BOOT);
}

TEST(cpu_time_that_falls_is_work)
{
	struct phases p = started(false, false);

	ebbi_phases_cpu(&p, 100 * S + 100 * MS, 500 * MS, false);
	ebbi_phases_cpu(&p, 100 * S + 350 * MS, 100 * MS, false); /* a child died that nobody waited for */
	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 400 * MS), LAB_WAIT);
}

TEST(serving_marks_rest_whenever_it_is_idle)
{
	struct phases p = started(false, false);

	CHECK_EQ(ebbi_phases_next(&p, 100 * S + 300 * MS), LAB_MARK_BOOT);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_MARK_REST);
	CHECK_EQ(ebbi_phases_rest_index(&p), 0u);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_MARK_LAST);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_WAIT);
	/* Work, and one second of rest after it: the first mark again. */
	ebbi_phases_cpu(&p, 103 * S, 900 * MS, false);
	CHECK_EQ(ebbi_phases_next(&p, 103 * S), LAB_MARK_LAST);
	CHECK_EQ(ebbi_phases_next(&p, 103 * S), LAB_WAIT);
	CHECK_EQ(ebbi_phases_deadline(&p), 104 * S);
	CHECK_EQ(ebbi_phases_next(&p, 104 * S), LAB_MARK_REST);
	CHECK_EQ(ebbi_phases_rest_index(&p), 0u);
	ebbi_phases_main_ended(&p);
	ebbi_phases_all_ended(&p);
	CHECK_EQ(ebbi_phases_next(&p, 105 * S), LAB_FINISH);
	CHECK_EQ(p.outcome, OUTCOME_ENDED);
}

TEST(asked_to_stop)
{
	struct phases p = started(true, true);

	ebbi_phases_ready(&p);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_MARK_BOOT);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_START_LOAD);
	ebbi_phases_stop(&p, false);
	CHECK_EQ(ebbi_phases_next(&p, 102 * S), LAB_SEND_TERM);
	CHECK_EQ(p.outcome, OUTCOME_INTERRUPTED);
	CHECK_EQ(ebbi_phases_next(&p, 102 * S), LAB_WAIT);
	/* Asked again: at once. */
	ebbi_phases_stop(&p, false);
	CHECK_EQ(ebbi_phases_next(&p, 102 * S), LAB_SEND_KILL);
}

TEST(asked_to_stop_by_a_term_that_was_passed_on)
{
	struct phases p = started(false, false);

	ebbi_phases_stop(&p, true);
	CHECK_EQ(ebbi_phases_next(&p, 101 * S), LAB_WAIT); /* no second SIGTERM */
	CHECK_EQ(ebbi_phases_next(&p, 111 * S), LAB_SEND_KILL);
	ebbi_phases_all_ended(&p);
	CHECK_EQ(ebbi_phases_next(&p, 111 * S), LAB_FINISH);
	CHECK_EQ(p.outcome, OUTCOME_ENDED);
}

int main(void)
{
	RUN(whole_run_with_load);
	RUN(never_ready);
	RUN(dies_before_ready);
	RUN(dies_during_load_and_rest);
	RUN(load_fails);
	RUN(boot_by_idleness);
	RUN(boot_by_time_when_always_busy);
	RUN(waiting_for_a_cpu_is_no_rest);
	RUN(cpu_time_that_falls_is_work);
	RUN(serving_marks_rest_whenever_it_is_idle);
	RUN(asked_to_stop);
	RUN(asked_to_stop_by_a_term_that_was_passed_on);
	return check_report();
}
