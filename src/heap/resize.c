#include <stdint.h>
#include <string.h>

#include "heap/account.h"
#include "heap/budget.h"
#include "heap/fast.h"
#include "heap/hardened.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "heap/sampled.h"
#include "heap/scavenger.h"

/*
 * A large block that must be copied to grow becomes longer by this part at least, so that a block that
 * grows by little and often is copied a number of times that does not depend on how little.
 */
#define HEADROOM_PART 8u

static __attribute__((noinline)) size_t usable_slow(const void *block)
{
	if (block == NULL)
		return 0;
	if (ebbi_is_hardened())
		return ebbi_hardened_usable_bytes(block);
	return ebbi_misuse_block_bytes(ebbi_misuse_judge("malloc_usable_size", block));
}

/* Ruby and redis ask this of every block that they allocate or free. NULL is none of a slab's, and goes the long way. */
size_t ebbi_heap_usable_bytes(const void *block)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);

	if (EBBI_UNLIKELY(!ebbi_misuse_is_slot(block, entry, ebbi_misuse_indirect)))
		return usable_slow(block);
	return ebbi_sizes[(entry & EBBI_ENTRY_CLASS) >> EBBI_ENTRY_CLASS_SHIFT].bytes;
}

/* Without copying, by a thread that is inside its cache. */
static bool resize_large_try(void *block, uint64_t entry, size_t bytes, void **ret_block)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	size_t have = ebbi_misuse_block_bytes(entry);
	bool done = false;

	if (cache == NULL || bytes <= EBBI_SMALL_MOST || ebbi_heap_enter(cache) == EBBI_NESTED)
		return false;
	done = ebbi_large_resize_try(&ebbi_heap.large, block, entry, bytes, ret_block);
	ebbi_budget_note();
	if (done && bytes < have)
		ebbi_scavenger_note(cache, have - bytes);
	ebbi_handshake_leave(&cache->handshake);
	return done;
}

/* As resize_large_try. To samples it is a free and an allocation, unless it has the pages that are asked for. */
static bool resize_large_sampled_try(void *block, uint64_t entry, size_t bytes, void **ret_block)
{
	bool changes = ebbi_excess(ebbi_misuse_block_bytes(entry), EBBI_PAGE_BYTES) >= bytes ||
		       bytes > ebbi_misuse_block_bytes(entry);

	/* Before somebody else can have its addresses. */
	if (changes && ebbi_is_sampled(entry))
		ebbi_sampled_drop(block);
	if (!resize_large_try(block, entry, bytes, ret_block))
		return false;
	if (changes)
		ebbi_sampled_resized(*ret_block, bytes);
	return true;
}

/* A large block that must become shorter, and for which there is no room elsewhere. Itself, or where it is now. */
static void *shrink(void *block, uint64_t entry, size_t bytes)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	size_t have = ebbi_misuse_block_bytes(entry);
	void *shrunk = block;

	/* Before somebody else can have the addresses, and outside of the cache; what is left is no sample. */
	if (ebbi_is_sampled(entry)) {
		ebbi_sampled_drop(block);
		entry &= ~EBBI_ENTRY_SAMPLED;
		ebbi_pagemap_set((uintptr_t)block, entry);
	}
	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		return block;
	if (ebbi_large_shrink_try(&ebbi_heap.large, block, entry, ebbi_max_size(bytes, 1), &shrunk))
		ebbi_scavenger_note(cache, have - bytes);
	ebbi_handshake_leave(&cache->handshake);
	return shrunk;
}

/* The account that the block is in has no room for as much beside it. */
static bool is_account_full(uint64_t entry, size_t bytes)
{
	const struct ebbi_set *set = ebbi_heap.store.sets[ebbi_entry_run_set(entry)];

	return ebbi_account_is_full(set, bytes);
}

/* check:full: a block that stays where it is passes no free that would notice. */
static void check_live(const void *block, uint64_t entry)
{
	struct ebbi_cache *cache = ebbi_thread_cache();

	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		return;
	ebbi_misuse_check_live("realloc", cache, block, entry);
	ebbi_handshake_leave(&cache->handshake);
}

