/* errno, sizes that cannot be, and what is left of a block whose realloc was refused. */
#include "check.h"

#include <sys/resource.h>

#define BEYOND ((size_t)PTRDIFF_MAX + 1)

static const size_t impossible[] = {
	(size_t)PTRDIFF_MAX, BEYOND,          BEYOND + 4096, SIZE_MAX / 2 + 12345, SIZE_MAX - 70000,
	SIZE_MAX - 4096,     SIZE_MAX - 4095, SIZE_MAX - 64, SIZE_MAX - 17,        SIZE_MAX - 16,
	SIZE_MAX - 15,       SIZE_MAX - 1,    SIZE_MAX,      (size_t)1 << 62,      (size_t)1 << 48};
#define IMPOSSIBLE (sizeof(impossible) / sizeof(impossible[0]))

static void expect_refusal(const void *result, const char *what, size_t size)
{
	CHECK(result == NULL, "%s of %zu bytes is refused", what, size);
	CHECK(errno == ENOMEM, "%s of %zu bytes sets ENOMEM", what, size);
	errno = 0;
}

static void test_impossible_sizes(void)
{
	static const size_t kept[] = {1, 100, 5000, 100000, 3 << 20};

	errno = 0;
	for (size_t i = 0; i < IMPOSSIBLE; i++) {
		size_t size = hide_size(impossible[i]);

		expect_refusal(hide(malloc(size)), "malloc", size);
		expect_refusal(hide(calloc(1, size)), "calloc", size);
		expect_refusal(hide(calloc(size, 1)), "calloc", size);
		expect_refusal(hide(realloc(NULL, size)), "realloc(NULL)", size);
		for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
			uint8_t *block = hide(malloc(kept[k]));

			pattern_fill(block, kept[k], k);
			errno = 0;
			expect_refusal(hide(realloc(block, size)), "realloc", size);
			PATTERN_CHECK(block, kept[k], k);
			free(block);
		}
	}
}

static void test_calloc_overflow(void)
{
	static const size_t pairs[][2] = {
		{SIZE_MAX, 2},
		{2, SIZE_MAX},
		{SIZE_MAX / 2 + 1, 2},
		{(size_t)1 << 32, (size_t)1 << 32},
		{((size_t)1 << 32) + 1, ((size_t)1 << 32) - 1},
		{SIZE_MAX / 3 + 1, 3},
		{SIZE_MAX, SIZE_MAX},
		{(size_t)1 << 63, 2},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		errno = 0;
		expect_refusal(hide(calloc(hide_size(pairs[i][0]), hide_size(pairs[i][1]))), "calloc", pairs[i][0]);
	}
}

/* Small, cached, large, and so large that it is unmapped: free never touches errno. */
static void test_free_keeps_errno(void)
{
	static const size_t sizes[] = {0, 1, 100, 5000, 40000, 70000, 1 << 20, 8 << 20, 64 << 20, 256 << 20};
	enum { BLOCKS = 100 };
	static void *block[BLOCKS];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned count = sizes[i] > 1 << 20 ? 4 : BLOCKS;

		for (unsigned k = 0; k < count; k++) {
			block[k] = hide(malloc(sizes[i]));
			CHECK(block[k] != NULL, "malloc(%zu)", sizes[i]);
			memset(block[k], 1, sizes[i] < 100000 ? sizes[i] : 100000);
		}
		for (unsigned k = 0; k < count; k++) {
			errno = 4711;
			free(block[k]);
			CHECK(errno == 4711, "free of %zu bytes keeps errno", sizes[i]);
		}
	}
	errno = 4711;
	free(NULL);
	CHECK(errno == 4711, "free(NULL) keeps errno");
}

static void test_success_keeps_errno(void)
{
	errno = 4711;
	for (size_t size = 0; size < 32 << 20; size += 1 + size / 2) {
		void *block = hide(malloc(size));

		CHECK(block != NULL, "malloc");
		block = hide(realloc(block, size + 1));
		free(block);
		free(hide(calloc(1, size)));
	}
	CHECK(errno == 4711, "what succeeds leaves errno alone");
}

/*
 * The kernel says no: every function fails with ENOMEM, blocks keep their contents, and all is
 * well again when the limit goes.
 */
/* An allocator may have reserved address space before: more than all of it is asked for. */
static unsigned take_all(void **hog, unsigned most)
{
	unsigned count = 0;

	errno = 0;
	while (count < most && (hog[count] = hide(malloc(1 << 20))) != NULL)
		count++;
	CHECK(count < most && errno == ENOMEM, "%u MiB fit below the limit", count);
	return count;
}

static void test_real_exhaustion(void)
{
	enum { BLOCKS = 2000, HOGS = 4096 };
	static uint8_t *block[BLOCKS];
	static size_t size[BLOCKS];
	static void *hog[HOGS];
	struct rlimit old;
	struct rng rng = {11};
	unsigned refused = 0;
	void *aligned;

	CHECK(getrlimit(RLIMIT_AS, &old) == 0, "getrlimit");
	struct rlimit small = {(rlim_t)proc_status("VmSize:") * 1024 + (64 << 20), old.rlim_max};
	CHECK(setrlimit(RLIMIT_AS, &small) == 0, "setrlimit");
	unsigned hogs = take_all(hog, HOGS);
	for (unsigned i = 0; i < BLOCKS; i++) {
		size[i] = rng_size(&rng, 20) + (i % 3 == 0 ? 300000 : 0);
		errno = 0;
		block[i] = hide(malloc(size[i]));
		if (block[i] == NULL) {
			refused++;
			CHECK(errno == ENOMEM, "a refused malloc sets ENOMEM");
			continue;
		}
		pattern_fill(block[i], size[i], i);
	}
	errno = 0;
	CHECK(malloc(hide_size((size_t)1 << 30)) == NULL && errno == ENOMEM, "1 GiB in 64 MiB");
	CHECK(posix_memalign(&aligned, 1 << 20, (size_t)1 << 30) == ENOMEM, "aligned 1 GiB");
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (block[i] == NULL)
			continue;
		CHECK(realloc(block[i], hide_size((size_t)1 << 30)) == NULL, "realloc to 1 GiB");
		PATTERN_CHECK(block[i], size[i], i);
		free(block[i]);
	}
	CHECK(setrlimit(RLIMIT_AS, &old) == 0, "setrlimit back");
	CHECK(refused > 0, "nothing was refused when all was taken");
	check_note("%u MiB, then %u of %d allocations were refused\n", hogs, refused, BLOCKS);
	for (unsigned i = 0; i < hogs; i++)
		free(hog[i]);
	void *large = hide(malloc((size_t)256 << 20));
	CHECK(large != NULL, "memory is there again when the limit is gone");
	free(large);
}

int main(void)
{
	check_allocator();
	test_impossible_sizes();
	test_calloc_overflow();
	test_free_keeps_errno();
	test_success_keeps_errno();
	test_real_exhaustion();
	return 0;
}
