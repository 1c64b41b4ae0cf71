/* All caches: adopting and leaving, sweeps with and without the barrier, deferred frees, forks. */
#include "caches/registry.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caches/nested.h"
#include <sys/mman.h>

#include "check.h"
#include "fake_vm.h"
#include "platform/membarrier.h"

static struct ebbi_store store;
static struct ebbi_large large;
static struct ebbi_registry registry;

/* A kernel's membarrier that counts, and refuses when told. */
static unsigned barriers;
static long barrier_result;
static struct ebbi_handshake *come_in; /* this owner goes inside while the barrier runs */

static long fake_query(void)
{
	return MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
}

static long fake_register(void)
{
	return 0;
}

static long fake_barrier(void)
{
	barriers++;
	if (come_in != NULL)
		(void)ebbi_handshake_enter(come_in);
	return barrier_result;
}

static const struct ebbi_membarrier_ops fake_membarrier = {
	.query = fake_query,
	.register_private = fake_register,
	.barrier = fake_barrier,
};

static void begin(void)
{
	memset(&store, 0, sizeof(store));
	memset(&large, 0, sizeof(large));
	memset(&registry, 0, sizeof(registry));
	fake_vm_reset(4096);
	ebbi_store_init(&store, &fake_vm, 4096, EBBI_HUGE_ADVICE_NONE);
	ebbi_large_init(&large, &store);
	ebbi_registry_init(&registry, &store, &large);
	barriers = 0;
	barrier_result = 0;
	come_in = NULL;
	CHECK_EQ(ebbi_membarrier_open(&fake_membarrier), 0);
}

static struct ebbi_cache *adopt(void)
{
	struct ebbi_cache *cache = ebbi_registry_adopt(&registry);

	CHECK(cache != NULL);
	return cache;
}

/* What an owner does: in, some slots taken and one freed, out. */
static void use(struct ebbi_cache *cache)
{
	CHECK(ebbi_seen_clear(ebbi_handshake_enter(&cache->handshake)));
	for (unsigned i = 0; i < 10; i++)
		(void)ebbi_stand_put(&registry.pool, &cache->home, EBBI_CLASS_64,
				     ebbi_stand_take(&registry.pool, &cache->home, EBBI_CLASS_64));
	ebbi_handshake_leave(&cache->handshake);
}

static bool is_full(const struct ebbi_cache *cache)
{
	return ebbi_stand_held_bytes(&cache->home, NULL) > 0;
}

static size_t sweep(enum ebbi_sweep which, struct ebbi_cache *own)
{
	size_t left = ebbi_registry_sweep(&registry, which, own);

	ebbi_bin_check(&store.home.bins[EBBI_CLASS_64]);
	ebbi_pages_check(&store.pages);
	return left;
}

TEST(adopt_and_leave)
{
	struct ebbi_cache *a;
	struct ebbi_cache *b;

	begin();
	a = adopt();
	b = adopt();
	CHECK(a != b && a->home.shelf != b->home.shelf);
	CHECK_EQ((uintptr_t)a % EBBI_CACHE_LINE, 0u);
	CHECK_EQ(registry.owned, 2u);
	use(a);
	ebbi_registry_leave(&registry, a);
	CHECK_EQ(registry.owned, 1u);
	CHECK(is_full(a));
	/* Warm to the next thread. */
	CHECK(adopt() == a);
	CHECK_EQ(registry.owned, 2u);
	ebbi_registry_leave(&registry, a);
	ebbi_registry_leave(&registry, b);
	CHECK(adopt() == b);
	CHECK(adopt() == a);
	CHECK_EQ(registry.owned, 2u);
}

