#include "heap/reclaim.h"

#include "heap/budget.h"
#include "pages/release.h"
#include "platform/clock.h"
#include "platform/futex.h"
#include "policy/reclaim.h"

/* How long to wait for another thread's reclaim, in steps, since a wake may be missed in the child of a fork. */
#define WAIT_STEP_NS 10000000
#define WAIT_STEPS 20u

enum { IDLE, RUNNING };

static struct {
	uint32_t word; /* futex: IDLE or RUNNING; acquire/release: RUNNING guards `last` */
	uint64_t done; /* relaxed */
	struct ebbi_reclaim_last last;
} reclaim;

/* Mapped, and neither the program's nor part of a slab: what a reclaim may be able to give. */
static size_t free_pages(void)
{
	struct ebbi_pages *pages = &ebbi_heap.store.pages;
	size_t free;

	ebbi_lock_acquire(&pages->lock);
	free = (pages->mapped_bytes >> EBBI_PAGE_SHIFT) - pages->live_pages;
	ebbi_lock_release(&pages->lock);
	return free + ebbi_load_relaxed(&ebbi_heap.large.retained_pages);
}

/* Returns pages that were free, or in caches, and are neither now. */
static size_t give_everything(struct ebbi_cache *own)
{
	struct ebbi_store *store = &ebbi_heap.store;
	size_t live_before = ebbi_heap_live_pages();
	size_t left = 0;
	size_t given = 0;
	size_t live_after;

	if (own != NULL)
		(void)ebbi_cache_drain(&ebbi_heap.registry.pool, own);
	(void)ebbi_registry_sweep(&ebbi_heap.registry, EBBI_SWEEP_ALL, own);
	for (struct ebbi_bin *bin = NULL; (bin = ebbi_store_next_bin(store, bin)) != NULL;)
		(void)ebbi_bin_purge(store, bin, /* everything= */ true, &left);
	given += ebbi_large_purge(&ebbi_heap.large, /* everything= */ true, &left);
	live_after = ebbi_heap_live_pages();
	given += ebbi_pages_release(&store->pages);
	return given + (live_before > live_after ? live_before - live_after : 0);
}

/* The scavenger may be unmapping what the request found no room beside: then wait for it. */
static bool wait_for_purge(void)
{
	struct ebbi_lock *lock = &ebbi_heap.store.pages.purge_lock;

	if (ebbi_lock_acquire_try(lock)) {
		ebbi_lock_release(lock);
		return false;
	}
	ebbi_lock_wait_free(lock);
	return true;
}

/* After a reclaim there is a second try, whatever it gave: another thread may have given as well. */
static bool reclaim_now(struct ebbi_cache *own, size_t wanted_pages)
{
	struct ebbi_reclaim_last *last = &reclaim.last;
	uint64_t start_ns = ebbi_clock_thread_ns();

	if (!ebbi_policy_reclaim_is_due(last, ebbi_clock_now_ns(), free_pages(), wanted_pages))
		return wait_for_purge();
	last->vain = give_everything(own) < wanted_pages;
	ebbi_budget_measure_for(wanted_pages << EBBI_PAGE_SHIFT);
	last->free_pages = free_pages();
	last->end_ns = ebbi_clock_now_ns();
	last->took_ns = ebbi_clock_thread_ns() - start_ns;
	ebbi_fetch_add_relaxed(&reclaim.done, 1u);
	return true;
}

static void wait_for_other(void)
{
	for (unsigned i = 0; i < WAIT_STEPS && ebbi_load_acquire(&reclaim.word) == RUNNING; i++)
		(void)ebbi_futex_wait(&reclaim.word, RUNNING, WAIT_STEP_NS);
}

bool ebbi_reclaim(struct ebbi_cache *own, size_t bytes)
{
	uint32_t expected = IDLE;
	bool again;

	/* More than any amount of freeing can make room for. */
	if (bytes > ebbi_vm_address_limit_bytes() || ebbi_budget_is_above(bytes))
		return false;
	if (ebbi_budget_has_room_again(bytes))
		return true;
	if (!ebbi_cas_acquire(&reclaim.word, &expected, (uint32_t)RUNNING)) {
		wait_for_other();
		return true;
	}
	again = reclaim_now(own, ebbi_divide_up(bytes, EBBI_PAGE_BYTES));
	ebbi_store_release(&reclaim.word, (uint32_t)IDLE);
	ebbi_futex_wake(&reclaim.word, INT32_MAX);
	return again;
}

uint64_t ebbi_reclaim_count(void)
{
	return ebbi_load_relaxed(&reclaim.done);
}

void ebbi_reclaim_forget(void)
{
	reclaim.last = (struct ebbi_reclaim_last){0};
	ebbi_store_relaxed(&reclaim.word, (uint32_t)IDLE);
}
