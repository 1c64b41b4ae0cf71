#include "heap/hardened.h"

#include <stdint.h>
#include <string.h>

#include "heap/fast.h"
#include "heap/guarded.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "heap/quarantine.h"
#include "heap/scavenger.h"
#include "platform/random.h"
#include "platform/thread.h"
#include "slabs/trailer.h"

#define HEADROOM_PART 8u /* as in resize.c */

/* What a slot of the class may hold of the program's. */
static size_t most_of(unsigned size_class)
{
	return ebbi_sizes[size_class].bytes - EBBI_TRAILER_BYTES;
}

static unsigned class_for(size_t bytes, size_t align_bytes)
{
	return bytes > EBBI_SMALL_MOST ? EBBI_CLASS_NONE : ebbi_class_for(bytes + EBBI_TRAILER_BYTES, align_bytes);
}

/* Straight from the bin, for a thread without a cache. */
static void *take_from_bin(unsigned size_class)
{
	char *slot = ebbi_bin_take_one(&ebbi_heap.store, &ebbi_heap.store.home.bins[size_class]);

	if (slot != NULL)
		ebbi_quarantine_check(slot, size_class);
	return slot;
}

void *ebbi_hardened_alloc(struct ebbi_cache *cache, size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	unsigned size_class = class_for(bytes, align_bytes);
	bool checked = false;
	size_t slot_bytes;
	char *slot;

	if (EBBI_UNLIKELY(size_class == EBBI_CLASS_NONE))
		return ebbi_guarded_alloc(bytes, 0, align_bytes, content);
	if (EBBI_LIKELY(cache != NULL))
		slot = ebbi_quarantine_take(cache, size_class, &checked);
	else
		slot = take_from_bin(size_class);
	if (EBBI_UNLIKELY(slot == NULL))
		return NULL;
	slot_bytes = ebbi_sizes[size_class].bytes;
	/* Where the slot was not checked just now it should be zeros. A program that relies on it gets them. */
	if (content == EBBI_CONTENT_ZERO && !checked && slot_bytes > EBBI_QUARANTINE_CHECK_LATE)
		memset(slot, 0, bytes);
	ebbi_trailer_write_zeroed(slot + slot_bytes, slot_bytes - EBBI_TRAILER_BYTES - bytes);
	return slot;
}

/* The slot is free: in its slab, or in somebody's quarantine. The process is about to end, and looks twice. */
static bool is_free(const void *slot, uint64_t entry)
{
	const struct ebbi_cache *cache = ebbi_load_acquire(&ebbi_heap.registry.all); /* partner: adopt */

	for (; cache != NULL; cache = cache->next)
		if (ebbi_quarantine_holds(cache, ebbi_entry_kind(entry), slot))
			return true;
	return ebbi_bin_slot_is_free(&ebbi_heap.store, entry, slot);
}

/* The trailer at the end of a slot is not one. */
static _Noreturn __attribute__((noinline)) void explain_trailer(const char *what, const char *slot, uint64_t entry)
{
	size_t slot_bytes = ebbi_sizes[ebbi_entry_kind(entry)].bytes;
	const char *end = slot + slot_bytes;
	uint64_t word = ebbi_trailer_load(end - EBBI_TRAILER_BYTES);
	size_t gap = 0;

	if (is_free(slot, entry)) {
		if (word != 0)
			ebbi_report_use_after_free(slot, ebbi_zeros_end(slot, slot_bytes), slot_bytes);
		ebbi_report_free_slot(what, slot, slot_bytes);
	}
	/* Is the word whole, so that the gap's bytes are wrong? */
	if (((word ^ ebbi_trailer_mark(end)) << (64u - EBBI_TRAILER_MARK_BITS)) == 0)
		(void)ebbi_trailer_read(end, slot_bytes, &gap);
	if (gap != 0) {
		size_t bytes = slot_bytes - EBBI_TRAILER_BYTES - gap;
		size_t at = bytes;

		while (at < slot_bytes - EBBI_TRAILER_BYTES - 1 &&
		       slot[at] == (char)(ebbi_trailer_secret.pattern & 0xff))
			at++;
		ebbi_report_overflow(what, slot, bytes, at);
	}
	ebbi_report_overflow_end(what, slot, slot_bytes);
}