TEST(full_check_leaves_nothing_behind)
{
	struct ebbi_cache *cache;

	begin();
	registry.full_check = true;
	registry.standing_stop = EBBI_STOP_SLOW;
	cache = adopt();
	CHECK_EQ(ebbi_handshake_enter(&cache->handshake) & EBBI_STOP_SLOW, EBBI_STOP_SLOW);
	(void)ebbi_stand_take(&registry.pool, &cache->home, EBBI_CLASS_64);
	ebbi_handshake_leave(&cache->handshake);
	CHECK(is_full(cache));
	ebbi_registry_leave(&registry, cache);
	CHECK(!is_full(cache));
	/* The standing order outlives owners and sweeps. */
	(void)sweep(EBBI_SWEEP_ALL, NULL);
	CHECK(adopt() == cache);
	CHECK_EQ(cache->handshake.stop, EBBI_STOP_SLOW);
}

TEST(without_memory)
{
	begin();
	/* Neither a mapping for metadata nor one for pages of the heap that could stand in. */
	fake_vm_refuse(FAKE_RESERVE, 0, UINT32_MAX);
	CHECK(ebbi_registry_adopt(&registry) == NULL);
	fake_vm_refuse(FAKE_RESERVE, 1, UINT32_MAX); /* the control block is there, the shelf is not */
	CHECK(ebbi_registry_adopt(&registry) == NULL);
	fake_vm_refuse(FAKE_RESERVE, 0, 0);
	CHECK_EQ(store.meta.used_bytes, 0u);
	CHECK_EQ(registry.owned, 0u);
	CHECK(registry.all == NULL);
	(void)adopt();
}

TEST(idle_caches_are_emptied_at_the_second_sweep)
{
	struct ebbi_cache *a;
	struct ebbi_cache *b;

	begin();
	a = adopt();
	b = adopt();
	use(a);
	use(b);
	CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), 2u);
	CHECK_EQ(barriers, 0u);
	use(b);
	CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), 1u);
	CHECK_EQ(barriers, 1u);
	CHECK(!is_full(a));
	CHECK(is_full(b));
	CHECK_EQ(fake_vm_resident_pages((uintptr_t)a->home.shelf, ebbi_shelf_bytes(4096)), 1u); /* is_full read it in */
	CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), 0u);
	CHECK(!is_full(b));
	CHECK_EQ(registry.drained, 2u);
	/* Nothing to do: no barrier. */
	CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), 0u);
	CHECK_EQ(barriers, 2u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_64].used_slots, 0u);
	/* And it works again. */
	use(a);
	CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), 1u);
	CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), 0u);
	CHECK_EQ(registry.drained, 3u);
}

/* A thread with a timer touches its cache between any two looks: what a peak left there goes all the same. */
TEST(a_cache_touched_before_each_look_is_emptied_in_the_end)
{
	struct ebbi_cache *cache;
	unsigned looks = 0;

	begin();
	cache = adopt();
	do {
		use(cache);
		CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), is_full(cache) ? 1u : 0u);
		looks++;
	} while (is_full(cache) && looks < 100);
	CHECK(!is_full(cache));
	CHECK(looks > 2);
	CHECK_EQ(registry.drained, 1u);
	/* And it is counted anew. */
	use(cache);
	CHECK_EQ(sweep(EBBI_SWEEP_IDLE, NULL), 1u);
	CHECK(is_full(cache));
}

TEST(all_at_once_but_the_own)
{
	struct ebbi_cache *caches[150];

	begin();
	for (unsigned i = 0; i < 150; i++) {
		caches[i] = adopt();
		use(caches[i]);
	}
	(void)ebbi_handshake_enter(&caches[3]->handshake);
	CHECK_EQ(sweep(EBBI_SWEEP_ALL, caches[3]), 0u);
	ebbi_handshake_leave(&caches[3]->handshake);
	CHECK_EQ(barriers, 3u); /* a batch each */
	for (unsigned i = 0; i < 150; i++) {
		CHECK_EQ(is_full(caches[i]), i == 3);
		CHECK_EQ(caches[i]->handshake.stop, 0u);
		CHECK(!ebbi_lock_is_held(&caches[i]->handshake.lock));
	}
}

