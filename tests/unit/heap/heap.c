/* What malloc and free do once their arguments were judged; on a fake kernel where it must refuse. */
#include "heap/heap.h"
#include "caches/nested.h"

#include <ebb/ebb.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "fake_heap.h"
#include "fake_vm.h"
#include "heap/fast.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "heap/reclaim.h"

#define MIB ((size_t)1 << 20)

static void *take(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	void *block = ebbi_heap_alloc(bytes, align_bytes, content);

	CHECK(block != NULL);
	CHECK_EQ((uintptr_t)block % align_bytes, 0u);
	CHECK_GE(ebbi_heap_usable_bytes(block), bytes);
	return block;
}

TEST(boot)
{
	CHECK_EQ(ebbi_heap.config.delay, 86400000000000u);
	CHECK_EQ(ebbi_load_relaxed(&ebbi_heap.features_off) & EBB_OFF_SCAVENGER, EBB_OFF_SCAVENGER);
	CHECK_EQ(fake_vm_calls(FAKE_RESERVE) + fake_vm_calls(FAKE_MAP), 0u);
	ebbi_heap_boot();
}

TEST(first_without_memory)
{
	void *block;

	fake_vm_refuse_randomly(FAKE_ALL, 1000, 1);
	errno = 0;
	CHECK(ebbi_heap_alloc(100, 16, EBBI_CONTENT_ANY) == NULL);
	CHECK_EQ(errno, ENOMEM);
	CHECK(ebbi_thread_self.cache == NULL);
	errno = 0;
	CHECK(ebbi_heap_alloc(100000, 16, EBBI_CONTENT_ANY) == NULL);
	CHECK_EQ(errno, ENOMEM);
	fake_vm_refuse_randomly(0, 0, 0);
	errno = 0;
	block = take(100, 16, EBBI_CONTENT_ANY);
	CHECK_EQ(errno, 0);
	ebbi_heap_free(block);
	CHECK_EQ(errno, 0);
	CHECK(ebbi_thread_self.cache != NULL);
	ebbi_heap_check();
}

/* What another thread unmaps while this one reclaims in vain is as good as what the reclaim gives. */
TEST(second_try_after_a_vain_reclaim)
{
	unsigned before = fake_vm_refused(FAKE_RESERVE);
	unsigned maps = fake_vm_refused(FAKE_MAP);
	unsigned each;

	(void)ebbi_reclaim(NULL, 1);
	fake_vm_refuse(FAKE_MAP, 0, UINT32_MAX);
	fake_vm_refuse(FAKE_RESERVE, 0, UINT32_MAX);
	CHECK(ebbi_heap_alloc(5 * MIB, 16, EBBI_CONTENT_ANY) == NULL);
	CHECK_EQ(fake_vm_refused(FAKE_MAP) - maps, 2u);
	each = (fake_vm_refused(FAKE_RESERVE) - before) / 2;
	CHECK_GT(each, 0u);
	usleep(20000); /* the rest after a vain one */
	fake_vm_refuse(FAKE_MAP, 0, 1);
	fake_vm_refuse(FAKE_RESERVE, 0, each);
	before = fake_vm_refused(FAKE_RESERVE);
	ebbi_heap_free(take(5 * MIB, 16, EBBI_CONTENT_ANY));
	CHECK_EQ(fake_vm_refused(FAKE_RESERVE) - before, each);
	fake_vm_refuse(FAKE_MAP, 0, 0);
	fake_vm_refuse(FAKE_RESERVE, 0, 0);
	ebbi_heap_check();
}

TEST(sizes_and_alignments)
{
	static const size_t sizes[] = {0,    1,     16,    17,     100,     128,     129,     1000,    4096,
				       5000, 32768, 32769, 100000, 1000000, 5000000, 4194304, 4194303, 40};
	void *blocks[18];

	for (size_t align = 16; align <= 8 * MIB; align *= 2) {
		for (unsigned i = 0; i < 18; i++) {
			blocks[i] = take(sizes[i], align, EBBI_CONTENT_ZERO);
			for (size_t at = 0; at < sizes[i]; at += 61)
				CHECK_EQ(((char *)blocks[i])[at], 0);
			memset(blocks[i], 0x5a, ebbi_heap_usable_bytes(blocks[i]));
		}
		for (unsigned i = 0; i < 18; i++)
			ebbi_heap_free(blocks[i]);
	}
	ebbi_heap_check();
}

