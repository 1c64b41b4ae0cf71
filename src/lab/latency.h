/*
 * latency.h: a histogram of times, from nanoseconds to a quarter of an hour, within 0.8 %.
 *
 * Owns: nothing; one value of fixed size, which may lie in shared memory. Never: allocates; forgets the largest time.
 * Threading: one thread. Errors: none; a time beyond the range counts in the last bucket.
 * Invariant: the sum of the buckets is `count`.
 */
#ifndef EBBI_LAB_LATENCY_H
#define EBBI_LAB_LATENCY_H

#include <stdint.h>

/*
 * 128 buckets for each doubling: bucket(v) = v below 256; from there on, with `shift` such that v >> shift is in
 * 128 .. 255, shift * 128 + (v >> shift). 2^40 ns are 18 minutes.
 */
#define LATENCY_BITS 7
#define LATENCY_TOP 40
#define LATENCY_BUCKETS ((LATENCY_TOP - LATENCY_BITS + 2) << LATENCY_BITS)

struct latency {
	uint64_t count;
	uint64_t most_ns;
	uint32_t buckets[LATENCY_BUCKETS];
};

void ebbi_latency_add(struct latency *latency, uint64_t ns);

/* The time that `share` (0 to 1) of all do not exceed, rounded up to the end of its bucket; 0 when there are none. */
uint64_t ebbi_latency_at(const struct latency *latency, double share);

#endif
