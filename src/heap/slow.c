#include "heap/fast.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "caches/nested.h"
#include "heap/account.h"
#include "heap/budget.h"
#include "heap/hardened.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "heap/reclaim.h"
#include "heap/sampled.h"
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
	const struct ebbi_stand *stand = ebbi_thread_self.stand;
	void *block;

	if (bytes > REQUEST_MOST)
		return without_memory();
	if (stand != NULL && ebbi_account_is_full(stand->set, bytes)) {
		ebbi_account_refuse(stand->set, bytes);
		return without_memory();
	}
	if (!ebbi_budget_ask(ebbi_max_size(bytes, align_bytes)))
		return without_memory();
	ebbi_thread_self.asked = true;
	block = ebbi_heap_alloc_uncounted(bytes, align_bytes, content);
	ebbi_thread_self.asked = false;
	return block;
}

/* As large_alloc, in the name of an account. */
static __attribute__((noinline)) void *counted_large_alloc(struct ebbi_cache *own, struct ebbi_set *set, size_t bytes,
							   size_t align_bytes, enum ebbi_content content)
{
	size_t counted = ebbi_round_up(bytes, EBBI_PAGE_BYTES);
	void *block;

	if (ebbi_set_take(set, counted, counted) == 0 &&
	    (!ebbi_account_make_room(own, set, counted) || ebbi_set_take(set, counted, counted) == 0))
		return NULL;
	if (ebbi_large_alloc(&ebbi_heap.large, bytes, align_bytes, content, &block) != 0 &&
	    (!ebbi_reclaim(own, ebbi_max_size(bytes, align_bytes)) ||
	     ebbi_large_alloc(&ebbi_heap.large, bytes, align_bytes, content, &block) != 0)) {
		ebbi_set_give(set, counted);
		return NULL;
	}
	ebbi_large_assign(block, set, counted);
	return block;
}

/* `own` as in heap/reclaim.h. */
static void *large_alloc(struct ebbi_cache *own, size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	struct ebbi_set *set = own != NULL ? ebbi_thread_self.stand->set : &ebbi_heap.store.home;
	void *block;

	if (bytes > REQUEST_MOST)
		return NULL;
	if (EBBI_UNLIKELY(ebbi_set_is_counted(set))) {
		block = counted_large_alloc(own, set, bytes, align_bytes, content);
		ebbi_budget_note();
		ebbi_scavenger_note_large(bytes);
		return block;
	}
	if (EBBI_UNLIKELY(ebbi_large_alloc(&ebbi_heap.large, bytes, align_bytes, content, &block) != 0) &&
	    (!ebbi_reclaim(own, ebbi_max_size(bytes, align_bytes)) ||
	     ebbi_large_alloc(&ebbi_heap.large, bytes, align_bytes, content, &block) != 0))
		return NULL;
	ebbi_budget_note();
	ebbi_scavenger_note_large(bytes);
	return block;
}

static bool reclaim_for_slot(struct ebbi_cache *own, unsigned size_class)
{
	return ebbi_reclaim(own, ebbi_sizes[size_class].slab_pages * EBBI_PAGE_BYTES);
}

static bool make_room_for_slot(struct ebbi_cache *own, const struct ebbi_stand *stand, unsigned size_class)
{
	if (ebbi_account_is_full(stand->set, ebbi_sizes[size_class].bytes))
		return ebbi_account_make_room(own, stand->set, ebbi_sizes[size_class].bytes);
	return reclaim_for_slot(own, size_class);
}

/* A slot for a thread that is inside its cache, which has none of this class. */
static void *slot_take(struct ebbi_cache *cache, unsigned size_class)
{
	struct ebbi_cache_pool *pool = &ebbi_heap.registry.pool;
	struct ebbi_stand *stand = ebbi_thread_self.stand;
	void *slot = ebbi_stand_take(pool, stand, size_class);

	if (EBBI_UNLIKELY(slot == NULL) && make_room_for_slot(cache, stand, size_class))
		slot = ebbi_stand_take(pool, stand, size_class);
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
	unsigned size_class = ebbi_class_for(bytes, align_bytes);

	if (size_class == EBBI_CLASS_NONE)
		return large_alloc(cache, ebbi_max_size(bytes, 1), align_bytes, content);
	return slot_take(cache, size_class);
}

/* By a thread without a cache, its signals blocked: one slot, straight from the bin. */
static void *alloc_without_cache(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	unsigned size_class = ebbi_class_for(bytes, align_bytes);
	struct ebbi_bin *bin = &ebbi_heap.store.home.bins[size_class];
	void *slot;

	if (size_class == EBBI_CLASS_NONE)
		return large_alloc(NULL, ebbi_max_size(bytes, 1), align_bytes, content);
	slot = ebbi_bin_take_one(&ebbi_heap.store, bin);
	if (slot == NULL && reclaim_for_slot(NULL, size_class))
		slot = ebbi_bin_take_one(&ebbi_heap.store, bin);
	if (slot == NULL)
		return NULL;
	ebbi_budget_note();
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
	ebbi_account_settle(ebbi_thread_self.stand->set);
	if (EBBI_UNLIKELY(block == NULL))
		return refused(bytes, align_bytes, content);
	return bytes <= EBBI_SMALL_MOST ? zeroed(block, bytes, content) : block;
}

void *ebbi_heap_alloc_uncounted(size_t bytes, size_t align_bytes, enum ebbi_content content)
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

