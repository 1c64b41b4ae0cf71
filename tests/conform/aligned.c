/* aligned_alloc, posix_memalign, memalign, valloc, pvalloc. */
#include "check.h"

#define LARGEST_ALIGNMENT ((size_t)64 << 20)

static const size_t odd_sizes[] = {0,    1,     7,     8,     24,     100,     1000,    4095,   4096,
				   4097, 10007, 65536, 65537, 131073, 1048575, 1048577, 3000001};
#define ODD_SIZES (sizeof(odd_sizes) / sizeof(odd_sizes[0]))

static void check_block(uint8_t *block, size_t alignment, size_t size)
{
	CHECK(block != NULL, "alignment %zu, size %zu", alignment, size);
	CHECK(((uintptr_t)block & (alignment - 1)) == 0, "%p is not aligned to %zu (size %zu)", (void *)block,
	      alignment, size);
	CHECK(malloc_usable_size(block) >= size, "usable %zu of %zu, alignment %zu", malloc_usable_size(block), size,
	      alignment);
	memset(block, 0x11, malloc_usable_size(block) < 70000 ? malloc_usable_size(block) : size);
	pattern_fill(block, size, alignment + size);
}

/* Pairs stay apart, also from what lies between them and is freed. */
static void test_all_alignments(void)
{
	for (size_t alignment = sizeof(void *); alignment <= LARGEST_ALIGNMENT; alignment *= 2) {
		for (size_t i = 0; i < ODD_SIZES; i++) {
			size_t size = odd_sizes[i];
			void *first;
			void *second = NULL;

			CHECK(posix_memalign(&first, alignment, size) == 0, "posix_memalign");
			check_block(first, alignment, size);
			void *between = hide(malloc(size));
			second = hide(aligned_alloc(alignment, size));
			check_block(second, alignment, size);
			free(between);
			void *third = hide(memalign(alignment, size));
			check_block(third, alignment, size);
			CHECK(first != second && second != third && first != third, "distinct");
			PATTERN_CHECK(first, size, alignment + size);
			PATTERN_CHECK(second, size, alignment + size);
			PATTERN_CHECK(third, size, alignment + size);
			free(second);
			free(first);
			free(third);
		}
	}
}

/* realloc of an aligned block keeps the contents; the alignment may go. */
static void test_realloc_of_aligned(void)
{
	for (size_t alignment = 16; alignment <= 2 << 20; alignment *= 2) {
		for (size_t i = 1; i < ODD_SIZES; i++) {
			size_t size = odd_sizes[i];
			uint8_t *block = hide(memalign(alignment, size));

			pattern_fill_range(block, 0, size, 3);
			block = hide(realloc(block, size * 2 + 1));
			CHECK(block != NULL && pattern_find_range(block, 0, size, 3) == SIZE_MAX,
			      "grown block, alignment %zu, size %zu", alignment, size);
			block = hide(realloc(block, (size + 1) / 2));
			CHECK(block != NULL && pattern_find_range(block, 0, (size + 1) / 2, 3) == SIZE_MAX,
			      "shrunk block, alignment %zu, size %zu", alignment, size);
			free(block);
		}
	}
}

static void test_posix_memalign_refusals(void)
{
	static const size_t bad[] = {0, 1, 2, 3, 4, 5, 7, 12, 24, 48, 100, 4095, SIZE_MAX};
	int untouched = 0;
	void *result = &untouched;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 4711;
		CHECK(posix_memalign(&result, hide_size(bad[i]), 100) == EINVAL, "alignment %zu", bad[i]);
		CHECK(result == &untouched, "a refusal leaves *memptr alone (alignment %zu)", bad[i]);
		CHECK(errno == 4711, "posix_memalign leaves errno alone (alignment %zu)", bad[i]);
	}
	CHECK(posix_memalign(&result, 64, hide_size(SIZE_MAX - 100)) == ENOMEM, "too large");
	CHECK(posix_memalign(&result, 4096, hide_size(PTRDIFF_MAX)) == ENOMEM, "PTRDIFF_MAX");
	CHECK(posix_memalign(&result, hide_size((size_t)1 << 62), hide_size((size_t)1 << 62)) == ENOMEM,
	      "both too large");
	CHECK(result == &untouched, "a refusal leaves *memptr alone");
}

/* Alignments that are no power of two: refused with EINVAL, or rounded up as glibc 2.36 does. */
static void test_bad_alignments(void)
{
	static const size_t bad[] = {0, 3, 12, 24, 100, 4097};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		void *block = hide(aligned_alloc(hide_size(bad[i]), 100));
		if (block == NULL)
			CHECK(errno == EINVAL, "aligned_alloc(%zu)", bad[i]);
		else
			memset(block, 1, 100);
		free(block);
		block = hide(memalign(hide_size(bad[i]), 100));
		if (block != NULL)
			memset(block, 1, 100);
		free(block);
	}
	errno = 0;
	CHECK(aligned_alloc(64, hide_size(SIZE_MAX - 63)) == NULL && errno == ENOMEM, "too large");
	errno = 0;
	CHECK(memalign(4096, hide_size(PTRDIFF_MAX)) == NULL && errno == ENOMEM, "PTRDIFF_MAX");
}

static void test_whole_pages(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < ODD_SIZES; i++) {
		size_t size = odd_sizes[i];
		size_t rounded = (size + page - 1) / page * page;

		void *block = hide(valloc(size));
		check_block(block, page, size);
		free(block);
		block = hide(pvalloc(size));
		check_block(block, page, rounded);
		free(block);
	}
	errno = 0;
	CHECK(valloc(hide_size(SIZE_MAX - 10)) == NULL && errno == ENOMEM, "valloc too large");
	errno = 0;
	CHECK(pvalloc(hide_size(SIZE_MAX - 10)) == NULL && errno == ENOMEM, "pvalloc too large");
}

/* Many aligned blocks at once, freed in another order: none overlaps another. */
static void test_many(void)
{
	enum { BLOCKS = 3000 };
	static uint8_t *block[BLOCKS];
	static size_t size[BLOCKS];
	struct rng rng = {7};

	for (int round = 0; round < 5; round++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			size_t alignment = (size_t)8 << rng_below(&rng, 11);

			if (block[i] != NULL && rng_below(&rng, 2) == 0)
				continue;
			if (block[i] != NULL)
				PATTERN_CHECK(block[i], size[i], i);
			free(block[i]);
			size[i] = rng_size(&rng, 16);
			block[i] = hide(aligned_alloc(alignment, size[i]));
			CHECK(block[i] != NULL && ((uintptr_t)block[i] & (alignment - 1)) == 0,
			      "aligned_alloc(%zu, %zu)", alignment, size[i]);
			pattern_fill(block[i], size[i], i);
		}
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		PATTERN_CHECK(block[i], size[i], i);
		free(block[i]);
	}
}

int main(void)
{
	check_allocator();
	test_all_alignments();
	test_realloc_of_aligned();
	test_posix_memalign_refusals();
	test_bad_alignments();
	test_whole_pages();
	test_many();
	return 0;
}
