#include "caches/registry.h"

#include <string.h>

#include "caches/nested.h"
#include "platform/clock.h"
#include "platform/membarrier.h"
#include "platform/thread.h"

/*
 * So many looks find a cache touched, then it is emptied all the same: a thread that does a little now and then (a timer, a
 * heartbeat) uses one class and would keep all the others for good, a page for each slot (a MiB of slots left
 * behind by a peak of 1 GiB held 16 MiB). A busy thread has its own back with a few refills, some 0.1 ms in 4 s.
 */
#define TOUCHED_LOOKS_MOST 8u

/* Caches stopped for one barrier. */
#define SWEEP_BATCH 64u

/* How long fork waits for owners to come out: they hold no lock that fork has, so they need only run. */
#define FORK_PATIENCE_NS 50000000u

void ebbi_registry_init(struct ebbi_registry *registry, struct ebbi_store *store, struct ebbi_large *large)
{
	registry->pool.store = store;
	registry->large = large;
	ebbi_lock_init(&registry->lock, EBBI_RANK_REGISTRY);
}

static size_t shelf_bytes(const struct ebbi_registry *registry)
{
	return ebbi_shelf_bytes(registry->pool.store->meta.page_bytes) + registry->more_bytes;
}

/* Not on any list yet. */
static struct ebbi_cache *cache_create(struct ebbi_registry *registry)
{
	struct ebbi_meta *meta = &registry->pool.store->meta;
	struct ebbi_cache *cache = ebbi_meta_alloc(meta, sizeof(struct ebbi_cache), EBBI_META_LASTING);

	if (cache == NULL)
		return NULL;
	cache->home.shelf = ebbi_meta_area(meta, shelf_bytes(registry));
	if (cache->home.shelf == NULL) {
		ebbi_meta_free(meta, cache, sizeof(struct ebbi_cache));
		return NULL;
	}
	cache->home.set = &registry->pool.store->home;
	ebbi_handshake_init(&cache->handshake, registry->standing_stop);
	return cache;
}

struct ebbi_cache *ebbi_registry_adopt(struct ebbi_registry *registry)
{
	struct ebbi_cache *cache;

	ebbi_lock_acquire(&registry->lock);
	cache = registry->free;
	if (cache != NULL) {
		ebbi_store_relaxed(&registry->free, cache->next_free);
		cache->owned = true;
		ebbi_counter_add(&registry->owned, 1u);
	}
	ebbi_lock_release(&registry->lock);
	if (cache != NULL)
		return cache;
	cache = cache_create(registry);
	if (cache == NULL)
		return NULL;
	ebbi_lock_acquire(&registry->lock);
	cache->owned = true;
	ebbi_counter_add(&registry->owned, 1u);
	cache->next = registry->all;
	cache->number = cache->next == NULL ? 0 : (uint16_t)(cache->next->number + 1u);
	cache->home.taker = cache->number;
	ebbi_store_release(&registry->all, cache); /* partner: every walk over all caches */
	ebbi_lock_release(&registry->lock);
	return cache;
}

void ebbi_registry_leave(struct ebbi_registry *registry, struct ebbi_cache *cache)
{
	if (!ebbi_handshake_retire_begin(&cache->handshake))
		return;
	/* Freed slots where a full check finds them, not in a cache that nobody looks into. */
	if (registry->full_check)
		(void)ebbi_cache_drain(&registry->pool, cache);
	ebbi_handshake_retire_end(&cache->handshake);
	ebbi_lock_acquire(&registry->lock);
	cache->owned = false;
	ebbi_store_relaxed(&cache->owner_at, NULL);
	cache->next_free = registry->free;
	ebbi_store_relaxed(&registry->free, cache);
	ebbi_counter_sub(&registry->owned, 1u);
	ebbi_lock_release(&registry->lock);
}

void ebbi_registry_free_large(struct ebbi_registry *registry, struct ebbi_cache *cache, void *block, uint64_t entry)
{
	if (!ebbi_nested_keep(cache, block, entry))
		ebbi_large_free(registry->large, block, entry);
}

/* To the shelf of its set, or straight to its bin where there is none. */
static void free_slot(struct ebbi_registry *registry, struct ebbi_cache *cache, void *slot, uint64_t entry)
{
	struct ebbi_bin *bin = ebbi_store_bin(registry->pool.store, entry);
	struct ebbi_stand *stand = ebbi_cache_stand(cache, bin->set);

	if (stand != NULL)
		(void)ebbi_stand_put(&registry->pool, stand, bin->size_class, slot);
	else
		ebbi_bin_give(registry->pool.store, bin, &slot, 1);
}

