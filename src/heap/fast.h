/*
 * fast.h: the short way through malloc and free.
 *
 * Owns: the instructions that nearly every call executes; tests/golden counts them. Never: writes to
 * a freed slot, executes an atomic read-modify-write or a fence. Threading: as heap/heap.h. Errors:
 * left to the slow halves, which are declared here and defined in heap/slow.c.
 *
 * malloc: size to class, go inside, pop the stack or the lowest bit of the claim, come out.
 * free: page to class, go inside, check that the offset is the start of a slot, push, come out.
 *
 * A double free whose pointer still lies on top of the stack is seen here for one comparison; the
 * others are seen when the stack is flushed into the slab's bitmap, or at once with check:full.
 */
#ifndef EBBI_HEAP_FAST_H
#define EBBI_HEAP_FAST_H

#include "heap/heap.h"

/* The whole allocation, whatever it takes; `bytes` were taken off the countdown. */
void *ebbi_heap_alloc_slow(size_t bytes);
/* The same after enter() returned `seen`, which was not clear. */
void *ebbi_heap_alloc_seen(size_t bytes, uint32_t seen);
/* Inside, and the cache has no slot of this class. Comes out. */
void *ebbi_heap_refill(unsigned size_class);

/* The page's entry is none of an ordinary slab, or the thread has no cache. */
void ebbi_heap_free_slow(void *block, uint64_t entry);
void ebbi_heap_free_seen(void *block, uint32_t seen);
/* The same for a free that says how long the block is, which only a hardened heap compares. */
void ebbi_heap_free_sized_slow(void *block, uint64_t entry, size_t said_bytes);
void ebbi_heap_free_sized_seen(void *block, size_t said_bytes, uint32_t seen);
/* Inside, and the block cannot simply be pushed: no room, or something is wrong with it. Comes out. */
void ebbi_heap_spill(void *block, uint64_t entry);

/* The rack of a class, by EBBI_CLASS_SCALE times the class. */
static inline struct ebbi_rack *ebbi_fast_rack(struct ebbi_shelf *shelf, size_t offset)
{
	return (struct ebbi_rack *)((uintptr_t)shelf + offset);
}

static inline __attribute__((always_inline)) void *ebbi_fast_alloc(size_t bytes)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	struct ebbi_shelf *shelf = ebbi_thread_self.shelf;
	struct ebbi_rack *rack;
	unsigned size_class;
	uint32_t seen;
	void *slot;

	/* A thread without a cache has nothing left. */
	if (EBBI_UNLIKELY(ebbi_count_down(&ebbi_thread_self.left, bytes)))
		return ebbi_heap_alloc_slow(bytes);
	if (EBBI_LIKELY(bytes <= EBBI_CLASS_TABLE_MOST))
		rack = ebbi_fast_rack(shelf, ebbi_class_offsets[(bytes + 15) >> 4]);
	else if (EBBI_LIKELY(bytes <= EBBI_SMALL_MOST))
		rack = ebbi_fast_rack(shelf, ebbi_class_by_bits(bytes) * EBBI_CLASS_SCALE);
	else
		return ebbi_heap_alloc_slow(bytes);
	seen = ebbi_handshake_enter(&cache->handshake);
	if (EBBI_UNLIKELY(!ebbi_seen_clear(seen)))
		return ebbi_heap_alloc_seen(bytes, seen);
	slot = rack->hot;
	if (EBBI_LIKELY(slot != NULL)) {
		ebbi_rack_pop(shelf, rack);
	} else if (EBBI_LIKELY(rack->bits != 0)) {
		size_class = (unsigned)(rack - shelf->racks);
		slot = rack->base + ebbi_bit_lowest(rack->bits) * (size_t)ebbi_sizes[size_class].bytes;
		ebbi_store_relaxed(&rack->bits, rack->bits & (rack->bits - 1));
	} else {
		return ebbi_heap_refill((unsigned)(rack - shelf->racks));
	}
	ebbi_handshake_leave(&cache->handshake);
	return slot;
}

/* By a thread that is inside: onto the rack, if there is a place and nothing is wrong with the block. */
static inline __attribute__((always_inline)) bool ebbi_fast_push_try(struct ebbi_shelf *shelf, void *block,
								     uint64_t entry)
{
	struct ebbi_rack *rack = ebbi_fast_rack(shelf, entry & EBBI_ENTRY_CLASS);
	size_t top = rack->top;

	/* Rack 0, of NULL and of what is not ours, is never set up: it has no place, so it spills. */
	if (EBBI_UNLIKELY(top >= rack->end ||
			  !ebbi_slot_starts_at(rack->magic, ebbi_entry_slab_offset(entry, (uintptr_t)block)) ||
			  rack->hot == block))
		return false;
	ebbi_rack_push(shelf, rack, top, block);
	return true;
}

/* `sized` is a constant: a sized free differs in whom it calls when it leaves the short way. */
static inline __attribute__((always_inline)) void ebbi_fast_free_either(void *block, bool sized, size_t said_bytes)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	struct ebbi_shelf *shelf = ebbi_thread_self.home;
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);
	uint32_t seen;

	if (EBBI_UNLIKELY((entry & EBBI_ENTRY_LOW) != 0 || cache == NULL)) {
		if (sized)
			ebbi_heap_free_sized_slow(block, entry, said_bytes);
		else
			ebbi_heap_free_slow(block, entry);
		return;
	}
	seen = ebbi_handshake_enter(&cache->handshake);
	if (EBBI_UNLIKELY(!ebbi_seen_clear(seen))) {
		if (sized)
			ebbi_heap_free_sized_seen(block, said_bytes, seen);
		else
			ebbi_heap_free_seen(block, seen);
		return;
	}
	if (EBBI_UNLIKELY(!ebbi_fast_push_try(shelf, block, entry))) {
		ebbi_heap_spill(block, entry);
		return;
	}
	ebbi_handshake_leave(&cache->handshake);
}

static inline __attribute__((always_inline)) void ebbi_fast_free(void *block)
{
	ebbi_fast_free_either(block, /* sized= */ false, 0);
}

static inline __attribute__((always_inline)) void ebbi_fast_free_sized(void *block, size_t said_bytes)
{
	ebbi_fast_free_either(block, /* sized= */ true, said_bytes);
}

#endif