TEST(absurd_sizes)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX,
				       (size_t)1 << 48};

	for (unsigned i = 0; i < 5; i++) {
		errno = 0;
		CHECK(ebbi_heap_alloc(sizes[i], 16, EBBI_CONTENT_ANY) == NULL);
		CHECK_EQ(errno, ENOMEM);
		CHECK(ebbi_heap_alloc(sizes[i], 65536, EBBI_CONTENT_ZERO) == NULL);
	}
}

TEST(fast_and_slow_agree)
{
	void *blocks[2000];

	for (size_t bytes = 0; bytes < 40000; bytes = bytes * 5 / 4 + 1) {
		for (unsigned i = 0; i < 200; i++) {
			blocks[i] = i % 2 == 0 ? ebbi_fast_alloc(bytes) : ebbi_heap_alloc_slow(bytes);
			CHECK_GE(ebbi_heap_usable_bytes(blocks[i]), bytes);
		}
		for (unsigned i = 0; i < 200; i++)
			i % 3 == 0 ? ebbi_fast_free(blocks[i]) : ebbi_heap_free_slow(blocks[i], 0);
	}
	ebbi_fast_free(NULL);
	ebbi_heap_free_slow(NULL, 0);
	ebbi_heap_check();
}

/* A handler that interrupted its own thread inside: no lock, a mapping of its own, frees that wait. */
TEST(nested)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	uint64_t nested = ebbi_heap.nested_allocations;
	uint64_t deferred = ebbi_heap.registry.deferred_frees;
	void *before = take(64, 16, EBBI_CONTENT_ANY);
	void *large;
	char *small;
	char *again;

	REQUIRE(ebbi_heap_enter(cache) == EBBI_ENTERED);
	small = ebbi_fast_alloc(10);
	CHECK_EQ(ebbi_heap.nested_allocations, nested + 1);
	CHECK_EQ(ebbi_entry_kind(ebbi_pagemap_get((uintptr_t)small)), EBBI_KIND_NESTED);
	memset(small, 1, 10);
	large = ebbi_heap_alloc(100000, 65536, EBBI_CONTENT_ZERO);
	CHECK(large != NULL && (uintptr_t)large % 65536 == 0);
	ebbi_heap_free(large);
	again = ebbi_heap_resize(small, 100);
	CHECK(again == small); /* its page has room */
	again = ebbi_heap_resize(small, 10000);
	CHECK(again != NULL && again[9] == 1);
	ebbi_fast_free(before);
	ebbi_heap_free(again);
	CHECK_EQ(ebbi_heap.registry.deferred_frees, deferred);
	CHECK_EQ(ebbi_heap_purge(), 0u);
	ebbi_handshake_leave(&cache->handshake);
	/* The next operation does what waited. */
	ebbi_fast_free(ebbi_fast_alloc(64));
	CHECK_EQ(ebbi_heap.registry.deferred_frees, deferred + 4);
	ebbi_heap_check();
}

/* After its end began a thread allocates without a cache. */
TEST(without_a_cache)
{
	struct ebbi_thread saved = ebbi_thread_self;
	void *blocks[3];

	ebbi_thread_self = (struct ebbi_thread){.ended = true};
	CHECK(ebbi_thread_cache() == NULL);
	blocks[0] = take(100, 16, EBBI_CONTENT_ZERO);
	blocks[1] = take(100000, 16, EBBI_CONTENT_ZERO);
	blocks[2] = take(5 * MIB, 16, EBBI_CONTENT_ANY);
	blocks[0] = ebbi_heap_resize(blocks[0], 3000);
	for (unsigned i = 0; i < 3; i++)
		ebbi_fast_free(blocks[i]);
	CHECK_EQ(ebbi_heap_purge(), 0u);
	ebbi_thread_self = saved;
	ebbi_heap_check();
}

/* So many pairs of operations, and the cache that the thread has in the end. */
static void *some_thread(void *argument)
{
	for (size_t i = 0; i < (size_t)argument; i++)
		ebbi_fast_free(ebbi_fast_alloc(100));
	return ebbi_thread_self.cache;
}