/* The block can stay as it is: it is large enough, and not twice as large as needed. */
static inline bool fits(uint64_t entry, size_t have, size_t bytes)
{
	if (bytes > have)
		return false;
	if (ebbi_entry_kind(entry) < EBBI_CLASSES)
		return bytes > have / 2 || have <= 4 * EBBI_ALIGNMENT;
	return ebbi_entry_kind(entry) == EBBI_KIND_NESTED; /* short-lived: not worth a move */
}

/* The long way: a block that is none of a slab's, or that cannot stay. */
static __attribute__((noinline)) void *resize_slow(void *block, size_t bytes)
{
	uint64_t entry = ebbi_misuse_judge("realloc", block);
	size_t have = ebbi_misuse_block_bytes(entry);
	size_t wanted = bytes;
	void *moved;

	/* One question for all options: a standing order is there for each of them. */
	if (EBBI_UNLIKELY(ebbi_heap.registry.standing_stop != 0)) {
		if (ebbi_is_hardened())
			return ebbi_hardened_resize(block, bytes);
		if (ebbi_heap.config.check == EBB_CHECK_FULL)
			check_live(block, entry);
	}
	if (fits(entry, have, bytes))
		return block;
	if (ebbi_entry_kind(entry) >= EBBI_CLASSES && resize_large_sampled_try(block, entry, bytes, &moved))
		return moved;
	if (ebbi_entry_kind(entry) >= EBBI_CLASSES && bytes < have && is_account_full(entry, bytes))
		return shrink(block, entry, bytes);
	if (bytes > have && bytes > EBBI_SMALL_MOST && bytes <= PTRDIFF_MAX &&
	    ebbi_budget_has_room(have + have / HEADROOM_PART))
		wanted = ebbi_max_size(bytes, have + have / HEADROOM_PART);
	moved = ebbi_account_alloc(entry, wanted);
	if (moved == NULL && wanted > bytes)
		moved = ebbi_account_alloc(entry, bytes);
	if (moved == NULL && bytes > have)
		return NULL;
	if (moved == NULL)
		return ebbi_entry_kind(entry) >= EBBI_CLASSES ? shrink(block, ebbi_pagemap_get((uintptr_t)block), bytes)
							      : block;
	memcpy(moved, block, ebbi_min_size(have, bytes));
	ebbi_fast_free(block);
	return moved;
}

/* A slot of `have` bytes, of no account, that is too small or far too large. */
static __attribute__((noinline)) void *move_slot(void *block, size_t have, size_t bytes)
{
	/*
	 * What grew will grow again: at least an eighth, so that it moves as rarely where classes are a ninth apart as where
	 * they are a fifth apart (bench: growth, 1.08 without).
	 */
	size_t wanted = bytes > have ? ebbi_max_size(bytes, have + have / 8 + 1) : bytes;
	void *moved = ebbi_account_alloc(/* entry= */ 0, wanted);

	if (EBBI_UNLIKELY(moved == NULL) && wanted > bytes)
		moved = ebbi_account_alloc(/* entry= */ 0, bytes);
	if (EBBI_UNLIKELY(moved == NULL))
		return bytes <= have ? block : NULL;
	memcpy(moved, block, ebbi_min_size(have, bytes));
	ebbi_fast_free(block);
	return moved;
}

void *ebbi_heap_resize(void *block, size_t bytes)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);
	size_t have;

	if (EBBI_UNLIKELY(!ebbi_misuse_is_slot(block, entry, EBBI_ENTRY_LOW) || bytes > EBBI_SMALL_MOST ||
			  ebbi_heap.registry.standing_stop != 0))
		return resize_slow(block, bytes);
	have = ebbi_sizes[(entry & EBBI_ENTRY_CLASS) >> EBBI_ENTRY_CLASS_SHIFT].bytes;
	if (bytes <= have && (bytes > have / 2 || have <= 4 * EBBI_ALIGNMENT))
		return block;
	return move_slot(block, have, bytes);
}
