/*
 * cachesize.h: how much a thread may keep of each slot size.
 *
 * Owns: the figures. Never: keeps state. Pure. Threading: any. Errors: none.
 *
 * A cache starts with room for few slots and doubles it when it overflows; how many slots it asks
 * for at a time doubles likewise. Both start anew after a drain, so that a thread that sleeps
 * costs nothing and one that allocates a little takes a little.
 */
#ifndef EBBI_POLICY_CACHESIZE_H
#define EBBI_POLICY_CACHESIZE_H

#include "base/bits.h"

#define EBBI_STACK_FIRST 8u /* pointers in the cache's first page, per class */
#define EBBI_STACK_MOST 512u
#define EBBI_CLAIM_MOST 64u

/*
 * Pointers a stack of this slot size starts with, at most 8 KiB worth; and may grow to: 64 KiB worth of small slots, 32 KiB
 * from 512 bytes on, where there are twice as many classes, 16 KiB worth of large ones. So a thread keeps no slot above 16 KiB, and 17 threads that handle bodies of some KiB hold
 * 2 MiB in place of 7 (docs/benchmarks.md, "Where Ebb misses, and why": python, node); what a slot of that size is used for costs
 * more than the bin's lock. A program that frees some hundred objects in a row and then allocates as many is served by the
 * stack alone where it has 512 places (bench: bursts). Constant expressions, since a table of places is made from them.
 */
#define EBBI_STACK_SMALL 2048u
#define EBBI_STACK_FINE 512u /* above it classes lie twice as close */
#define EBBI_STACK_WITHIN(count, most) ((count) < (most) ? (count) : (most))
#define EBBI_POLICY_STACK_FIRST(slot_bytes) EBBI_STACK_WITHIN(8192u / (slot_bytes), EBBI_STACK_FIRST)
#define EBBI_POLICY_STACK_BYTES(slot_bytes) \
	((slot_bytes) <= EBBI_STACK_FINE ? 65536u : (slot_bytes) <= EBBI_STACK_SMALL ? 32768u : 16384u)
#define EBBI_POLICY_STACK_MOST(slot_bytes) \
	EBBI_STACK_WITHIN(EBBI_POLICY_STACK_BYTES(slot_bytes) / (slot_bytes), EBBI_STACK_MOST)

/* Slots to ask for at the `step`th refill since the last drain: 4, 8, 16... up to 16 KiB worth. */
static inline unsigned ebbi_policy_claim(size_t slot_bytes, unsigned step)
{
	size_t most = ((size_t)16 << 10) / slot_bytes;
	size_t wanted = (size_t)4 << ebbi_min_size(step, 4);

	if (most < 1)
		most = 1;
	return (unsigned)ebbi_min_size(wanted, ebbi_min_size(most, EBBI_CLAIM_MOST));
}

/* What all stacks together may be able to hold beyond their first size: 1/32 of the live heap, at least 4 MiB. */
static inline size_t ebbi_policy_stacks_bytes(size_t live_bytes)
{
	return ebbi_max_size((size_t)4 << 20, live_bytes / 32);
}

#endif
