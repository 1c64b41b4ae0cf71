/* Pointers that are no blocks: the exact line for each, in a child that dies of it. */
#include "heap/misuse.h"

#include <stdlib.h>

#include "check.h"
#include "child.h"
#include "heap/fast.h"

/* Where the free goes through: the short way, or the long one. */
static void free_fast(void *block)
{
	ebbi_fast_free(block);
}

static void free_slow(void *block)
{
	ebbi_heap_free(block);
}

static void resize(void *block)
{
	(void)ebbi_heap_resize(block, 1000);
}

static void usable(void *block)
{
	(void)ebbi_heap_usable_bytes(block);
}

static void check_line(void (*body)(void *), void *pointer, const char *kind, const char *rest, const void *start)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "ebb: %s of %p: %s", kind, pointer, rest);

	if (start != NULL)
		snprintf(line + length, sizeof(line) - (size_t)length, " %p", start);
	CHECK_DIES(body, pointer, line);
}

TEST(inside_a_slot)
{
	char *block = ebbi_fast_alloc(100);

	for (unsigned offset = 1; offset < 112; offset = offset * 3 + 1) {
		check_line(free_fast, block + offset, "invalid free", "inside a 112-byte slot that starts at", block);
		check_line(free_slow, block + offset, "invalid free", "inside a 112-byte slot that starts at", block);
	}
	check_line(resize, block + 16, "invalid realloc", "inside a 112-byte slot that starts at", block);
	check_line(usable, block + 16, "invalid malloc_usable_size", "inside a 112-byte slot that starts at", block);
	ebbi_fast_free(block);
}

TEST(inside_a_block)
{
	char *run = ebbi_fast_alloc(100000);
	char *mapping = ebbi_fast_alloc((size_t)8 << 20);

	check_line(free_fast, run + 8, "invalid free", "inside a block of 102400 bytes that starts at", run);
	check_line(free_fast, run + 4096, "invalid free", "inside a block of 102400 bytes that starts at", run);
	check_line(free_slow, run + 102400 - 1, "invalid free", "inside a block of 102400 bytes that starts at", run);
	check_line(resize, mapping + 4096, "invalid realloc", "inside a block of 8388608 bytes that starts at",
		   mapping);
	check_line(usable, mapping + 16, "invalid malloc_usable_size", "inside a block of 8388608 bytes that starts at",
		   mapping);
	ebbi_fast_free(run);
	ebbi_fast_free(mapping);
}

TEST(inside_the_last_slot)
{
	/* The first block of its class lies on the first page of a slab, behind whose last slot there is nothing. */
	char *block = ebbi_fast_alloc(1280);
	char *end = (char *)ebbi_round_down((uintptr_t)block, 4096) +
		    ((size_t)ebbi_sizes[EBBI_CLASS_1280].slab_pages << EBBI_PAGE_SHIFT);

	check_line(free_slow, end - 256, "invalid free", "inside a 1280-byte slot that starts at", end - 1280);
	ebbi_fast_free(block);
}

TEST(foreign)
{
	static char in_data[64];
	char on_stack[64];

	check_line(free_fast, in_data, "invalid free", "not memory of this heap", NULL);
	check_line(free_slow, on_stack, "invalid free", "not memory of this heap", NULL);
	check_line(resize, in_data, "invalid realloc", "not memory of this heap", NULL);
	check_line(usable, (void *)0x1000, "invalid malloc_usable_size", "not memory of this heap", NULL);
	check_line(free_fast, (void *)UINTPTR_MAX, "invalid free", "not memory of this heap", NULL);
	check_line(free_fast, (void *)((uintptr_t)1 << 47), "invalid free", "not memory of this heap", NULL);
}

static void twice(void *block)
{
	ebbi_fast_free(block);
	ebbi_fast_free(block);
}

static void twice_with_a_purge_between(void *block)
{
	ebbi_fast_free(block);
	(void)ebbi_heap_purge();
	ebbi_fast_free(block);
	(void)ebbi_heap_purge();
}

static void twice_with_another_between(void *block)
{
	void *other = ebbi_fast_alloc(100);

	ebbi_fast_free(block);
	ebbi_fast_free(other);
	ebbi_fast_free(block);
	(void)ebbi_heap_purge();
}

TEST(double_free)
{
	/* Somebody lives in the same slab, so that it stays. */
	char *neighbour = ebbi_fast_alloc(100);
	char *block = ebbi_fast_alloc(100);
	char *run = ebbi_fast_alloc(100000);

	check_line(twice, block, "double free", "a 112-byte slot that is already free", NULL);
	check_line(twice_with_a_purge_between, block, "double free", "a 112-byte slot that is already free", NULL);
	check_line(twice_with_another_between, block, "double free", "a 112-byte slot that is already free", NULL);
	check_line(twice, run, "double free", "a block of large pages that is already free", NULL);
	ebbi_fast_free(block);
	ebbi_fast_free(run);
	ebbi_fast_free(neighbour);
}

/* check:full finds at once what else waits for a flush. */
static void full_check(void *argument)
{
	void *blocks[3];

	(void)argument;
	ebbi_heap.config.check = EBB_CHECK_FULL;
	(void)ebbi_fetch_or_relaxed(&ebbi_thread_self.cache->handshake.stop, (uint32_t)EBBI_STOP_SLOW);
	for (unsigned i = 0; i < 3; i++)
		blocks[i] = ebbi_fast_alloc(100);
	for (unsigned i = 0; i < 3; i++)
		ebbi_fast_free(blocks[i]);
	ebbi_fast_free(blocks[0]);
}

TEST(full)
{
	char text[256];

	CHECK_EQ(child_run(full_check, NULL, text, sizeof(text)), 6);
	CHECK(strstr(text, "ebb: double free of 0x") == text);
	CHECK(strstr(text, ": a 112-byte slot that is already free\n") != NULL);
}

int main(void)
{
	CHECK_EQ(setenv("EBB_CONF", "scavenger:0,delay:86400s", 1), 0);
	ebbi_heap_boot();
	RUN(inside_a_slot);
	RUN(inside_a_block);
	RUN(inside_the_last_slot);
	RUN(foreign);
	RUN(double_free);
	RUN(full);
	return check_report();
}
