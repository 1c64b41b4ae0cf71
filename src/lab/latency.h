/*
 * latency.h: a histogram of durations with a bounded relative error.
 *
 * Owns: its counters; a zeroed struct is an empty histogram, and it may lie in shared memory.
 * Never: allocates; loses a value: what is longer than it can tell apart counts in its last bucket, and the longest is exact.
 * Threading: one thread. Errors: none.
 * Invariant: `count` is the sum of `buckets`. A quantile is never below the true one, and above it by less than 1 in 128, or 1 us.
 *
 *	value in us, v      bucket
 *	0 .. 255            v                                          exact
 *	2^e .. 2^(e+1)-1    256 + (e - 8) * 128 + (v >> (e - 7)) - 128  128 a doubling
 */
#ifndef EBBI_LAB_LATENCY_H
#define EBBI_LAB_LATENCY_H

#include <stdint.h>

#define LATENCY_EXACT 256u
#define LATENCY_STEPS 128u   /* a doubling */
#define LATENCY_DOUBLINGS 24 /* up to 2^32 us, 71 minutes */
#define LATENCY_BUCKETS (LATENCY_EXACT + LATENCY_DOUBLINGS * LATENCY_STEPS)

struct latency {
	uint64_t count;
	uint64_t most_ns;
	uint64_t buckets[LATENCY_BUCKETS];
};

void ebbi_latency_add(struct latency *latency, uint64_t ns);

/* The duration that `share` (0 to 1) of all values do not exceed; 0 when there are none. */
uint64_t ebbi_latency_quantile(const struct latency *latency, double share);

#endif