/* A thread that hardly allocates gets no cache made for it; one that goes on does, and the next has it at once. */
TEST(thread_ends)
{
	static const size_t pairs[] = {4, 50, 50, 1};
	void *caches[4] = {NULL, NULL, NULL, NULL};
	unsigned owned = ebbi_heap.registry.owned;

	for (unsigned i = 0; i < 4; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, some_thread, (void *)pairs[i]), 0);
		CHECK_EQ(pthread_join(thread, &caches[i]), 0);
		CHECK_EQ(ebbi_load_relaxed(&ebbi_heap.registry.owned), owned);
	}
	CHECK(caches[0] == NULL);
	CHECK(caches[1] != NULL && caches[1] != ebbi_thread_self.cache);
	CHECK(caches[2] == caches[1] && caches[3] == caches[1]);
	ebbi_heap_check();
}

TEST(purge_gives_everything_back)
{
	enum { BLOCKS = 2000 };
	static char *blocks[BLOCKS];
	size_t purged;

	(void)ebbi_heap_purge();
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t bytes = i % 50 == 0 ? 100000 : i % 4 == 0 ? 3000 : 200;

		blocks[i] = take(bytes, 16, EBBI_CONTENT_ANY);
		memset(blocks[i], 1, bytes);
	}
	CHECK_EQ(ebbi_heap_purge() / MIB, 0u);
	for (unsigned i = 0; i < BLOCKS; i++)
		ebbi_heap_free(blocks[i]);
	purged = ebbi_heap_purge();
	CHECK_GE(purged, 40 * 100000u + 460 * 3000u + 1500 * 200u);
	CHECK_EQ(ebbi_heap_purge(), 0u);
	CHECK_EQ(ebbi_heap.store.pages.dirty_pages, 0u);
	ebbi_heap_check();
}

/* Memory runs out in the middle of work, again and again; nothing is lost. */
TEST(refusals_in_the_middle)
{
	enum { BLOCKS = 3000 };
	static char *blocks[BLOCKS];
	unsigned refused = 0;

	fake_vm_refuse_randomly(FAKE_ALL, 700, 3);
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t bytes = (size_t)1 << i % 23;

		blocks[i] = ebbi_fast_alloc(bytes);
		refused += blocks[i] == NULL;
		if (blocks[i] != NULL)
			memset(blocks[i], 1, bytes < 4096 ? bytes : 4096);
		if (i % 3 == 0 && i > 100) {
			ebbi_fast_free(blocks[i - 100]);
			blocks[i - 100] = NULL;
		}
		if (i % 100 == 0)
			(void)ebbi_heap_purge();
	}
	CHECK_GT(refused, 0u);
	CHECK_LT(refused, BLOCKS / 2);
	ebbi_heap_check();
	fake_vm_refuse_randomly(0, 0, 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		ebbi_fast_free(blocks[i]);
	(void)ebbi_heap_purge();
	CHECK_EQ(ebbi_heap.store.pages.live_pages, 0u);
	/* Pages kept for handlers are all there is. */
	CHECK_EQ(ebbi_heap.large.run_pages + ebbi_heap.large.mapping_pages, ebbi_nested_count(ebbi_thread_self.cache));
	ebbi_heap_check();
}

TEST(fork_handlers)
{
	void *block = take(100, 16, EBBI_CONTENT_ANY);
	void *inside;

	ebbi_heap_fork_prepare();
	/* What runs on this thread between the handlers is served without a lock. */
	inside = ebbi_fast_alloc(10);
	CHECK(inside != NULL);
	ebbi_fast_free(block);
	ebbi_heap_fork_parent();
	ebbi_fast_free(inside);
	ebbi_heap_fork_prepare();
	ebbi_heap_fork_child();
	ebbi_heap_check();
	/* From a handler that interrupted the allocator: takes nothing, and says nothing. */
	REQUIRE(ebbi_heap_enter(ebbi_thread_self.cache) == EBBI_ENTERED);
	ebbi_heap_fork_prepare();
	ebbi_heap_fork_parent();
	ebbi_heap_fork_prepare();
	ebbi_heap_fork_child();
	ebbi_handshake_leave(&ebbi_thread_self.cache->handshake);
	ebbi_heap_check();
}

int main(void)
{
	boot_on_fake();
	RUN(boot);
	RUN(first_without_memory);
	RUN(second_try_after_a_vain_reclaim);
	RUN(sizes_and_alignments);
	RUN(absurd_sizes);
	RUN(fast_and_slow_agree);
	RUN(nested);
	RUN(without_a_cache);
	RUN(thread_ends);
	RUN(purge_gives_everything_back);
	RUN(refusals_in_the_middle);
	RUN(fork_handlers);
	return check_report();
}
