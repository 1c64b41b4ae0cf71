/*
 * decay.h: when to look for memory to give back.
 *
 * Owns: the damping of refaults. Never: reads a clock, calls the kernel. Pure but for the struct it is
 * given. Threading: the caller's. Errors: none.
 *
 * A tick is half a delay. A process at work whose given-back pages are soon used again (refaults) is
 * looked at less often: every 2nd, 4th, 8th tick while much comes back, so that a server that is
 * asked a few times a second does not fault its working set in each time. A process that did next to
 * nothing since the last tick is at rest, and is looked at every tick, whatever was before.
 */
#ifndef EBBI_POLICY_DECAY_H
#define EBBI_POLICY_DECAY_H

#include <stdbool.h>
#include <stdint.h>

struct ebbi_decay {
	unsigned shift;         /* look every 2^shift ticks; at most EBBI_DECAY_SHIFT_MOST */
	unsigned ticks;         /* since the last look */
	uint64_t operations;    /* at the last tick */
	uint64_t refault_pages; /* at the last look */
	uint64_t purged_pages;  /* at the last look but one: what the refaults since then are held against */
	uint64_t purged_then;   /* at the last look */
};

/* Totals since the start of the process. */
struct ebbi_decay_sample {
	uint64_t operations; /* refills of caches, large blocks made */
	uint64_t refault_pages;
	uint64_t purged_pages;
};

#define EBBI_DECAY_SHIFT_MOST 3u
#define EBBI_DECAY_TICK_LEAST_NS 10000000u /* delay:0 still waits 10 ms between looks */

/* The length of a tick. */
uint64_t ebbi_decay_tick_ns(uint64_t delay_ns);

/* One tick has passed: is it time to look? */
bool ebbi_decay_is_due(struct ebbi_decay *decay, const struct ebbi_decay_sample *now);

#endif
