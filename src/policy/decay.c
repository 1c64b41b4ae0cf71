#include "policy/decay.h"

/* Refaults below this many pages between two looks cost nobody anything. */
#define REFAULTS_THAT_MATTER 64u

/* Of what was given back: a quarter used again is much, a sixteenth is little. */
#define MUCH 4u
#define LITTLE 16u

/* Slow-path operations a tick of a process at rest: timers and heartbeats. */
#define OPERATIONS_AT_REST 64u

uint64_t ebbi_decay_tick_ns(uint64_t delay_ns)
{
	uint64_t tick_ns = delay_ns / 2;

	return tick_ns < EBBI_DECAY_TICK_LEAST_NS ? EBBI_DECAY_TICK_LEAST_NS : tick_ns;
}

/* What came back since the last look, against what was given back by the one before it and since. */
static void judge_refaults(struct ebbi_decay *decay, const struct ebbi_decay_sample *now)
{
	uint64_t refaults = now->refault_pages - decay->refault_pages;
	uint64_t purged = now->purged_pages - decay->purged_pages;

	if (refaults >= REFAULTS_THAT_MATTER && refaults * MUCH >= purged) {
		if (decay->shift < EBBI_DECAY_SHIFT_MOST)
			decay->shift++;
	} else if (refaults < REFAULTS_THAT_MATTER || refaults * LITTLE <= purged) {
		if (decay->shift > 0)
			decay->shift--;
	}
}

bool ebbi_decay_is_due(struct ebbi_decay *decay, const struct ebbi_decay_sample *now)
{
	bool at_rest = now->operations - decay->operations < OPERATIONS_AT_REST;

	decay->operations = now->operations;
	decay->ticks++;
	if (!at_rest && decay->ticks < 1u << decay->shift)
		return false;
	if (!at_rest)
		judge_refaults(decay, now);
	decay->ticks = 0;
	decay->refault_pages = now->refault_pages;
	decay->purged_pages = decay->purged_then;
	decay->purged_then = now->purged_pages;
	return true;
}
