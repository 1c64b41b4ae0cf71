/* When to look: ticks and samples in a table, no clock. */
#include "policy/decay.h"

#include "check.h"

TEST(tick_lengths)
{
	static const struct {
		uint64_t delay_ns;
		uint64_t tick_ns;
	} rows[] = {
		{0, 10000000},        {1, 10000000},           {20000000, 10000000},
		{20000002, 10000001}, {1000000000, 500000000}, {86400000000000, 43200000000000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(ebbi_decay_tick_ns(rows[i].delay_ns), rows[i].tick_ns);
}

/* A process of which so much happens each tick. */
struct life {
	uint64_t operations;
	uint64_t refaults;
	uint64_t purged;
};

/* Of `ticks` ticks of such a life, so many looked. Goes on where the last call stopped. */
static unsigned looks(struct ebbi_decay *decay, struct ebbi_decay_sample *now, struct life life, unsigned ticks)
{
	unsigned count = 0;

	for (unsigned i = 0; i < ticks; i++) {
		now->operations += life.operations;
		now->refault_pages += life.refaults;
		now->purged_pages += life.purged;
		count += ebbi_decay_is_due(decay, now);
		CHECK_LE(decay->shift, EBBI_DECAY_SHIFT_MOST);
	}
	return count;
}

TEST(without_refaults_every_tick)
{
	static const struct life lives[] = {{0, 0, 0}, {10000, 0, 1000}, {1000000, 10, 10}, {1000, 60, 100000}};

	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct ebbi_decay decay = {0};
		struct ebbi_decay_sample now = {0};

		CHECK_EQ(looks(&decay, &now, lives[i], 100), 100u);
		CHECK_EQ(decay.shift, 0u);
	}
}

TEST(a_working_server_that_refaults_is_left_alone)
{
	static const struct life refaulting = {.operations = 10000, .refaults = 1000, .purged = 1000};
	struct ebbi_decay decay = {0};
	struct ebbi_decay_sample now = {0};

	/* The distance grows fourfold to 64 ticks and stays there: looks at 1, 5, 21 and 85. */
	CHECK_EQ(looks(&decay, &now, refaulting, 21), 3u);
	CHECK_EQ(decay.shift, EBBI_DECAY_SHIFT_MOST);
	CHECK_EQ(looks(&decay, &now, refaulting, 640), 10u);
	/* It still works, but nothing comes back any more: every tick again, step by step. */
	(void)looks(&decay, &now, (struct life){10000, 0, 1000}, 128);
	CHECK_EQ(decay.shift, 0u);
	CHECK_EQ(looks(&decay, &now, (struct life){10000, 0, 1000}, 10), 10u);
}

/* So little work that the looks themselves are much of it, and next to nothing to give back. */
TEST(little_work_is_not_looked_at_often)
{
	struct ebbi_decay decay = {0};
	struct ebbi_decay_sample now = {0};

	(void)looks(&decay, &now, (struct life){60, 2, 2}, 100);
	CHECK_GE(decay.shift, 4u);
	CHECK_LE(looks(&decay, &now, (struct life){60, 2, 2}, 640), 40u);
	/* As little work, but much to give back: that is worth it. */
	(void)looks(&decay, &now, (struct life){60, 2, 1000}, 200);
	CHECK_EQ(decay.shift, 0u);
}

TEST(at_rest_every_tick_whatever_was_before)
{
	struct ebbi_decay decay = {0};
	struct ebbi_decay_sample now = {0};

	(void)looks(&decay, &now, (struct life){10000, 1000, 1000}, 40);
	CHECK_EQ(decay.shift, EBBI_DECAY_SHIFT_MOST);
	CHECK_EQ(looks(&decay, &now, (struct life){0, 0, 100}, 5), 5u);
	CHECK_EQ(looks(&decay, &now, (struct life){3, 0, 0}, 5), 5u); /* a heartbeat */
	CHECK_EQ(looks(&decay, &now, (struct life){0, 1000, 1000}, 5), 5u);
	CHECK_EQ(decay.shift, EBBI_DECAY_SHIFT_MOST); /* it may go on as it was */
}

TEST(far_less_work_than_usual_is_rest)
{
	struct ebbi_decay decay = {0};
	struct ebbi_decay_sample now = {0};

	(void)looks(&decay, &now, (struct life){8000, 1000, 1000}, 100);
	CHECK_EQ(decay.shift, EBBI_DECAY_SHIFT_MOST);
	/* A tenth of it: rest, for so long as it takes to get used to that. */
	CHECK_EQ(looks(&decay, &now, (struct life){400, 0, 0}, 5), 5u);
	(void)looks(&decay, &now, (struct life){400, 100, 100}, 200);
	CHECK_LE(looks(&decay, &now, (struct life){400, 100, 100}, 128), 2u);
}

TEST(a_burst_is_not_waited_with)
{
	struct ebbi_decay decay = {0};
	struct ebbi_decay_sample now = {.owed_pages = 1000};

	(void)looks(&decay, &now, (struct life){10000, 1000, 1000}, 100);
	CHECK_EQ(decay.shift, EBBI_DECAY_SHIFT_MOST);
	CHECK_EQ(looks(&decay, &now, (struct life){10000, 0, 0}, 10), 0u);
	now.owed_pages = 3000; /* the large requests of a busy minute */
	CHECK_EQ(looks(&decay, &now, (struct life){10000, 0, 0}, 10), 0u);
	now.owed_pages = 20000;
	CHECK_EQ(looks(&decay, &now, (struct life){10000, 0, 0}, 2), 2u);
	now.owed_pages = 1000;
	CHECK_EQ(looks(&decay, &now, (struct life){10000, 0, 0}, 5), 0u);
	/* What stays is not a burst for ever: an ordinary look takes it for usual. */
	now.owed_pages = 20000;
	(void)looks(&decay, &now, (struct life){10000, 1000, 1000}, 64);
	CHECK_EQ(looks(&decay, &now, (struct life){10000, 1000, 1000}, 10), 0u);
}

TEST(quiet)
{
	struct ebbi_decay decay = {0};
	struct ebbi_decay_sample now = {0};

	(void)looks(&decay, &now, (struct life){10000, 0, 1000}, 1);
	CHECK(!ebbi_decay_is_quiet(&decay));
	(void)looks(&decay, &now, (struct life){0, 0, 0}, 1);
	CHECK(ebbi_decay_is_quiet(&decay));
	(void)looks(&decay, &now, (struct life){1, 0, 0}, 1);
	CHECK(!ebbi_decay_is_quiet(&decay));
	/* A damped one has to be for two ticks. */
	(void)looks(&decay, &now, (struct life){10000, 1000, 1000}, 40);
	(void)looks(&decay, &now, (struct life){0, 0, 0}, 1);
	CHECK(!ebbi_decay_is_quiet(&decay));
	(void)looks(&decay, &now, (struct life){0, 0, 0}, 1);
	CHECK(ebbi_decay_is_quiet(&decay));
}

TEST(neither_much_nor_little_changes_nothing)
{
	struct ebbi_decay decay = {.shift = 2};
	struct ebbi_decay_sample now = {0};

	/* About a tenth of what went in two looks comes back. */
	(void)looks(&decay, &now, (struct life){10000, 200, 1000}, 8);
	CHECK_EQ(decay.shift, 2u);
	(void)looks(&decay, &now, (struct life){10000, 200, 1000}, 40);
	CHECK_EQ(decay.shift, 2u);
}

int main(void)
{
	RUN(tick_lengths);
	RUN(without_refaults_every_tick);
	RUN(a_working_server_that_refaults_is_left_alone);
	RUN(little_work_is_not_looked_at_often);
	RUN(at_rest_every_tick_whatever_was_before);
	RUN(far_less_work_than_usual_is_rest);
	RUN(a_burst_is_not_waited_with);
	RUN(quiet);
	RUN(neither_much_nor_little_changes_nothing);
	return check_report();
}
