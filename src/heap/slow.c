#include "heap/fast.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "caches/nested.h"
#include "heap/budget.h"
#include "heap/hardened.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "heap/reclaim.h"
#include "heap/scavenger.h"
#include "platform/thread.h"

/* The largest request that is looked at, so that pointer differences stay defined. */
#define REQUEST_MOST ((size_t)PTRDIFF_MAX)

/* Every NULL that leaves this file. Also outside C library context: errno is then another's, and unused. */
static void *without_memory(void)
{
	ebbi_fetch_add_relaxed(&ebbi_heap.refused_allocations, 1);
	errno = ENOMEM;
	return NULL;
}

/* The thread is outside of its cache, and of no handler that interrupted it there. */
static __attribute__((noinline)) void *refused(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	void *block;

	if (bytes > REQUEST_MOST || !ebbi_budget_ask(ebbi_max_size(bytes, align_bytes)))
		return without_memory();
	ebbi_thread_self.asked = true;
	block = ebbi_heap_alloc(bytes, align_bytes, content);
	ebbi_thread_self.asked = false;
	return block;
}

/* The class whose slots hold `bytes` and are aligned, or EBBI_CLASS_NONE. */
static unsigned class_for(size_t bytes, size_t align_bytes)
{
	unsigned size_class;

	if (bytes > EBBI_SMALL_MOST || align_bytes > EBBI_PAGE_BYTES)
		return EBBI_CLASS_NONE;
	size_class = ebbi_class_of(bytes);
	/* Slabs start on a page, so slots are aligned to whatever divides their size. */
	while (size_class < EBBI_CLASSES && (ebbi_sizes[size_class].bytes & (align_bytes - 1)) != 0)
		size_class++;
	return size_class < EBBI_CLASSES ? size_class : EBBI_CLASS_NONE;
}

/* `own` as in heap/reclaim.h. */
static void *large_alloc(struct ebbi_cache *own, size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	void *block;

	if (bytes > REQUEST_MOST)
		return NULL;
	if (EBBI_UNLIKELY(ebbi_large_alloc(&ebbi_heap.large, bytes, align_bytes, content, &block) != 0) &&
	    (!ebbi_reclaim(own, ebbi_max_size(bytes, align_bytes)) ||
	     ebbi_large_alloc(&ebbi_heap.large, bytes, align_bytes, content, &block) != 0))
		return NULL;
	ebbi_budget_note();
	return block;
}

static bool reclaim_for_slot(struct ebbi_cache *own, unsigned size_class)
{
	return ebbi_reclaim(own, ebbi_sizes[size_class].slab_pages * EBBI_PAGE_BYTES);
}

/* A slot for a thread that is inside its cache, which has none of this class. */
static void *slot_take(struct ebbi_cache *cache, unsigned size_class)
{
	struct ebbi_cache_pool *pool = &ebbi_heap.registry.pool;
	void *slot = ebbi_cache_take(pool, cache, size_class);

	if (EBBI_UNLIKELY(slot == NULL) && reclaim_for_slot(cache, size_class))
		slot = ebbi_cache_take(pool, cache, size_class);
	ebbi_budget_note();
	return slot;
}

static void *zeroed(void *block, size_t bytes, enum ebbi_content content)
{
	if (block != NULL && content == EBBI_CONTENT_ZERO)
		memset(block, 0, bytes);
	return block;
}

/* A slot or a block, by a thread that is inside its cache. */
static void *alloc_inside(struct ebbi_cache *cache, size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	unsigned size_class = class_for(bytes, align_bytes);

	if (size_class == EBBI_CLASS_NONE)
		return large_alloc(cache, ebbi_max_size(bytes, 1), align_bytes, content);
	return slot_take(cache, size_class);
}

