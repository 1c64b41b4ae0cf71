/*
 * A process with as many mappings as it may have (max_map_count): munmap of a block that the kernel has merged
 * with its neighbours would cut a mapping in two, and is refused. Nothing may be lost by that: the memory goes
 * back all the same, the address space serves again, and the statistics say so.
 */
#include "stats.h"

#include <sys/mman.h>

#include "churn.h"

#define BLOCKS 60u
#define BLOCK_BYTES ((size_t)5 << 20)
#define SMALL_BYTES ((size_t)300 << 10)
#define MOST_SMALL 2000u

/* Every other page of a range gets other rights, so that each is a mapping of its own. */
static void use_up(void)
{
	size_t pages = 1 << 20;
	uint8_t *range = mmap(NULL, pages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t used = 0;

	CHECK(range != MAP_FAILED, "mmap");
	for (size_t i = 1; i < pages; i += 2) {
		if (mprotect(range + i * 4096, 4096, PROT_READ) != 0)
			break;
		used++;
	}
	CHECK(used < pages / 2, "this kernel allows more than %zu mappings", used);
	check_note("%zu mappings used up\n", 2 * used);
	/* The last ones, too: single pages that nobody merges. */
	while (mmap(NULL, 4096, used++ % 2 == 0 ? PROT_READ : PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED)
		;
}

static void *block[BLOCKS];
static void *small[MOST_SMALL];

int main(void)
{
	struct ebb_snapshot before;
	struct ebb_snapshot after;
	struct churn churn;
	size_t count = 0;

	check_allocator();
	CHECK(stats_get(&before), "no statistics");
	churn_init(&churn, 3, 15);
	churn_steps(&churn, 3000);
	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = hide(malloc(BLOCK_BYTES));
		CHECK(block[i] != NULL, "malloc");
		pattern_fill(block[i], BLOCK_BYTES, i);
	}
	use_up();
	long full = proc_status("RssAnon:");
	for (unsigned i = 0; i < BLOCKS; i += 2)
		free(block[i]);
	check_purge();
	long emptied = proc_status("RssAnon:");
	check_note("RssAnon %ld KiB, %ld when every other block was freed\n", full, emptied);
	CHECK(full - emptied >= (long)(BLOCKS / 2 * BLOCK_BYTES >> 10) * 9 / 10, "%ld of %ld KiB stay", emptied, full);
	for (unsigned i = 1; i < BLOCKS; i += 2)
		PATTERN_CHECK(block[i], BLOCK_BYTES, i);
	/* What was freed serves again, in another shape, without a mapping more. */
	for (; count < MOST_SMALL && (small[count] = hide(malloc(SMALL_BYTES))) != NULL; count++)
		memset(small[count], 1, SMALL_BYTES);
	check_note("%zu MiB in other blocks\n", count * SMALL_BYTES >> 20);
	CHECK(count * SMALL_BYTES >= BLOCKS / 2 * BLOCK_BYTES * 8 / 10, "only %zu blocks", count);
	for (size_t i = 0; i < count; i++)
		free(small[i]);
	check_purge();
	churn_steps(&churn, 3000); /* small blocks: none may fail */
	CHECK(stats_get(&after), "no statistics");
	check_note("unmap_refused %lu, reclaims %lu, leftover %lu\n", (unsigned long)after.unmap_refused,
		   (unsigned long)after.reclaims, (unsigned long)after.leftover_bytes);
	CHECK(after.unmap_refused > before.unmap_refused, "no munmap was refused");
	for (unsigned i = 1; i < BLOCKS; i += 2) {
		PATTERN_CHECK(block[i], BLOCK_BYTES, i);
		free(block[i]);
	}
	churn_free_all(&churn);
	check_heap();
	return 0;
}
