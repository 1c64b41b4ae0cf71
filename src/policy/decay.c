#include "policy/decay.h"

/* Refaults below this many pages between two looks cost nobody anything. */
#define REFAULTS_THAT_MATTER 64u

/* Of what was given back: a quarter used again is much, a sixteenth is little. */
#define MUCH 4u
#define LITTLE 16u

uint64_t ebbi_decay_wait_ns(const struct ebbi_decay *decay, uint64_t delay_ns)
{
	uint64_t wait_ns = (delay_ns / 2) << decay->shift;

	return wait_ns < EBBI_DECAY_LEAST_NS ? EBBI_DECAY_LEAST_NS : wait_ns;
}

uint64_t ebbi_decay_next(struct ebbi_decay *decay, uint64_t delay_ns, uint64_t refault_pages, uint64_t purged_pages)
{
	uint64_t refaults = refault_pages - decay->refault_pages;
	uint64_t purged = purged_pages - decay->purged_pages;

	decay->refault_pages = refault_pages;
	decay->purged_pages = purged_pages;
	if (refaults >= REFAULTS_THAT_MATTER && refaults * MUCH >= purged) {
		if (decay->shift < EBBI_DECAY_SHIFT_MOST)
			decay->shift++;
	} else if (refaults * LITTLE <= purged || refaults < REFAULTS_THAT_MATTER) {
		if (decay->shift > 0)
			decay->shift--;
	}
	return ebbi_decay_wait_ns(decay, delay_ns);
}