/* By a thread without a cache, its signals blocked: one slot, straight from the bin. */
static void *alloc_without_cache(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	unsigned size_class = class_for(bytes, align_bytes);
	void *slot;
	struct ebbi_taking taking = {.wanted = 1, .slots = &slot, .room = 1};

	if (size_class == EBBI_CLASS_NONE)
		return large_alloc(NULL, ebbi_max_size(bytes, 1), align_bytes, content);
	if (ebbi_bin_take(&ebbi_heap.store, size_class, &taking) != 0 &&
	    (!reclaim_for_slot(NULL, size_class) || ebbi_bin_take(&ebbi_heap.store, size_class, &taking) != 0))
		return NULL;
	ebbi_budget_note();
	if (taking.count == 0)
		slot = taking.base + ebbi_bit_lowest(taking.bits) * (size_t)ebbi_sizes[size_class].bytes;
	return zeroed(slot, bytes, content);
}

/* By a signal handler that interrupted its own thread inside: a spare page or fresh ones, no lock. */
static void *alloc_nested(struct ebbi_cache *cache, size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	void *block = NULL;

	ebbi_fetch_add_relaxed(&ebbi_heap.nested_allocations, 1);
	if (bytes <= EBBI_PAGE_BYTES && align_bytes <= EBBI_PAGE_BYTES)
		block = ebbi_nested_take(cache);
	if (block != NULL)
		return zeroed(block, bytes, content);
	if (bytes > REQUEST_MOST ||
	    ebbi_large_alloc_nested(&ebbi_heap.large, ebbi_max_size(bytes, 1), align_bytes, &block) != 0)
		return without_memory();
	return block;
}

static void *alloc_seen(struct ebbi_cache *cache, uint32_t seen, size_t bytes, size_t align_bytes,
			enum ebbi_content content)
{
	void *block;

	if (ebbi_heap_settle(cache, seen) == EBBI_NESTED)
		return alloc_nested(cache, bytes, align_bytes, content);
	if (ebbi_is_hardened()) {
		block = ebbi_hardened_alloc(cache, bytes, align_bytes, content);
		ebbi_handshake_leave(&cache->handshake);
		return EBBI_LIKELY(block != NULL) ? block : refused(bytes, align_bytes, content);
	}
	block = alloc_inside(cache, bytes, align_bytes, content);
	ebbi_handshake_leave(&cache->handshake);
	ebbi_budget_settle();
	if (EBBI_UNLIKELY(block == NULL))
		return refused(bytes, align_bytes, content);
	return bytes <= EBBI_SMALL_MOST ? zeroed(block, bytes, content) : block;
}

void *ebbi_heap_alloc(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	struct ebbi_cache *cache = ebbi_thread_cache_if_worth();
	uint64_t mask;
	void *block;

	if (EBBI_LIKELY(cache != NULL))
		return alloc_seen(cache, ebbi_handshake_enter(&cache->handshake), bytes, align_bytes, content);
	ebbi_signals_block(&mask);
	if (ebbi_is_hardened())
		block = ebbi_hardened_alloc(NULL, bytes, align_bytes, content);
	else
		block = alloc_without_cache(bytes, align_bytes, content);
	ebbi_signals_restore(&mask);
	return EBBI_LIKELY(block != NULL) ? block : refused(bytes, align_bytes, content);
}