/* The bytes that were asked for at `block`, which must be a live slot with this entry. */
static inline __attribute__((always_inline)) size_t judge_slot(const char *what, const void *block, uint64_t entry)
{
	unsigned size_class = ebbi_entry_kind(entry);
	uint32_t offset = ebbi_entry_slab_offset(entry, (uintptr_t)block);
	size_t slot_bytes = ebbi_sizes[size_class].bytes;
	size_t gap;

	if (EBBI_UNLIKELY(!ebbi_slot_starts_at(ebbi_sizes[size_class].magic, offset) ||
			  offset >= ebbi_sizes[size_class].slots * slot_bytes))
		(void)ebbi_misuse_judge(what, block);
	if (EBBI_UNLIKELY(!ebbi_trailer_read((const char *)block + slot_bytes, slot_bytes, &gap)))
		explain_trailer(what, block, entry);
	return slot_bytes - EBBI_TRAILER_BYTES - gap;
}

static bool is_slot(uint64_t entry)
{
	return ebbi_entry_kind(entry) - 1u < EBBI_CLASSES - 1u;
}

static bool is_guarded_kind(uint64_t entry)
{
	return ebbi_entry_kind(entry) == EBBI_KIND_RUN || ebbi_entry_kind(entry) == EBBI_KIND_MAPPING;
}

/* A C++ runtime's operator new, where it is not ours, makes 1 of 0. */
static void check_said(const char *what, const void *block, size_t bytes, size_t said_bytes)
{
	if (EBBI_UNLIKELY(said_bytes != bytes && said_bytes != EBBI_SIZE_UNSAID && (said_bytes != 0 || bytes != 1)))
		ebbi_report_size(what, block, bytes, said_bytes);
}

/* A block above the size classes, or no block at all. */
static __attribute__((noinline)) void free_large(struct ebbi_cache *cache, void *block, size_t said_bytes)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);
	size_t bytes;

	if (is_guarded_kind(entry)) {
		struct ebbi_guarded_block found = ebbi_guarded_judge("free", block, entry);

		check_said("free", block, found.bytes, said_bytes);
		bytes = ebbi_guarded_free(&found);
	} else {
		entry = ebbi_misuse_judge("free", block);
		bytes = ebbi_misuse_block_bytes(entry);
		if (cache != NULL)
			ebbi_registry_free_large(&ebbi_heap.registry, cache, block, entry);
		else
			ebbi_large_free(&ebbi_heap.large, block, entry);
	}
	ebbi_scavenger_note(cache, bytes);
}

/* By a thread that is inside `cache`, or whoever may touch its contents; or without one. */
static inline __attribute__((always_inline)) void free_inside(struct ebbi_cache *cache, void *block, size_t said_bytes)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);
	unsigned size_class = ebbi_entry_kind(entry);
	size_t given;

	if (EBBI_UNLIKELY(!is_slot(entry))) {
		free_large(cache, block, said_bytes);
		return;
	}
	check_said("free", block, judge_slot("free", block, entry), said_bytes);
	ebbi_zeros_write(block, ebbi_sizes[size_class].bytes);
	if (EBBI_LIKELY(cache != NULL)) {
		given = ebbi_quarantine_put(cache, size_class, block);
		if (EBBI_UNLIKELY(given != 0))
			ebbi_scavenger_note(cache, given);
		return;
	}
	ebbi_bin_give(&ebbi_heap.store, &ebbi_heap.store.home.bins[size_class], &block, 1);
	ebbi_scavenger_note(NULL, ebbi_sizes[size_class].bytes);
}

/* A handler's free that must wait. Its list overwrites the block's first word: a block shorter than that is judged now. */
static void defer(struct ebbi_cache *cache, void *block, size_t said_bytes)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);

	if (is_slot(entry)) {
		check_said("free", block, judge_slot("free", block, entry), said_bytes);
		ebbi_trailer_write((char *)block + ebbi_sizes[ebbi_entry_kind(entry)].bytes, 0);
	} else if (is_guarded_kind(entry)) {
		check_said("free", block, ebbi_guarded_judge("free", block, entry).bytes, said_bytes);
	} else {
		(void)ebbi_misuse_judge("free", block);
	}
	ebbi_handshake_defer(&cache->handshake, block);
}