void ebbi_registry_free_deferred(struct ebbi_registry *registry, struct ebbi_cache *cache)
{
	void *object = ebbi_handshake_deferred_take(&cache->handshake);

	while (object != NULL) {
		void *next = *(void **)object;
		uint64_t entry = ebbi_pagemap_get((uintptr_t)object);

		if (registry->free_deferred != NULL)
			registry->free_deferred(cache, object);
		else if (ebbi_entry_kind(entry) < EBBI_CLASSES)
			free_slot(registry, cache, object, entry);
		else
			ebbi_registry_free_large(registry, cache, object, entry);
		ebbi_fetch_add_relaxed(&registry->deferred_frees, 1);
		object = next;
	}
}

/* Bytes of one of a cache's shelves. */
static size_t bytes_of_shelf(const struct ebbi_registry *registry, const struct ebbi_stand *stand)
{
	size_t bytes = shelf_bytes(registry);

	return ebbi_set_is_counted(stand->set) ? bytes - registry->more_bytes : bytes;
}

static void purge_shelves(const struct ebbi_registry *registry, struct ebbi_cache *cache)
{
	const struct ebbi_vm *vm = registry->pool.store->pages.vm;

	for (struct ebbi_stand *stand = &cache->home; stand != NULL; stand = stand->next)
		(void)vm->purge(stand->shelf, bytes_of_shelf(registry, stand));
}

/* What they held is never handed out again. */
static void forget_shelves(struct ebbi_registry *registry, struct ebbi_cache *cache)
{
	for (struct ebbi_stand *stand = &cache->home; stand != NULL; stand = stand->next) {
		memset(stand->shelf, 0, sizeof(struct ebbi_shelf));
		ebbi_fetch_sub_relaxed(&registry->pool.grown_bytes, stand->grown_bytes);
		stand->grown_bytes = 0;
	}
	memset((char *)cache->home.shelf + shelf_bytes(registry) - registry->more_bytes, 0, registry->more_bytes);
}

/* The cache is stopped and its owner out. */
static void empty(struct ebbi_registry *registry, struct ebbi_cache *cache)
{
	ebbi_registry_free_deferred(registry, cache);
	(void)ebbi_cache_drain(&registry->pool, cache);
	ebbi_nested_release(registry, cache);
	if (!registry->keep_shelves)
		purge_shelves(registry, cache);
	ebbi_store_relaxed(&cache->drained, true);
	ebbi_store_relaxed(&cache->touched_looks, 0);
	ebbi_fetch_add_relaxed(&registry->drained, 1);
}

/*
 * Is this cache to be emptied now? If so it comes back stopped. Counts in *left what stays full
 * until a later sweep.
 */
static bool stop_candidate(struct ebbi_cache *cache, enum ebbi_sweep which, size_t *left)
{
	if (ebbi_handshake_touch_clear_try(&cache->handshake)) {
		ebbi_store_relaxed(&cache->drained, false);
		if (which == EBBI_SWEEP_IDLE &&
		    ebbi_fetch_add_relaxed(&cache->touched_looks, 1) + 1 < TOUCHED_LOOKS_MOST) {
			++*left;
			return false;
		}
	}
	if (which == EBBI_SWEEP_NOTE || ebbi_load_relaxed(&cache->drained))
		return false;
	if (!ebbi_handshake_looks_idle(&cache->handshake) || !ebbi_handshake_stop_try(&cache->handshake)) {
		++*left;
		return false;
	}
	return true;
}

/* With a barrier behind us: empty those whose owners are out, and let all go on. */
static void empty_batch(struct ebbi_registry *registry, struct ebbi_cache *const batch[], unsigned count, size_t *left)
{
	bool ordered = ebbi_membarrier_barrier() == 0;

	for (unsigned i = 0; i < count; i++) {
		if (ordered && !ebbi_handshake_is_busy(&batch[i]->handshake)) {
			empty(registry, batch[i]);
		} else {
			ebbi_fetch_add_relaxed(&registry->put_off, 1);
			++*left;
		}
		ebbi_handshake_resume(&batch[i]->handshake);
	}
}

static size_t sweep_by_barrier(struct ebbi_registry *registry, enum ebbi_sweep which, const struct ebbi_cache *own)
{
	struct ebbi_cache *batch[SWEEP_BATCH];
	struct ebbi_cache *cache = ebbi_load_acquire(&registry->all); /* partner: adopt */
	size_t left = 0;

	while (cache != NULL) {
		unsigned count = 0;

		for (; cache != NULL && count < SWEEP_BATCH; cache = cache->next)
			if (cache != own && stop_candidate(cache, which, &left))
				batch[count++] = cache;
		if (count > 0)
			empty_batch(registry, batch, count, &left);
	}
	return left;
}

