#include "heap/heap.h"

#include "heap/budget.h"
#include "heap/inside.h"
#include "heap/reclaim.h"
#include "heap/scavenger.h"

/*
 * All locks in the order of their ranks, so that the child finds everything whole. The forking thread
 * stays inside its cache from prepare to the end: whatever runs on it meanwhile is served as a nested
 * caller.
 */
void ebbi_heap_fork_prepare(void)
{
	struct ebbi_store *store = &ebbi_heap.store;
	struct ebbi_cache *own = ebbi_thread_cache();

	/* Counted, since such a fork may come between another one's prepare and its end. */
	if (!ebbi_registry_fork_prepare(&ebbi_heap.registry, own)) {
		ebbi_thread_self.nested_forks++;
		return;
	}
	ebbi_lock_acquire(&store->pages.purge_lock);
	for (struct ebbi_bin *bin = NULL; (bin = ebbi_store_next_bin(store, bin)) != NULL;)
		ebbi_lock_acquire_group(&bin->lock);
	ebbi_lock_acquire(&store->pages.grow_lock);
	ebbi_lock_acquire(&store->pages.lock);
	ebbi_lock_acquire_group(&ebbi_heap.large.lock);
	ebbi_lock_acquire(&store->meta.lock);
}

/* The end of a fork that took nothing. */
static bool was_nested(void)
{
	if (ebbi_thread_self.nested_forks == 0)
		return false;
	ebbi_thread_self.nested_forks--;
	return true;
}

static void release(void)
{
	struct ebbi_store *store = &ebbi_heap.store;

	ebbi_lock_release(&store->meta.lock);
	ebbi_lock_release(&ebbi_heap.large.lock);
	ebbi_lock_release(&store->pages.lock);
	ebbi_lock_release(&store->pages.grow_lock);
	for (struct ebbi_bin *bin = NULL; (bin = ebbi_store_next_bin(store, bin)) != NULL;)
		ebbi_lock_release(&bin->lock);
	ebbi_lock_release(&store->pages.purge_lock);
}

void ebbi_heap_fork_parent(void)
{
	if (was_nested())
		return;
	release();
	ebbi_registry_fork_parent(&ebbi_heap.registry, ebbi_thread_self.cache);
}

void ebbi_heap_fork_child(void)
{
	ebbi_scavenger_forget();
	ebbi_reclaim_forget();
	if (was_nested())
		return;
	release();
	ebbi_registry_fork_child(&ebbi_heap.registry, ebbi_thread_self.cache);
	ebbi_budget_forget();
}
