/* Looks: what goes at which, and that the thread starts late, works, and goes to sleep. */
#include "heap/scavenger.h"

#include <ebb/ebb.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "heap/fast.h"
#include "heap/inside.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static unsigned published;

static void publish(void)
{
	(void)ebbi_fetch_add_relaxed(&published, 1);
}

static size_t look(bool everything, size_t *ret_left)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	size_t purged;

	CHECK_EQ(ebbi_heap_enter(cache), EBBI_ENTERED);
	purged = ebbi_scavenger_look(cache, everything, ret_left);
	ebbi_handshake_leave(&cache->handshake);
	return purged;
}

/* Not a megabyte in all: the thread does not start yet. */
TEST(two_looks)
{
	uint64_t looks = ebbi_scavenger_looks();
	size_t left = 0;
	char *block;

	ebbi_heap.publish = publish;
	(void)look(/* everything= */ true, &left);
	block = ebbi_fast_alloc(400 * KIB);
	memset(block, 1, 400 * KIB);
	ebbi_fast_free(block);
	CHECK_EQ(look(/* everything= */ false, &left), 0u);
	CHECK_EQ(left, 100u);
	CHECK_EQ(look(/* everything= */ false, &left), 400 * KIB);
	CHECK_EQ(left, 0u);
	CHECK_EQ(look(/* everything= */ false, &left), 0u);
	CHECK_EQ(ebbi_scavenger_looks(), looks + 4);
	CHECK_EQ(published, 4u);
}

TEST(everything)
{
	size_t left = 0;
	char *block = ebbi_fast_alloc(100 * KIB);

	memset(block, 1, 100 * KIB);
	ebbi_fast_free(block);
	CHECK_EQ(look(/* everything= */ true, &left), 100 * KIB);
	CHECK_EQ(left, 0u);
}

TEST(purge_switched_off)
{
	size_t left = 7;
	char *block = ebbi_fast_alloc(100 * KIB);

	memset(block, 1, 100 * KIB);
	ebbi_fast_free(block);
	ebbi_heap.config.purge = 0;
	CHECK_EQ(look(/* everything= */ true, &left), 0u);
	CHECK_EQ(left, 0u);
	ebbi_heap.config.purge = 1;
	CHECK_EQ(look(/* everything= */ true, &left), 100 * KIB);
}

/* Wait, for a bounded time, until so much is left dirty. */
static bool comes_down_to(size_t pages)
{
	for (unsigned i = 0; i < 2000; i++) {
		size_t dirty;

		ebbi_lock_acquire(&ebbi_heap.store.pages.lock);
		dirty = ebbi_heap.store.pages.dirty_pages;
		ebbi_lock_release(&ebbi_heap.store.pages.lock);
		if (dirty <= pages)
			return true;
		(void)usleep(10000);
	}
	return false;
}

TEST(the_thread)
{
	uint64_t looks;
	char *block;

	for (unsigned round = 0; round < 3; round++) {
		looks = ebbi_scavenger_looks();
		block = ebbi_fast_alloc(3 * MIB);
		memset(block, 1, 3 * MIB);
		ebbi_fast_free(block);
		CHECK(comes_down_to(0));
		CHECK_GE(ebbi_scavenger_looks(), looks + 1);
	}
	ebbi_heap_check();
}

static void free_much(void *argument)
{
	char *block = ebbi_fast_alloc(3 * MIB);

	(void)argument;
	memset(block, 1, 3 * MIB);
	ebbi_fast_free(block);
	if (comes_down_to(0))
		fprintf(stderr, "given back");
}

/* In a child of a fork the thread is gone, and comes again when there is work. */
TEST(forked)
{
	char text[64];

	if (EBBI_TSAN)
		return; /* its runtime starts no threads in a child of a threaded parent */
	CHECK_EQ(pthread_atfork(ebbi_heap_fork_prepare, ebbi_heap_fork_parent, ebbi_heap_fork_child), 0);
	CHECK_EQ(child_run(free_much, NULL, text, sizeof(text)), 0);
	CHECK_STR_EQ(text, "given back");
}

/* No thread to be had: slow paths look, every tick. */
TEST(given_up)
{
	uint64_t looks = ebbi_scavenger_looks();
	static char *blocks[500];

	ebbi_scavenger_give_up();
	CHECK_EQ(ebbi_load_relaxed(&ebbi_heap.features_off) & EBB_OFF_SCAVENGER, EBB_OFF_SCAVENGER);
	for (unsigned i = 0; i < 100 && ebbi_scavenger_looks() < looks + 3; i++) {
		for (unsigned at = 0; at < 500; at++)
			blocks[at] = ebbi_fast_alloc(1000);
		for (unsigned at = 0; at < 500; at++)
			ebbi_fast_free(blocks[at]);
		(void)usleep(15000);
	}
	CHECK_GE(ebbi_scavenger_looks(), looks + 3);
	ebbi_heap_check();
}

int main(void)
{
	CHECK_EQ(setenv("EBB_CONF", "delay:20ms", 1), 0);
	ebbi_heap_boot();
	RUN(two_looks);
	RUN(everything);
	RUN(purge_switched_off);
	RUN(given_up);
	ebbi_scavenger_forget(); /* as a fork does: the next try to start a thread may succeed */
	RUN(the_thread);
	RUN(forked);
	return check_report();
}