void *ebbi_heap_alloc_slow(size_t bytes)
{
	return ebbi_heap_alloc(bytes, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
}

void *ebbi_heap_alloc_seen(size_t bytes, uint32_t seen)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	void *block;

	/* What every malloc of a hardened heap comes to. */
	if (ebbi_is_hardened() && (seen & ~(uint32_t)EBBI_STATE_TOUCHED) == EBBI_STOP_SLOW) {
		block = ebbi_hardened_alloc(cache, bytes, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
		ebbi_handshake_leave(&cache->handshake);
		return EBBI_LIKELY(block != NULL) ? block : refused(bytes, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
	}
	return alloc_seen(cache, seen, bytes, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
}

void *ebbi_heap_refill(unsigned size_class)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	void *slot = slot_take(cache, size_class);

	ebbi_scavenger_note_cached(cache, ebbi_rack_bytes(&cache->shelf->racks[size_class], size_class));
	ebbi_handshake_leave(&cache->handshake);
	ebbi_budget_settle();
	if (EBBI_UNLIKELY(slot == NULL))
		return refused(ebbi_sizes[size_class].bytes, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
	return slot;
}

static void zero_if_asked(void *block, uint64_t entry)
{
	if (ebbi_heap.config.zero_on_free)
		memset(block, 0, ebbi_misuse_block_bytes(entry));
}

/* What the options ask for before a block is freed. */
static void before_free(struct ebbi_cache *cache, void *block, uint64_t entry)
{
	if (ebbi_heap.config.check == EBB_CHECK_FULL)
		ebbi_misuse_check_live("free", cache, block, entry);
	zero_if_asked(block, entry);
}

/* By a thread that is inside its cache; `block` is a valid start. */
static void free_inside(struct ebbi_cache *cache, void *block, uint64_t entry)
{
	unsigned size_class = ebbi_entry_kind(entry);
	size_t bytes = ebbi_misuse_block_bytes(entry);

	if (size_class < EBBI_CLASSES)
		bytes = ebbi_cache_put(&ebbi_heap.registry.pool, cache, size_class, block);
	else
		ebbi_registry_free_large(&ebbi_heap.registry, cache, block, entry);
	ebbi_scavenger_note(cache, bytes);
}

static void free_without_cache(void *block, uint64_t entry)
{
	before_free(NULL, block, entry);
	if (ebbi_entry_kind(entry) < EBBI_CLASSES)
		ebbi_bin_give(&ebbi_heap.store, ebbi_entry_kind(entry), &block, 1);
	else
		ebbi_large_free(&ebbi_heap.large, block, entry);
	ebbi_scavenger_note(NULL, ebbi_misuse_block_bytes(entry));
}

static void free_seen(struct ebbi_cache *cache, uint32_t seen, void *block, uint64_t entry)
{
	if (ebbi_heap_settle(cache, seen) == EBBI_NESTED) {
		zero_if_asked(block, entry);
		ebbi_handshake_defer(&cache->handshake, block);
		return;
	}
	before_free(cache, block, entry);
	free_inside(cache, block, entry);
	ebbi_handshake_leave(&cache->handshake);
}

void ebbi_heap_free(void *block)
{
	struct ebbi_cache *cache = ebbi_thread_cache_if_worth();
	uint64_t entry;
	uint64_t mask;

	if (ebbi_is_hardened()) {
		ebbi_hardened_free(block, EBBI_SIZE_UNSAID);
		return;
	}
	entry = ebbi_misuse_judge("free", block);
	if (EBBI_LIKELY(cache != NULL)) {
		free_seen(cache, ebbi_handshake_enter(&cache->handshake), block, entry);
		return;
	}
	ebbi_signals_block(&mask);
	free_without_cache(block, entry);
	ebbi_signals_restore(&mask);
}

void ebbi_heap_free_slow(void *block)
{
	if (block != NULL)
		ebbi_heap_free(block);
}

void ebbi_heap_free_sized_slow(void *block, size_t said_bytes)
{
	if (block == NULL)
		return;
	if (ebbi_is_hardened())
		ebbi_hardened_free(block, said_bytes);
	else
		ebbi_heap_free(block);
}

void ebbi_heap_free_sized_seen(void *block, size_t said_bytes, uint32_t seen)
{
	if (block == NULL) {
		if ((seen & EBBI_STATE_BUSY) == 0)
			ebbi_handshake_back_out(&ebbi_thread_self.cache->handshake, seen);
		return;
	}
	if (ebbi_is_hardened()) {
		ebbi_hardened_free_seen(block, seen, said_bytes);
		return;
	}
	free_seen(ebbi_thread_self.cache, seen, block, ebbi_misuse_judge("free", block));
}

void ebbi_heap_free_seen(void *block, uint32_t seen)
{
	ebbi_heap_free_sized_seen(block, EBBI_SIZE_UNSAID, seen);
}

void ebbi_heap_spill(void *block, uint64_t entry)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	const struct ebbi_rack *rack = &cache->shelf->racks[ebbi_entry_kind(entry)];

	if (block != NULL) {
		(void)ebbi_misuse_judge("free", block);
		if (rack->hot == block)
			ebbi_report_free_slot("free", block, ebbi_misuse_block_bytes(entry));
		free_inside(cache, block, entry);
	}
	ebbi_handshake_leave(&cache->handshake);
}
