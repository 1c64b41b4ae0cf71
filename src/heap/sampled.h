/*
 * sampled.h: the countdown to the next sample, and blocks that are samples.
 *
 * Owns: when a thread's next allocation is a sample, where such a block lies, and how it is known again when it is freed. What a
 * sample is for is the business of a layer above, which says so at boot.
 *
 * How. malloc takes the bytes off the thread's countdown and asks in the same instruction whether it is over; a thread that has no
 * cache has 0 there, so this is the question for the cache as well. A small request that is a sample gets a slot of a set of bins
 * that is for samples alone, a large one has a bit set in its entry of the page map: free looks at both the long way anyhow.
 *
 * Never: samples in a hardened heap, in a handler that interrupted the allocator, while anything is held, or what is in an
 * explicit account (heap/account.h), which is counted there to the byte.
 * Threading: any thread. Errors: a sample that cannot be made is an ordinary allocation.
 */
#ifndef EBBI_HEAP_SAMPLED_H
#define EBBI_HEAP_SAMPLED_H

#include "heap/heap.h"

/* By whoever keeps accounts of samples. The thread is outside of its cache and holds nothing. */
struct ebbi_sampler {
	/*
	 * `block` is a sample, drawn with a mean distance of `interval`; a request for `asked_bytes`, to be counted as
	 * `bytes`. False: no room for it.
	 */
	bool (*take)(void *block, size_t asked_bytes, size_t bytes, uint64_t interval);
	/* It is about to be freed. Not called for each that was taken: some go when a block is resized. */
	void (*drop)(void *block);
};

/* What the countdown was before `bytes` were taken off. */
static inline ptrdiff_t ebbi_countdown_before(size_t bytes)
{
	return (ptrdiff_t)((size_t)ebbi_thread_self.left + bytes);
}

/* After malloc took `bytes` off: was the countdown over? */
static inline bool ebbi_countdown_was_over(size_t bytes)
{
	return ebbi_countdown_before(bytes) <= (ptrdiff_t)bytes;
}

/* The allocation that ended the countdown, or one by a thread that has none. `bytes` were taken off. */
void *ebbi_sampled_alloc(size_t bytes, size_t align_bytes, enum ebbi_content content);

/* `entry` is of a block. */
static inline bool ebbi_is_sampled(uint64_t entry)
{
	if (ebbi_entry_kind(entry) < EBBI_CLASSES)
		return ebbi_entry_set(entry) == EBBI_SET_SAMPLES;
	return (entry & EBBI_ENTRY_SAMPLED) != 0;
}

/* The sampled block is about to be freed or resized. */
void ebbi_sampled_drop(void *block);

/* A large block was made `bytes` long, where it was or elsewhere: an allocation of its own to the countdown. */
void ebbi_sampled_resized(void *block, size_t bytes);

#endif