TEST(owners_inside_are_left_alone)
{
	struct ebbi_cache *inside;
	struct ebbi_cache *late;

	begin();
	inside = adopt();
	late = adopt();
	use(inside);
	use(late);
	(void)ebbi_handshake_enter(&inside->handshake);
	/* This one comes in between the stop and the barrier, whose turn it is to see it. */
	come_in = &late->handshake;
	CHECK_EQ(sweep(EBBI_SWEEP_ALL, NULL), 2u);
	come_in = NULL;
	CHECK_EQ(barriers, 1u);
	CHECK_EQ(registry.put_off, 1u);
	CHECK(is_full(inside));
	CHECK(is_full(late));
	CHECK_EQ(inside->handshake.stop | late->handshake.stop, 0u);
	ebbi_handshake_leave(&inside->handshake);
	ebbi_handshake_leave(&late->handshake);
	CHECK_EQ(sweep(EBBI_SWEEP_ALL, NULL), 0u);
	CHECK(!is_full(inside) && !is_full(late));
}

TEST(a_refused_barrier_empties_nothing)
{
	struct ebbi_cache *cache;

	begin();
	cache = adopt();
	use(cache);
	barrier_result = -EPERM;
	CHECK_EQ(sweep(EBBI_SWEEP_ALL, NULL), 1u);
	CHECK(is_full(cache));
	CHECK_EQ(cache->handshake.stop, 0u);
	CHECK(!ebbi_membarrier_available());
	/* From now on the owner is asked. */
	(void)sweep(EBBI_SWEEP_ALL, NULL);
	CHECK_EQ(cache->handshake.stop, EBBI_STOP_REQUEST);
}

TEST(without_membarrier_owners_are_asked)
{
	struct ebbi_cache *mine;
	struct ebbi_cache *orphan;

	begin();
	ebbi_membarrier_close();
	mine = adopt();
	orphan = adopt();
	use(mine);
	use(orphan);
	ebbi_registry_leave(&registry, orphan);
	CHECK(is_full(orphan));
	for (unsigned i = 0; i < 2; i++)
		(void)sweep(EBBI_SWEEP_IDLE, NULL);
	/* Nobody can be inside a cache without an owner. */
	CHECK(!is_full(orphan));
	CHECK(is_full(mine));
	CHECK_EQ(mine->handshake.stop, EBBI_STOP_REQUEST);
	CHECK_EQ(ebbi_handshake_enter(&mine->handshake) & EBBI_STOP_REQUEST, EBBI_STOP_REQUEST);
	CHECK(ebbi_handshake_request_take(&mine->handshake));
	CHECK(!ebbi_handshake_request_take(&mine->handshake));
	ebbi_handshake_leave(&mine->handshake);
	CHECK_EQ(barriers, 0u);
}

TEST(shelves_are_kept_when_told_so)
{
	struct ebbi_cache *cache;

	begin();
	registry.keep_shelves = true;
	cache = adopt();
	use(cache);
	(void)sweep(EBBI_SWEEP_ALL, NULL);
	CHECK(!is_full(cache));
	CHECK_EQ(fake_vm_calls(FAKE_PURGE), 0u);
}

