/*
 * mlockall: the kernel refuses madvise(MADV_DONTNEED) on locked pages. Nothing is given back then, memory
 * that was not emptied is not taken for zero.
 */
#include "churn.h"

#include <sys/mman.h>

static void expect_zero(size_t size)
{
	uint8_t *block = hide(calloc(1, size));

	CHECK(block != NULL, "calloc");
	for (size_t i = 0; i < size; i++)
		CHECK(block[i] == 0, "byte %zu of %zu is not zero", i, size);
	memset(block, 0xff, size);
	free(block);
}

int main(void)
{
	struct churn churn;

	check_allocator();
	/* Rights come with root or with a generous RLIMIT_MEMLOCK. */
	CHECK(mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0, "mlockall");
	churn_init(&churn, 3, 20);
	for (unsigned round = 0; round < 20; round++) {
		churn_steps(&churn, 2000);
		for (size_t size = 1000; size < 4 << 20; size *= 3)
			expect_zero(size);
		check_purge();
		malloc_trim(0);
		for (size_t size = 4 << 20; size > 1000; size /= 3)
			expect_zero(size);
	}
	churn_free_all(&churn);
	check_purge();
	for (size_t size = 4 << 20; size > 1000; size /= 2)
		expect_zero(size);
	CHECK(munlockall() == 0, "munlockall");
	return 0;
}