void *ebbi_heap_alloc(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	if (bytes <= REQUEST_MOST && EBBI_UNLIKELY(ebbi_count_down(&ebbi_thread_self.left, bytes)))
		return ebbi_sampled_alloc(bytes, align_bytes, content);
	return ebbi_heap_alloc_uncounted(bytes, align_bytes, content);
}

void *ebbi_heap_alloc_slow(size_t bytes)
{
	if (EBBI_UNLIKELY(bytes > REQUEST_MOST))
		ebbi_thread_self.left = ebbi_countdown_before(bytes);
	else if (EBBI_UNLIKELY(ebbi_countdown_was_over(bytes)))
		return ebbi_sampled_alloc(bytes, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
	return ebbi_heap_alloc_uncounted(bytes, EBBI_ALIGNMENT, EBBI_CONTENT_ANY);
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

	ebbi_scavenger_note_cached(cache, ebbi_rack_bytes(&ebbi_thread_self.shelf->racks[size_class], size_class));
	ebbi_handshake_leave(&cache->handshake);
	ebbi_budget_settle();
	ebbi_account_settle(ebbi_thread_self.stand->set);
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
	struct ebbi_stand *stand = &cache->home;

	if (size_class >= EBBI_CLASSES) {
		ebbi_registry_free_large(&ebbi_heap.registry, cache, block, entry);
		ebbi_scavenger_note(cache, bytes);
		return;
	}
	/* A sample goes straight to its bin: it is rare, and a shelf is not. */
	if (EBBI_UNLIKELY(ebbi_entry_is_counted(entry)))
		stand = ebbi_is_sampled(entry) ? NULL : ebbi_account_stand(cache, entry);
	if (EBBI_LIKELY(stand != NULL))
		bytes = ebbi_stand_put(&ebbi_heap.registry.pool, stand, size_class, block);
	else
		ebbi_bin_give(&ebbi_heap.store, ebbi_store_bin(&ebbi_heap.store, entry), &block, 1);
	ebbi_scavenger_note(cache, bytes);
}

static void free_without_cache(void *block, uint64_t entry)
{
	before_free(NULL, block, entry);
	if (ebbi_entry_kind(entry) < EBBI_CLASSES)
		ebbi_bin_give(&ebbi_heap.store, ebbi_store_bin(&ebbi_heap.store, entry), &block, 1);
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
	if (EBBI_UNLIKELY(ebbi_is_sampled(entry)))
		ebbi_sampled_drop(block);
	if (EBBI_LIKELY(cache != NULL)) {
		free_seen(cache, ebbi_handshake_enter(&cache->handshake), block, entry);
		return;
	}
	ebbi_signals_block(&mask);
	free_without_cache(block, entry);
	ebbi_signals_restore(&mask);
}

/* Inside, and the block cannot simply be pushed onto the stand's rack. Comes out. */
static __attribute__((noinline)) void spill(const struct ebbi_stand *stand, void *block, uint64_t entry)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;

	(void)ebbi_misuse_judge("free", block);
	if (stand->shelf->racks[ebbi_entry_kind(entry)].hot == block)
		ebbi_report_free_slot("free", block, ebbi_misuse_block_bytes(entry));
	free_inside(cache, block, entry);
	ebbi_handshake_leave(&cache->handshake);
}

/* The short way of a slot that belongs to an account. */
static inline __attribute__((always_inline)) void free_onto(const struct ebbi_stand *stand, void *block, uint64_t entry)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	uint32_t seen = ebbi_handshake_enter(&cache->handshake);

	if (EBBI_UNLIKELY(!ebbi_seen_clear(seen)))
		ebbi_heap_free_seen(block, seen);
	else if (EBBI_UNLIKELY(!ebbi_fast_push_try(stand->shelf, block, ebbi_entry_plain(entry))))
		spill(stand, block, entry);
	else
		ebbi_handshake_leave(&cache->handshake);
}

/* A slot of an account that the thread is not in: onto that one's shelf, if the thread was in it before. */
static __attribute__((noinline)) void free_elsewhere(void *block, uint64_t entry)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	const struct ebbi_stand *stand = NULL;

	if (cache != NULL)
		stand = ebbi_cache_stand(cache, ebbi_store_bin(&ebbi_heap.store, entry)->set);
	if (stand != NULL)
		free_onto(stand, block, entry);
	else
		ebbi_heap_free(block);
}

/* First the short way of a slot of the account that the thread is in. A hardened heap has no accounts. */
void ebbi_heap_free_slow(void *block, uint64_t entry)
{
	const struct ebbi_stand *stand = ebbi_thread_self.stand;

	if (!ebbi_entry_is_counted(entry)) {
		if (block != NULL)
			ebbi_heap_free(block);
	} else if (ebbi_thread_self.cache != NULL && EBBI_LIKELY(ebbi_stand_is_for(stand, entry))) {
		free_onto(stand, block, entry);
	} else {
		free_elsewhere(block, entry);
	}
}

void ebbi_heap_free_sized_slow(void *block, uint64_t entry, size_t said_bytes)
{
	if (block != NULL && ebbi_is_hardened())
		ebbi_hardened_free(block, said_bytes);
	else
		ebbi_heap_free_slow(block, entry);
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

	if (block != NULL)
		spill(&cache->home, block, entry);
	else
		ebbi_handshake_leave(&cache->handshake);
}