TEST(deferred_frees)
{
	struct ebbi_cache *cache;
	void *small;
	void *run = NULL;
	void *nested = NULL;

	begin();
	cache = adopt();
	(void)ebbi_handshake_enter(&cache->handshake);
	small = ebbi_stand_take(&registry.pool, &cache->home, EBBI_CLASS_16);
	CHECK_EQ(ebbi_large_alloc(&large, 100000, 16, EBBI_CONTENT_ANY, &run), 0);
	CHECK_EQ(ebbi_large_alloc_nested(&large, 8, 16, &nested), 0);
	ebbi_handshake_defer(&cache->handshake, small);
	ebbi_handshake_defer(&cache->handshake, run);
	ebbi_handshake_defer(&cache->handshake, nested);
	CHECK_EQ(cache->handshake.stop, EBBI_STOP_DEFERRED);
	ebbi_registry_free_deferred(&registry, cache);
	CHECK_EQ(cache->handshake.stop, 0u);
	CHECK_EQ(registry.deferred_frees, 3u);
	CHECK_EQ(large.run_pages, 0u);
	CHECK(ebbi_stand_holds(&cache->home, EBBI_CLASS_16, small));
	ebbi_registry_free_deferred(&registry, cache);
	CHECK_EQ(registry.deferred_frees, 3u);
	ebbi_handshake_leave(&cache->handshake);
	/* Also by a sweep, on a cache whose owner never comes back. */
	(void)ebbi_handshake_enter(&cache->handshake);
	small = ebbi_stand_take(&registry.pool, &cache->home, EBBI_CLASS_16);
	ebbi_handshake_defer(&cache->handshake, small);
	ebbi_handshake_leave(&cache->handshake);
	CHECK_EQ(sweep(EBBI_SWEEP_ALL, NULL), 0u);
	CHECK_EQ(registry.deferred_frees, 4u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_16].used_slots, 0u);
	CHECK_EQ(large.mapping_pages, 0u);
}

TEST(nested_pages_are_kept_and_released)
{
	struct ebbi_cache *cache;
	void *pages[100];
	unsigned kept = 0;

	begin();
	cache = adopt();
	CHECK(ebbi_nested_take(cache) == NULL);
	for (unsigned i = 0; i < 100; i++)
		CHECK_EQ(ebbi_large_alloc_nested(&large, 8, 16, &pages[i]), 0);
	for (unsigned i = 0; i < 100; i++) {
		bool keep = ebbi_nested_keep(cache, pages[i], ebbi_pagemap_get((uintptr_t)pages[i]));

		kept += keep;
		CHECK_EQ(keep, ebbi_entry_kind(ebbi_pagemap_get((uintptr_t)pages[i])) == EBBI_KIND_NONE);
	}
	CHECK_GE(kept, 1u);
	CHECK_LT(kept, 100u);
	/* The last one first, and known to the page map again. */
	CHECK(ebbi_nested_take(cache) == pages[kept - 1]);
	CHECK_EQ(ebbi_pagemap_get((uintptr_t)pages[kept - 1]), ebbi_entry_run(EBBI_KIND_NESTED, 1));
	ebbi_nested_release(&registry, cache);
	CHECK(ebbi_nested_take(cache) == NULL);
	CHECK_EQ(fake_vm_calls(FAKE_UNMAP), kept - 1);
	CHECK_EQ(ebbi_nested_count(cache), 0u);
	/* Blocks of several pages, and other kinds, are not kept. */
	CHECK_EQ(ebbi_large_alloc_nested(&large, 5000, 16, &pages[0]), 0);
	CHECK(!ebbi_nested_keep(cache, pages[0], ebbi_pagemap_get((uintptr_t)pages[0])));
	CHECK(!ebbi_nested_keep(cache, pages[1], ebbi_entry_run(EBBI_KIND_RUN, 1)));
}

/* What a handler may find between two of its own instructions: the page is another's, or gone. */
TEST(nested_take_does_not_look_into_pages)
{
	struct ebbi_cache *cache;
	void *page;
	void *other;

	begin();
	cache = adopt();
	CHECK_EQ(ebbi_large_alloc_nested(&large, 8, 16, &page), 0);
	CHECK_EQ(ebbi_large_alloc_nested(&large, 8, 16, &other), 0);
	CHECK(ebbi_nested_keep(cache, page, ebbi_pagemap_get((uintptr_t)page)));
	CHECK(ebbi_nested_keep(cache, other, ebbi_pagemap_get((uintptr_t)other)));
	CHECK_EQ(mprotect(page, EBBI_PAGE_BYTES, PROT_NONE), 0);
	CHECK_EQ(mprotect(other, EBBI_PAGE_BYTES, PROT_NONE), 0);
	CHECK(ebbi_nested_take(cache) == other);
	CHECK(ebbi_nested_take(cache) == page);
	CHECK(ebbi_nested_take(cache) == NULL);
}