void ebbi_hardened_free_seen(void *block, uint32_t seen, size_t said_bytes)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;

	if (EBBI_UNLIKELY((seen & ~(uint32_t)EBBI_STATE_TOUCHED) != EBBI_STOP_SLOW) &&
	    ebbi_heap_settle(cache, seen) == EBBI_NESTED) {
		defer(cache, block, said_bytes);
		return;
	}
	free_inside(cache, block, said_bytes);
	ebbi_handshake_leave(&cache->handshake);
}

void ebbi_hardened_free(void *block, size_t said_bytes)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	uint64_t mask;

	if (EBBI_LIKELY(cache != NULL)) {
		ebbi_hardened_free_seen(block, ebbi_handshake_enter(&cache->handshake), said_bytes);
		return;
	}
	ebbi_signals_block(&mask);
	free_inside(NULL, block, said_bytes);
	ebbi_signals_restore(&mask);
}

/* The bytes that were asked for at `block`; of a nested block, all it has. */
static size_t bytes_of(const char *what, const void *block, uint64_t entry)
{
	if (EBBI_LIKELY(is_slot(entry)))
		return judge_slot(what, block, entry);
	if (is_guarded_kind(entry))
		return ebbi_guarded_judge(what, block, entry).bytes;
	return ebbi_misuse_block_bytes(ebbi_misuse_judge(what, block));
}

size_t ebbi_hardened_usable_bytes(const void *block)
{
	return bytes_of("malloc_usable_size", block, ebbi_pagemap_get((uintptr_t)block));
}

/* A slot that is not too long for `bytes` either. */
static bool resize_slot_try(char *slot, unsigned size_class, size_t bytes)
{
	size_t most = most_of(size_class);

	if (bytes > most || (bytes <= most / 2 && most > 4 * EBBI_ALIGNMENT))
		return false;
	ebbi_trailer_write(slot + ebbi_sizes[size_class].bytes, most - bytes);
	return true;
}

static void *resize_large_try(struct ebbi_cache *cache, void *block, uint64_t entry, size_t bytes)
{
	struct ebbi_guarded_block found = ebbi_guarded_judge("realloc", block, entry);
	void *moved;

	if (cache == NULL || bytes < EBBI_SMALL_MOST || ebbi_heap_enter(cache) == EBBI_NESTED)
		return NULL;
	moved = ebbi_guarded_resize_try(&found, bytes);
	ebbi_handshake_leave(&cache->handshake);
	return moved;
}

/* A large block that grows gets room to grow on, as in resize.c. */
static void *alloc_to_grow(struct ebbi_cache *cache, size_t bytes, size_t have)
{
	void *block;

	if (cache == NULL || bytes < EBBI_GUARDED_LEAST || bytes <= have || ebbi_heap_enter(cache) == EBBI_NESTED)
		return NULL;
	block = ebbi_guarded_alloc(bytes, bytes / HEADROOM_PART, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
	ebbi_handshake_leave(&cache->handshake);
	return block;
}

void *ebbi_hardened_resize(void *block, size_t bytes)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);
	size_t have = bytes_of("realloc", block, entry);
	void *moved = NULL;

	if (is_slot(entry) && resize_slot_try(block, ebbi_entry_kind(entry), bytes))
		return block;
	if (is_guarded_kind(entry))
		moved = resize_large_try(cache, block, entry, bytes);
	if (moved != NULL)
		return moved;
	moved = alloc_to_grow(cache, bytes, have);
	if (moved == NULL)
		moved = ebbi_fast_alloc(bytes);
	if (moved == NULL)
		return NULL;
	memcpy(moved, block, ebbi_min_size(have, bytes));
	ebbi_fast_free(block);
	return moved;
}

/* For caches/, which is below and must not know. */
static void free_deferred(struct ebbi_cache *cache, void *block)
{
	free_inside(cache, block, EBBI_SIZE_UNSAID);
}

void ebbi_hardened_init(void)
{
	struct ebbi_registry *registry = &ebbi_heap.registry;
	size_t page_bytes = ebbi_heap.store.meta.page_bytes;

	ebbi_trailer_init(ebbi_random_word(), ebbi_random_word());
	ebbi_guarded_init();
	ebbi_quarantine_offset = ebbi_shelf_bytes(page_bytes);
	registry->pool.drain_more = ebbi_quarantine_drain;
	registry->more_bytes = ebbi_round_up(sizeof(struct ebbi_quarantine), page_bytes);
	registry->free_deferred = free_deferred;
	registry->standing_stop |= EBBI_STOP_SLOW;
	ebbi_misuse_indirect = UINT64_MAX;
}
