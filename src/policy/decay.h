/*
 * decay.h: how long to wait between two looks.
 *
 * Owns: the damping of refaults. Never: reads a clock, calls the kernel. Pure but for the struct it is
 * given. Threading: the caller's. Errors: none.
 *
 * Looks are half a delay apart. When much of what was given back is used again soon (refaults), the
 * distance doubles, up to eight times; when little is, it halves again down to the delay's own half. So
 * a server that is asked a few times a second does not fault its working set in each time, and rests
 * at its floor a few delays after it was really left alone.
 */
#ifndef EBBI_POLICY_DECAY_H
#define EBBI_POLICY_DECAY_H

#include <stdint.h>

struct ebbi_decay {
	unsigned shift;         /* the distance is doubled so many times; at most EBBI_DECAY_SHIFT_MOST */
	uint64_t refault_pages; /* at the last call */
	uint64_t purged_pages;
};

#define EBBI_DECAY_SHIFT_MOST 3u
#define EBBI_DECAY_LEAST_NS 10000000u /* delay:0 still waits 10 ms between looks */

/* The distance as things stand. */
uint64_t ebbi_decay_wait_ns(const struct ebbi_decay *decay, uint64_t delay_ns);

/* After a look: both counts are totals since the start. Returns the distance to the next look. */
uint64_t ebbi_decay_next(struct ebbi_decay *decay, uint64_t delay_ns, uint64_t refault_pages, uint64_t purged_pages);

#endif