/* --- Forks: prepare, then either side in its turn, in one process. */

TEST(fork_parent)
{
	struct ebbi_cache *own;
	struct ebbi_cache *other;

	begin();
	own = adopt();
	other = adopt();
	use(own);
	use(other);
	CHECK(ebbi_registry_fork_prepare(&registry, own));
	CHECK_EQ(own->handshake.state, EBBI_STATE_BUSY);
	CHECK_EQ(other->handshake.stop, EBBI_STOP_DRAIN | EBBI_STOP_QUIET);
	CHECK(ebbi_lock_is_held(&registry.lock));
	ebbi_registry_fork_parent(&registry, own);
	CHECK_EQ(own->handshake.state, EBBI_STATE_TOUCHED);
	CHECK_EQ(other->handshake.stop, 0u);
	CHECK(!ebbi_lock_is_held(&registry.lock));
	CHECK(is_full(own) && is_full(other));
	use(other);
}

TEST(fork_child)
{
	struct ebbi_cache *own;
	struct ebbi_cache *quiet;
	struct ebbi_cache *busy;
	size_t used;

	begin();
	own = adopt();
	quiet = adopt();
	busy = adopt();
	use(own);
	use(quiet);
	use(busy);
	(void)ebbi_handshake_enter(&busy->handshake);
	CHECK(ebbi_registry_fork_prepare(&registry, own)); /* waits for `busy` in vain, for a bounded time */
	used = store.home.bins[EBBI_CLASS_64].used_slots;
	ebbi_registry_fork_child(&registry, own);
	CHECK_EQ(registry.owned, 1u);
	CHECK_EQ(registry.lost, 1u);
	CHECK(is_full(quiet));
	CHECK(!is_full(busy));
	CHECK_EQ(store.home.bins[EBBI_CLASS_64].used_slots, used);
	/* Both serve new threads, and sweeps. */
	CHECK(ebbi_seen_clear(ebbi_handshake_enter(&busy->handshake)));
	ebbi_handshake_leave(&busy->handshake);
	CHECK(adopt() != own);
	CHECK(adopt() != own);
	CHECK_EQ(registry.owned, 3u);
	(void)sweep(EBBI_SWEEP_ALL, NULL);
	CHECK(!is_full(quiet));
	use(busy);
}

TEST(fork_without_membarrier_loses_the_others)
{
	struct ebbi_cache *own;
	struct ebbi_cache *other;

	begin();
	ebbi_membarrier_close();
	own = adopt();
	other = adopt();
	use(own);
	use(other);
	CHECK(ebbi_registry_fork_prepare(&registry, own));
	ebbi_registry_fork_child(&registry, own);
	CHECK(is_full(own));
	CHECK(!is_full(other));
	CHECK_EQ(registry.lost, 1u);
}

TEST(fork_from_a_nested_handler_takes_nothing)
{
	struct ebbi_cache *own;

	begin();
	own = adopt();
	(void)ebbi_handshake_enter(&own->handshake);
	CHECK(!ebbi_registry_fork_prepare(&registry, own));
	CHECK(!ebbi_lock_is_held(&registry.lock));
	CHECK_EQ(own->handshake.state, EBBI_STATE_BUSY);
	ebbi_handshake_leave(&own->handshake);
	/* A thread without a cache may fork as well. */
	CHECK(ebbi_registry_fork_prepare(&registry, NULL));
	ebbi_registry_fork_parent(&registry, NULL);
}

/* --- Threads: owners at work, and somebody who sweeps all the time. */

#define WORKERS 3u

static uint32_t workers_left;

