/*
 * ebb.c: the functions of ebb.h, and the library's birth and death.
 */
#include <ebb/ebb.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "accounts/sampling.h"
#include "api/names.h"
#include "heap/account.h"
#include "heap/budget.h"
#include "heap/fast.h"
#include "heap/guarded.h"
#include "heap/hardened.h"
#include "heap/heap.h"
#include "heap/inside.h"
#include "platform/libc.h"
#include "stats/refusal.h"
#include "stats/snapshot.h"

EBBI_EXPORT const char *ebb_version(void)
{
	return EBB_VERSION;
}

/* Hold the figures from within the thread's cache, as stats/ asks; NULL when a handler interrupted the allocator. */
static const struct ebb_snapshot *hold_snapshot(struct ebbi_cache **ret_cache)
{
	struct ebbi_cache *cache = ebbi_thread_cache();

	if (cache != NULL && ebbi_heap_enter(cache) == EBBI_NESTED) {
		errno = EAGAIN;
		return NULL;
	}
	*ret_cache = cache;
	return ebbi_snapshot_hold();
}

static void release_snapshot(struct ebbi_cache *cache)
{
	ebbi_snapshot_release();
	if (cache != NULL)
		ebbi_handshake_leave(&cache->handshake);
}

EBBI_EXPORT int ebb_snapshot(struct ebb_snapshot *ret_snapshot, size_t size_bytes)
{
	const struct ebb_snapshot *snapshot;
	struct ebbi_cache *cache;

	if (ret_snapshot == NULL || size_bytes < 2 * sizeof(uint32_t)) {
		errno = EINVAL;
		return -1;
	}
	snapshot = hold_snapshot(&cache);
	if (snapshot == NULL)
		return -1;
	if (size_bytes > sizeof(*snapshot))
		size_bytes = sizeof(*snapshot);
	memcpy(ret_snapshot, snapshot, size_bytes);
	release_snapshot(cache);
	ret_snapshot->size_bytes = (uint32_t)size_bytes;
	return 0;
}

EBBI_EXPORT size_t ebb_purge(void)
{
	return ebbi_heap_purge();
}

/* The API's way to say what internals return. */
static int answer(int result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

EBBI_EXPORT int ebb_budget_set(size_t bytes)
{
	ebbi_heap_boot();
	return answer(ebbi_budget_set(bytes));
}

EBBI_EXPORT size_t ebb_budget_get(void)
{
	return ebbi_budget_get();
}

EBBI_EXPORT unsigned ebb_pressure(void)
{
	return ebbi_budget_pressure();
}

EBBI_EXPORT int ebb_on_pressure(ebb_pressure_callback *callback, unsigned level)
{
	return answer(ebbi_callbacks_add(callback, level));
}

EBBI_EXPORT int ebb_off_pressure(ebb_pressure_callback *callback)
{
	return answer(ebbi_callbacks_remove(callback));
}

EBBI_EXPORT int ebb_pressure_fd(unsigned level)
{
	return answer(ebbi_callbacks_add_descriptor(level));
}

EBBI_EXPORT int ebb_account_create(const char *name, size_t limit_bytes)
{
	return answer(ebbi_account_create(name, limit_bytes));
}

EBBI_EXPORT int ebb_account_limit(int account, size_t soft_bytes, size_t limit_bytes)
{
	return answer(ebbi_account_limit(account, soft_bytes, limit_bytes));
}

EBBI_EXPORT int ebb_account_enter(int account)
{
	return answer(ebbi_account_enter(account));
}

EBBI_EXPORT void *ebb_account_malloc(int account, size_t bytes)
{
	int before = ebb_account_enter(account);
	void *block;

	if (before < 0)
		return NULL;
	block = ebbi_fast_alloc(bytes);
	(void)ebbi_account_enter(before);
	return block;
}

EBBI_EXPORT int ebb_account_figures(int account, struct ebb_account *ret_account, size_t size_bytes)
{
	struct ebb_account figures = {0};

	if (ret_account == NULL || size_bytes < sizeof(figures.name) || ebbi_snapshot_account(account, &figures) != 0) {
		errno = EINVAL;
		return -1;
	}
	memcpy(ret_account, &figures, ebbi_min_size(size_bytes, sizeof(figures)));
	return 0;
}

EBBI_EXPORT void malloc_stats(void)
{
	struct ebbi_cache *cache;
	const struct ebb_snapshot *snapshot = hold_snapshot(&cache);

	if (snapshot == NULL)
		return;
	ebbi_snapshot_print(snapshot);
	release_snapshot(cache);
}

/* The samples' tables are locked before the heap is entered. */
static void before_fork(void)
{
	ebbi_sampling_fork_prepare();
	ebbi_heap_fork_prepare();
}

static void after_fork_in_parent(void)
{
	ebbi_heap_fork_parent();
	ebbi_sampling_fork_end(/* in_child= */ false);
}

static void after_fork_in_child(void)
{
	ebbi_heap_fork_child();
	ebbi_snapshot_forget();
	ebbi_sampling_fork_end(/* in_child= */ true);
}

/* Before main and before other constructors, while there is one thread. */
__attribute__((constructor(101))) static void library_begins(void)
{
	ebbi_heap_boot();
	ebbi_heap.publish = ebbi_snapshot_publish;
	ebbi_heap.explain = ebbi_refusal_explain;
	ebbi_sampling_start();
	/* May allocate: after boot. */
	if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
		(void)ebbi_fetch_or_relaxed(&ebbi_heap.features_off, EBB_OFF_ATFORK);
}

/* The last chance to find a double free whose slot never left this thread's cache. */
static void settle_accounts(void)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	size_t left = 0;

	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		return;
	(void)ebbi_cache_drain(&ebbi_heap.registry.pool, cache);
	if (ebbi_is_hardened())
		ebbi_guarded_look(/* everything= */ true, &left);
	ebbi_handshake_leave(&cache->handshake);
}

__attribute__((destructor(101))) static void library_ends(void)
{
	settle_accounts();
	if (ebbi_heap.config.stats)
		malloc_stats();
}
