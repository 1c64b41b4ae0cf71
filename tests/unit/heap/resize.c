/* realloc: what stays where it is, what moves, and that contents come along. */
#include "heap/heap.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "fake_heap.h"
#include "fake_vm.h"
#include "heap/fast.h"

#define MIB ((size_t)1 << 20)

static void fill(char *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		block[i] = (char)(i * 7 + i / 256);
}

static bool is_filled(const char *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (block[i] != (char)(i * 7 + i / 256))
			return false;
	return true;
}

TEST(within_a_slot)
{
	char *block = ebbi_fast_alloc(100);

	fill(block, 112);
	CHECK(ebbi_heap_resize(block, 112) == block);
	CHECK(ebbi_heap_resize(block, 57) == block);
	CHECK(is_filled(block, 112));
	/* Less than half of it: moves, so that the rest can be used. */
	block = ebbi_heap_resize(block, 50);
	CHECK_EQ(ebbi_heap_usable_bytes(block), 64u);
	CHECK(is_filled(block, 50));
	/* The smallest are not worth a move. */
	CHECK(ebbi_heap_resize(block, 1) == block);
	ebbi_fast_free(block);
}

TEST(every_step_up_and_down)
{
	char *block = ebbi_fast_alloc(1);
	size_t have = 1;

	fill(block, 1);
	for (size_t bytes = 1; bytes < 20 * MIB; bytes = bytes * 3 / 2 + 1) {
		block = ebbi_heap_resize(block, bytes);
		REQUIRE(block != NULL);
		CHECK(is_filled(block, have));
		fill(block, bytes);
		have = bytes;
	}
	for (size_t bytes = have; bytes > 0; bytes = bytes * 2 / 3) {
		block = ebbi_heap_resize(block, bytes);
		REQUIRE(block != NULL);
		CHECK(is_filled(block, bytes));
		CHECK_LE(ebbi_heap_usable_bytes(block), 2 * bytes + 8192);
	}
	ebbi_fast_free(block);
	ebbi_heap_check();
}

/* By little and often: copied a number of times that does not depend on how little. */
TEST(growing_by_little)
{
	char *block = ebbi_fast_alloc(40000);
	char *hindrance;
	unsigned moves = 0;

	for (size_t bytes = 40000; bytes < 3 * MIB; bytes += 500) {
		char *moved = ebbi_heap_resize(block, bytes);

		REQUIRE(moved != NULL);
		moves += moved != block;
		if (moved != block) {
			/* Something right behind it, so that it cannot just grow. */
			hindrance = ebbi_fast_alloc(40000);
			(void)hindrance;
		}
		block = moved;
	}
	CHECK_LE(moves, 60u);
	ebbi_fast_free(block);
	ebbi_heap_check();
}

TEST(refused)
{
	char *block = ebbi_fast_alloc(100000);
	char *large = ebbi_fast_alloc(10 * MIB);

	REQUIRE(block != NULL && large != NULL);
	fill(block, 100000);
	fill(large, 100000);
	(void)ebbi_heap_purge();
	fake_vm_refuse_randomly(FAKE_ALL, 1000, 1);
	errno = 0;
	CHECK(ebbi_heap_resize(block, 100 * MIB) == NULL);
	CHECK_EQ(errno, ENOMEM);
	CHECK(ebbi_heap_resize(large, 100 * MIB) == NULL);
	CHECK(ebbi_heap_resize(block, SIZE_MAX) == NULL);
	CHECK(ebbi_heap_resize(large, (size_t)PTRDIFF_MAX + 1) == NULL);
	CHECK(is_filled(block, 100000));
	CHECK(is_filled(large, 100000));
	/* Making smaller never fails. */
	large = ebbi_heap_resize(large, 9 * MIB);
	CHECK(large != NULL && is_filled(large, 100000));
	fake_vm_refuse_randomly(0, 0, 0);
	ebbi_fast_free(block);
	ebbi_fast_free(large);
	ebbi_heap_check();
}

TEST(aligned_blocks)
{
	for (size_t align = 32; align <= MIB; align *= 2) {
		char *block = ebbi_heap_alloc(1000, align, EBBI_CONTENT_ANY);

		fill(block, 1000);
		block = ebbi_heap_resize(block, 5 * MIB);
		CHECK(block != NULL && is_filled(block, 1000));
		block = ebbi_heap_resize(block, 10);
		CHECK(block != NULL && is_filled(block, 10));
		ebbi_fast_free(block);
	}
	ebbi_heap_check();
}

int main(void)
{
	boot_on_fake();
	RUN(within_a_slot);
	RUN(every_step_up_and_down);
	RUN(growing_by_little);
	RUN(refused);
	RUN(aligned_blocks);
	return check_report();
}