/*
 * Without the barrier only caches without an owner can be emptied; the others are asked to do it
 * themselves. Ownership cannot begin while the registry's lock is held, and DRAIN, once set, is seen
 * by whoever takes that lock later.
 */
static size_t sweep_by_request(struct ebbi_registry *registry, const struct ebbi_cache *own)
{
	for (struct ebbi_cache *cache = ebbi_load_acquire(&registry->all); cache != NULL; cache = cache->next) {
		bool stopped = false;

		if (ebbi_handshake_touch_clear_try(&cache->handshake))
			ebbi_store_relaxed(&cache->drained, false);
		if (cache == own || ebbi_load_relaxed(&cache->drained))
			continue;
		ebbi_lock_acquire(&registry->lock);
		if (cache->owned)
			ebbi_handshake_request(&cache->handshake);
		else
			stopped = ebbi_handshake_stop_try(&cache->handshake);
		ebbi_lock_release(&registry->lock);
		if (!stopped)
			continue;
		empty(registry, cache);
		ebbi_handshake_resume(&cache->handshake);
	}
	return 0;
}

size_t ebbi_registry_sweep(struct ebbi_registry *registry, enum ebbi_sweep which, struct ebbi_cache *own)
{
	if (ebbi_membarrier_available())
		return sweep_by_barrier(registry, which, own);
	if (which == EBBI_SWEEP_NOTE)
		return 0;
	return sweep_by_request(registry, own);
}

/* Wait, for a bounded time, until every other owner was seen outside. */
static void wait_until_quiet(struct ebbi_registry *registry, const struct ebbi_cache *own)
{
	uint64_t deadline = ebbi_clock_now_ns() + FORK_PATIENCE_NS;
	bool quiet;

	do {
		quiet = true;
		for (struct ebbi_cache *cache = registry->all; cache != NULL; cache = cache->next)
			quiet &= cache == own || ebbi_handshake_quiet_try(&cache->handshake);
		if (!quiet)
			ebbi_thread_yield();
	} while (!quiet && ebbi_clock_now_ns() < deadline);
}

/* The lock and the inside of `own`, without a handler in between that would find only the first. */
static bool fork_begin(struct ebbi_registry *registry, struct ebbi_cache *own)
{
	uint64_t mask;
	bool begun;

	ebbi_signals_block(&mask);
	/* A nested caller must not wait for the lock, which the frame it interrupted may hold. */
	begun = own == NULL || !ebbi_handshake_is_nested(&own->handshake);
	if (begun) {
		ebbi_lock_acquire(&registry->lock);
		begun = own == NULL || ebbi_handshake_fork_begin(&own->handshake);
		if (!begun)
			ebbi_lock_release(&registry->lock);
	}
	ebbi_signals_restore(&mask);
	return begun;
}

bool ebbi_registry_fork_prepare(struct ebbi_registry *registry, struct ebbi_cache *own)
{
	bool alone = true;

	if (!fork_begin(registry, own))
		return false;
	for (struct ebbi_cache *cache = registry->all; cache != NULL; cache = cache->next) {
		if (cache == own)
			continue;
		ebbi_handshake_stop(&cache->handshake);
		alone = false;
	}
	if (!alone && ebbi_membarrier_barrier() == 0)
		wait_until_quiet(registry, own);
	return true;
}

/* The reverse of fork_begin. Handlers are nested until the lock is free: no signal needs to be blocked. */
static void fork_end(struct ebbi_registry *registry, struct ebbi_cache *own)
{
	ebbi_lock_release(&registry->lock);
	if (own != NULL)
		ebbi_handshake_fork_end(&own->handshake);
}

void ebbi_registry_fork_parent(struct ebbi_registry *registry, struct ebbi_cache *own)
{
	for (struct ebbi_cache *cache = registry->all; cache != NULL; cache = cache->next)
		if (cache != own)
			ebbi_handshake_resume(&cache->handshake);
	fork_end(registry, own);
}

void ebbi_registry_fork_child(struct ebbi_registry *registry, struct ebbi_cache *own)
{
	ebbi_store_relaxed(&registry->free, (struct ebbi_cache *)NULL);
	ebbi_store_relaxed(&registry->owned, own != NULL ? 1u : 0u);
	for (struct ebbi_cache *cache = registry->all; cache != NULL; cache = cache->next) {
		if (cache == own)
			continue;
		if (!ebbi_handshake_is_quiet(&cache->handshake)) {
			/* Caught inside. */
			forget_shelves(registry, cache);
			registry->lost++;
		}
		cache->owned = false;
		cache->next_free = registry->free;
		ebbi_store_relaxed(&registry->free, cache);
		ebbi_handshake_orphan(&cache->handshake);
		ebbi_handshake_resume(&cache->handshake);
	}
	fork_end(registry, own);
}
