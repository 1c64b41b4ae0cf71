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
	static const struct life lives[] = {{0, 0, 0}, {1000, 0, 1000}, {1000000, 10, 10}, {1000, 60, 100000}};

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

	/* The distance doubles to eight ticks and stays there. */
	CHECK_LE(looks(&decay, &now, refaulting, 16), 6u);
	CHECK_EQ(decay.shift, EBBI_DECAY_SHIFT_MOST);
	CHECK_EQ(looks(&decay, &now, refaulting, 80), 10u);
	/* It still works, but nothing comes back any more: every tick again. */
	(void)looks(&decay, &now, (struct life){10000, 0, 1000}, 40);
	CHECK_EQ(decay.shift, 0u);
	CHECK_EQ(looks(&decay, &now, (struct life){10000, 0, 1000}, 10), 10u);
}

TEST(at_rest_every_tick_whatever_was_before)
{
	struct ebbi_decay decay = {0};
	struct ebbi_decay_sample now = {0};

	(void)looks(&decay, &now, (struct life){10000, 1000, 1000}, 40);
	CHECK_EQ(decay.shift, EBBI_DECAY_SHIFT_MOST);
	CHECK_EQ(looks(&decay, &now, (struct life){0, 0, 100}, 5), 5u);
	CHECK_EQ(looks(&decay, &now, (struct life){10, 0, 0}, 5), 5u); /* a heartbeat */
	CHECK_EQ(looks(&decay, &now, (struct life){0, 1000, 1000}, 5), 5u);
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
	RUN(at_rest_every_tick_whatever_was_before);
	RUN(neither_much_nor_little_changes_nothing);
	return check_report();
}