static void *worker(void *argument)
{
	void *slots[64];
	unsigned rounds = EBBI_TSAN || EBBI_ASAN ? 3000 : 20000;

	(void)argument;
	for (unsigned life = 0; life < 4; life++) {
		struct ebbi_cache *cache = ebbi_registry_adopt(&registry);

		for (unsigned round = 0; round < rounds / 4; round++) {
			uint32_t seen = ebbi_handshake_enter(&cache->handshake);

			if (!ebbi_seen_clear(seen)) {
				enum ebbi_enter how = ebbi_handshake_settle(&cache->handshake, seen);

				if (how == EBBI_STOPPED) {
					ebbi_handshake_await(&cache->handshake);
					continue;
				}
				if (ebbi_handshake_request_take(&cache->handshake))
					(void)ebbi_cache_drain(&registry.pool, cache);
			}
			for (unsigned i = 0; i < 64; i++) {
				slots[i] = ebbi_stand_take(&registry.pool, &cache->home, EBBI_CLASS_32 + i % 3);
				*(uintptr_t *)slots[i] = (uintptr_t)slots[i] + round;
			}
			for (unsigned i = 0; i < 64; i++) {
				if (*(uintptr_t *)slots[i] != (uintptr_t)slots[i] + round)
					CHECK_FAIL("slot %p was written by somebody else", slots[i]);
				(void)ebbi_stand_put(&registry.pool, &cache->home, EBBI_CLASS_32 + i % 3, slots[i]);
			}
			ebbi_handshake_leave(&cache->handshake);
		}
		ebbi_registry_leave(&registry, cache);
	}
	(void)ebbi_fetch_sub_acqrel(&workers_left, 1);
	return NULL;
}

static void sweep_among_workers(void)
{
	pthread_t threads[WORKERS];

	workers_left = WORKERS;
	for (unsigned i = 0; i < WORKERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, worker, NULL), 0);
	for (unsigned i = 0; ebbi_load_acquire(&workers_left) > 0; i++) {
		(void)ebbi_registry_sweep(&registry, i % 4 == 0 ? EBBI_SWEEP_ALL : EBBI_SWEEP_IDLE, NULL);
		sched_yield();
	}
	for (unsigned i = 0; i < WORKERS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		(void)ebbi_registry_sweep(&registry, EBBI_SWEEP_ALL, NULL);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQ(store.home.bins[EBBI_CLASS_32 + i].used_slots, 0u);
		ebbi_bin_check(&store.home.bins[EBBI_CLASS_32 + i]);
	}
	CHECK_EQ(registry.owned, 0u);
}

TEST(threads_with_the_barrier)
{
	begin();
	CHECK_EQ(ebbi_membarrier_open(NULL), 0);
	sweep_among_workers();
	CHECK_GE(registry.drained, 1u);
}

TEST(threads_without_the_barrier)
{
	begin();
	ebbi_membarrier_close();
	sweep_among_workers();
}

int main(void)
{
	RUN(adopt_and_leave);
	RUN(full_check_leaves_nothing_behind);
	RUN(without_memory);
	RUN(idle_caches_are_emptied_at_the_second_sweep);
	RUN(a_cache_touched_before_each_look_is_emptied_in_the_end);
	RUN(all_at_once_but_the_own);
	RUN(owners_inside_are_left_alone);
	RUN(a_refused_barrier_empties_nothing);
	RUN(without_membarrier_owners_are_asked);
	RUN(shelves_are_kept_when_told_so);
	RUN(deferred_frees);
	RUN(nested_pages_are_kept_and_released);
	RUN(nested_take_does_not_look_into_pages);
	RUN(fork_parent);
	RUN(fork_child);
	RUN(fork_without_membarrier_loses_the_others);
	RUN(fork_from_a_nested_handler_takes_nothing);
	RUN(threads_with_the_barrier);
	RUN(threads_without_the_barrier);
	return check_report();
}
