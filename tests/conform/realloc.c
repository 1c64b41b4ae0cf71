/* realloc: edge cases, and contents kept over every boundary between size classes and page runs. */
#include "check.h"

static void test_edges(void)
{
	uint8_t *block = hide(realloc(NULL, 100));

	CHECK(block != NULL, "realloc(NULL, n) allocates");
	memset(block, 1, 100);
	errno = 4711;
	CHECK(realloc(block, hide_size(0)) == NULL, "realloc(p, 0) frees and returns NULL");
	CHECK(errno == 4711, "realloc(p, 0) is no error");
	block = hide(realloc(NULL, hide_size(0)));
	CHECK(block != NULL, "realloc(NULL, 0) is malloc(0)");
	CHECK(realloc(block, hide_size(0)) == NULL, "realloc of a block of 0 bytes to 0");
	block = hide(malloc(5 << 20));
	CHECK(realloc(block, hide_size(0)) == NULL, "realloc(large, 0)");
}

/* Had realloc(p, 0) not freed, this would need 4 GiB. */
static void test_zero_frees(void)
{
	long before = proc_status("RssAnon:");

	for (int i = 0; i < 4096; i++) {
		void *block = hide(malloc(1 << 20));

		CHECK(block != NULL, "malloc");
		memset(block, 1, 1 << 20);
		CHECK(realloc(block, hide_size(0)) == NULL, "realloc(p, 0)");
	}
	CHECK(proc_status("RssAnon:") - before < 256 << 10, "realloc(p, 0) frees");
}

static void check_contents(const uint8_t *block, size_t from, size_t to, size_t size)
{
	size_t wrong = pattern_find_range(block, from, to, 9);

	CHECK(wrong == SIZE_MAX, "realloc to %zu lost byte %zu", size, wrong);
}

/*
 * Grows by `step` (or a fraction of the size). Looks at the last bytes at each step and at all of
 * them now and then; the neighbours keep the block from growing in place every time.
 */
static void grow(size_t from, size_t to, size_t step, size_t fraction)
{
	size_t size = from;
	uint8_t *block = hide(malloc(size));
	uint8_t *neighbour[16] = {NULL};
	unsigned count = 0;

	CHECK(block != NULL, "malloc(%zu)", size);
	pattern_fill_range(block, 0, size, 9);
	while (size < to) {
		size_t next = size + step + (fraction != 0 ? size / fraction : 0);

		if (++count % 64 == 0) {
			free(neighbour[count / 64 % 16]);
			neighbour[count / 64 % 16] = hide(malloc(next));
		}
		block = hide(realloc(block, next));
		CHECK(block != NULL, "realloc to %zu", next);
		CHECK(((uintptr_t)block & 15) == 0, "realloc to %zu: %p", next, (void *)block);
		check_contents(block, size > 32 ? size - 32 : 0, size, next);
		if (count % 4096 == 0 || size < 512)
			check_contents(block, 0, size, next);
		pattern_fill_range(block, size, next, 9);
		size = next;
	}
	check_contents(block, 0, size, size);
	free(block);
	for (unsigned i = 0; i < 16; i++)
		free(neighbour[i]);
}

static void shrink(size_t from, size_t fraction)
{
	uint8_t *block = hide(malloc(from));
	size_t size = from;

	CHECK(block != NULL, "malloc(%zu)", from);
	pattern_fill_range(block, 0, from, 9);
	while (size > 1) {
		size -= 1 + size / fraction;
		if (size == 0)
			break;
		block = hide(realloc(block, size));
		CHECK(block != NULL, "realloc down to %zu", size);
		CHECK(malloc_usable_size(block) >= size, "usable size");
		check_contents(block, size > 64 ? size - 64 : 0, size, size);
		if (size < 100000)
			check_contents(block, 0, size, size);
	}
	free(block);
}

/* From any size to any other. */
static void test_jumps(void)
{
	static const size_t sizes[] = {1,      15,     16,     17,      100,     1023,    1024,    1025,
				       4096,   8192,   16384,  16385,   32768,   32769,   65536,   65537,
				       131072, 262144, 524288, 1048576, 1048577, 2097152, 3000000, 8388608};
	size_t count = sizeof(sizes) / sizeof(sizes[0]);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < count; j++) {
			size_t kept = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
			uint8_t *block = hide(malloc(sizes[i]));

			pattern_fill(block, sizes[i], i);
			block = hide(realloc(block, sizes[j]));
			CHECK(block != NULL && pattern_find(block, sizes[i], kept, i) == SIZE_MAX,
			      "realloc from %zu to %zu", sizes[i], sizes[j]);
			memset(block, 1, sizes[j] < 65536 ? sizes[j] : 65536);
			free(block);
		}
	}
}

/* A shrink gives the rest back to somebody: 64 MiB cut to 1 KiB each must not stay resident. */
static void test_shrink_gives_back(void)
{
	enum { BLOCKS = 64 };
	void *block[BLOCKS];
	long before = proc_status("RssAnon:");

	for (int i = 0; i < BLOCKS; i++) {
		block[i] = hide(malloc(1 << 20));
		CHECK(block[i] != NULL, "malloc");
		memset(block[i], i, 1 << 20);
		block[i] = hide(realloc(block[i], 1024));
		CHECK(block[i] != NULL && ((uint8_t *)block[i])[1023] == i, "shrunk");
	}
	check_purge();
	long after = proc_status("RssAnon:");
	CHECK(after - before < 16 << 10, "%ld KiB rest after shrinking 64 MiB to 64 KiB", after - before);
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
}

int main(void)
{
	check_allocator();
	test_edges();
	test_zero_frees();
	grow(1, 200000, 1, 0);
	grow(1, 2 << 20, 4095, 0);
	grow(1, 64 << 20, 1, 3);
	grow(3 << 20, 12 << 20, 65537, 0);
	shrink(64 << 20, 3);
	shrink(4 << 20, 97);
	shrink(100000, 1000);
	test_jumps();
	test_shrink_gives_back();
	return 0;
}
