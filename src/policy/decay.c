#include "policy/decay.h"

/*
 * A look costs the process what so many faults cost: a thread wakes, walks over the bins and may issue a
 * membarrier (bench/servers/steady.py: 20 to 40 us; a fault 0.7 to 1 us).
 */
#define LOOK_FAULTS 24u

/*
 * An operation of the slow paths stands for some 2 to 10 us of the program's own work: a refill serves up to 64 mallocs, a
 * large block is filled and read. So one fault in that many operations is about a half of a percent.
 */
#define MUCH_OF 64u
#define LITTLE_OF 256u

/* Of what was given back: a quarter used again is much, a sixteenth is little. */
#define MUCH 4u
#define LITTLE 16u

/* At rest: fewer operations a tick than that (timers, heartbeats), or an eighth of what was usual. */
#define OPERATIONS_AT_REST 4u
#define USUAL_PART 8u

/* The usual number of operations a tick follows by an eighth each tick. */
#define FOLLOW 8u

/* Owed beyond twice what is usual and this many pages (4 MiB): a burst, which is not waited with. */
#define BURST_PAGES 1024u

uint64_t ebbi_decay_tick_ns(uint64_t delay_ns)
{
	uint64_t tick_ns = delay_ns / 2;

	return tick_ns < EBBI_DECAY_TICK_LEAST_NS ? EBBI_DECAY_TICK_LEAST_NS : tick_ns;
}

/* What came back since the last look, and what the look cost, against the work done and what was given back. */
static void judge(struct ebbi_decay *decay, const struct ebbi_decay_sample *now)
{
	uint64_t cost = now->refault_pages - decay->refault_pages + LOOK_FAULTS;
	uint64_t purged = now->purged_pages - decay->purged_pages;
	uint64_t work = now->operations - decay->operations_then;

	if (cost * MUCH_OF >= work && cost * MUCH >= purged) {
		decay->shift += 2;
		if (decay->shift > EBBI_DECAY_SHIFT_MOST)
			decay->shift = EBBI_DECAY_SHIFT_MOST;
	} else if (decay->shift > 0 && (cost * LITTLE_OF <= work || cost * LITTLE <= purged)) {
		decay->shift--;
	}
}

static bool is_at_rest(struct ebbi_decay *decay, const struct ebbi_decay_sample *now)
{
	uint64_t operations = now->operations - decay->operations;
	uint64_t usual = decay->usual / FOLLOW;

	decay->usual += operations;
	decay->usual -= usual;
	decay->operations = now->operations;
	decay->quiet_ticks = operations == 0 ? decay->quiet_ticks + 1 : 0;
	return operations < OPERATIONS_AT_REST || operations < usual / USUAL_PART;
}

bool ebbi_decay_is_quiet(const struct ebbi_decay *decay)
{
	return decay->quiet_ticks >= (decay->shift == 0 ? 1u : 2u);
}

bool ebbi_decay_is_due(struct ebbi_decay *decay, const struct ebbi_decay_sample *now)
{
	bool at_rest = is_at_rest(decay, now);
	bool burst = now->owed_pages > 2 * decay->owed_pages + BURST_PAGES;

	decay->ticks++;
	if (decay->ticks < 1u << decay->shift)
		return at_rest || burst;
	if (!at_rest)
		judge(decay, now);
	decay->ticks = 0;
	decay->operations_then = now->operations;
	decay->refault_pages = now->refault_pages;
	decay->purged_pages = decay->purged_then;
	decay->purged_then = now->purged_pages;
	decay->owed_pages = now->owed_pages;
	return true;
}
