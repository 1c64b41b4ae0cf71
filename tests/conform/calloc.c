/* calloc: zero, always: fresh memory, reused memory, memory that was given back, every size. */
#include "check.h"

static void expect_zero(const uint8_t *block, size_t size)
{
	size_t at = 0;

	CHECK(block != NULL, "calloc of %zu bytes", size);
	for (; at < size && ((uintptr_t)(block + at) & 7) != 0; at++)
		CHECK(block[at] == 0, "byte %zu of %zu is not zero", at, size);
	for (; at + 8 <= size; at += 8) {
		uint64_t word;

		memcpy(&word, block + at, 8);
		CHECK(word == 0, "bytes from %zu of %zu are not zero", at, size);
	}
	for (; at < size; at++)
		CHECK(block[at] == 0, "byte %zu of %zu is not zero", at, size);
}

/* Dirty `count` blocks, free them (some last in, some first in), and look at what calloc gives. */
static void dirty_then_calloc(size_t size, unsigned count, bool purge_between)
{
	enum { MOST = 256 };
	static uint8_t *block[MOST];

	for (unsigned i = 0; i < count; i++) {
		block[i] = hide(malloc(size));
		CHECK(block[i] != NULL, "malloc(%zu)", size);
		memset(block[i], 0xff, size);
	}
	for (unsigned i = 0; i < count; i++)
		free(block[(i & 1) != 0 ? i : (i + count / 2) / 2 * 2 % count]);
	if (purge_between)
		check_purge();
	for (unsigned i = 0; i < count; i++) {
		block[i] = hide(calloc(i % 3 == 0 ? 1 : size, i % 3 == 0 ? size : 1));
		expect_zero(block[i], size);
		memset(block[i], 0xff, size);
	}
	for (unsigned i = 0; i < count; i++)
		free(block[i]);
}

/* count is even, and (i + count / 2) / 2 * 2 % count meets each even number once: see main(). */
static void test_reuse(void)
{
	for (size_t size = 1; size <= 2048; size += size < 64 ? 1 : 13)
		dirty_then_calloc(size, 128, false);
	for (size_t size = 2049; size <= 8 << 20; size += size / 3 + 1)
		dirty_then_calloc(size, size < 1 << 20 ? 32 : 4, false);
	for (size_t size = 16; size <= 16 << 20; size *= 2)
		dirty_then_calloc(size, size < 1 << 20 ? 64 : 4, true);
}

/* Random sizes over each other: what was a piece of a large block is next part of a small one. */
static void test_mixed(void)
{
	enum { BLOCKS = 512 };
	static uint8_t *block[BLOCKS];
	struct rng rng = {3};

	for (unsigned round = 0; round < 20000; round++) {
		unsigned at = (unsigned)rng_below(&rng, BLOCKS);
		size_t size = rng_size(&rng, 19);

		free(block[at]);
		if (rng_below(&rng, 2) == 0) {
			block[at] = hide(malloc(size));
		} else {
			block[at] = hide(calloc(size, 1));
			expect_zero(block[at], size);
		}
		memset(block[at], 0xee, size);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
}

/* A large block that shrank and grew again, then calloc on what it left. */
static void test_after_realloc(void)
{
	for (size_t size = 64 << 10; size <= 8 << 20; size *= 2) {
		uint8_t *block = hide(malloc(size));

		memset(block, 0xdd, size);
		block = hide(realloc(block, size / 4));
		uint8_t *zero = hide(calloc(1, size / 2));
		expect_zero(zero, size / 2);
		block = hide(realloc(block, size * 2));
		memset(block, 0xdd, size * 2);
		free(block);
		free(zero);
		zero = hide(calloc(2, size));
		expect_zero(zero, size * 2);
		free(zero);
	}
}

int main(void)
{
	check_allocator();
	for (size_t size = 1; size <= 20000; size++) {
		uint8_t *block = hide(calloc(1, size));

		expect_zero(block, size);
		memset(block, 0xff, size);
		free(block);
	}
	test_reuse();
	test_mixed();
	test_after_realloc();
	return 0;
}
