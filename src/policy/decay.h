/*
 * decay.h: when to look for memory to give back.
 *
 * Owns: the damping of refaults. Never: reads a clock, calls the kernel. Pure but for the struct it is
 * given. Threading: the caller's. Errors: none.
 *
 * A tick is half a delay. Looking costs something, and pages that were given back and are used again cost a fault
 * each. A process at work for which that is much of its work is looked at less often, every 4th, 16th, 64th tick,
 * so that a server that is asked a few times a second does not fault its working set in each time. Two
 * things are not waited with:
 *   - rest: a process that does next to nothing, or an eighth of what it usually does, is looked at every tick;
 *   - a burst: so is one that owes far more than it did at the last ordinary look.
 */
#ifndef EBBI_POLICY_DECAY_H
#define EBBI_POLICY_DECAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "Ordinary" looks are those that come by the ticks, not by rest or burst. */
struct ebbi_decay {
	unsigned shift;           /* look every 2^shift ticks; at most EBBI_DECAY_SHIFT_MOST */
	unsigned ticks;           /* since the last ordinary look */
	uint64_t operations;      /* at the last tick */
	uint64_t usual;           /* operations a tick, a sliding mean, times 8 */
	uint64_t operations_then; /* at the last ordinary look, as are the next two */
	uint64_t refault_pages;
	uint64_t purged_then;
	uint64_t purged_pages; /* at the last but one: what the refaults since then are held against */
	size_t owed_pages;     /* when the last ordinary look began */
	unsigned quiet_ticks;  /* without any operation, up to now */
};

/* Totals since the start of the process, but for the last. */
struct ebbi_decay_sample {
	uint64_t operations; /* refills of caches, large blocks made */
	uint64_t refault_pages;
	uint64_t purged_pages;
	size_t owed_pages; /* now: resident pages in free runs and retained mappings */
};

#define EBBI_DECAY_SHIFT_MOST 6u
#define EBBI_DECAY_TICK_LEAST_NS 10000000u /* delay:0 still waits 10 ms between looks */

/* The length of a tick. */
uint64_t ebbi_decay_tick_ns(uint64_t delay_ns);

/* One tick has passed: is it time to look? */
bool ebbi_decay_is_due(struct ebbi_decay *decay, const struct ebbi_decay_sample *now);

/*
 * Asked after that: did nothing at all happen, so that what is free need not wait for a second look? A damped
 * process must be quiet for two ticks: one asked a few times a second has a tick without a request now and then.
 */
bool ebbi_decay_is_quiet(const struct ebbi_decay *decay);

#endif
