/*
 * Memory comes back while nobody calls anything: 64 MiB are allocated, most of it is freed, the program
 * sleeps, and what stays is compared with the floor: what it had before, and the pages that hold a
 * byte which is still in use.
 *
 *   back every64   512-byte blocks, every 64th survives
 *   back runs      16-128 bytes, survivors in runs of 1024
 *   back random    lognormal-like sizes, 2 % survive at random
 *   back large     64 KiB - 1 MiB, every 16th survives
 *   back all       nothing survives
 */
#include "check.h"

#include <sys/mman.h>

#define TOTAL ((size_t)64 << 20)
#define MOST_BLOCKS (1u << 20)

/* The goal (design: "What it must reach"), and slack for figures that are small. */
#define MOST_RATIO 1.10
#define MOST_SLACK_KIB 512

static uint8_t **block;
static size_t *size;
static unsigned count;

static void *map_bytes(size_t bytes)
{
	void *range = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	CHECK(range != MAP_FAILED, "mmap");
	return range;
}

static long anonymous_kib(void)
{
	return proc_number("/proc/self/smaps_rollup", "Anonymous:");
}

static size_t size_for(const char *mode, struct rng *rng)
{
	if (strcmp(mode, "every64") == 0)
		return 512;
	if (strcmp(mode, "runs") == 0)
		return 16 + rng_below(rng, 113);
	if (strcmp(mode, "large") == 0)
		return (64 << 10) + rng_below(rng, 960 << 10);
	return rng_size(rng, 14);
}

static bool survives(const char *mode, struct rng *rng, unsigned index)
{
	if (strcmp(mode, "every64") == 0)
		return index % 64 == 0;
	if (strcmp(mode, "runs") == 0)
		return index / 1024 % 64 == 0;
	if (strcmp(mode, "large") == 0)
		return index % 16 == 0;
	return strcmp(mode, "all") != 0 && rng_below(rng, 50) == 0;
}

static int compare_pages(const void *left, const void *right)
{
	uintptr_t a = *(const uintptr_t *)left;
	uintptr_t b = *(const uintptr_t *)right;

	return (a > b) - (a < b);
}

/* The distinct pages under the survivors. */
static long floor_kib(void)
{
	uintptr_t *pages;
	size_t used = 0;
	long distinct = 0;

	pages = map_bytes(sizeof(*pages) * (TOTAL / 4096 + MOST_BLOCKS));
	for (unsigned i = 0; i < count; i++) {
		if (block[i] == NULL)
			continue;
		uintptr_t last = ((uintptr_t)block[i] + size[i] - 1) / 4096;
		for (uintptr_t page = (uintptr_t)block[i] / 4096; page <= last; page++)
			pages[used++] = page;
	}
	qsort(pages, used, sizeof(*pages), compare_pages);
	for (size_t i = 0; i < used; i++)
		distinct += i == 0 || pages[i] != pages[i - 1];
	munmap(pages, sizeof(*pages) * (TOTAL / 4096 + MOST_BLOCKS));
	return distinct * 4;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct rng rng = {42};
	size_t allocated = 0;
	long resting = 0;

	check_allocator();
	free(hide(malloc(100)));
	long before = anonymous_kib();
	block = map_bytes(MOST_BLOCKS * sizeof(*block));
	size = map_bytes(MOST_BLOCKS * sizeof(*size));
	long tables = anonymous_kib() - before; /* this program's own, left out of all figures */
	for (; allocated < TOTAL && count < MOST_BLOCKS; count++) {
		size[count] = size_for(mode, &rng);
		block[count] = hide(malloc(size[count]));
		CHECK(block[count] != NULL, "malloc");
		memset(block[count], 1, size[count]);
		allocated += size[count];
	}
	long full = anonymous_kib() - tables;
	for (unsigned i = 0; i < count; i++) {
		if (survives(mode, &rng, i))
			continue;
		free(block[i]);
		block[i] = NULL;
	}
	long floor = before + floor_kib();
	for (unsigned i = 0; i < 12; i++) {
		sleep_ms(500);
		resting = anonymous_kib() - tables;
		if ((double)resting <= MOST_RATIO * (double)floor)
			break;
	}
	sleep_ms(1000);
	resting = anonymous_kib() - tables;
	double ratio = (double)resting / (double)floor;
	check_note("%s: %u blocks; KiB: before %ld, full %ld, floor %ld, resting %ld: ratio %.3f\n", mode, count,
		   before, full, floor, resting, ratio);
	CHECK((double)resting <= MOST_RATIO * (double)floor + MOST_SLACK_KIB, "resting ratio %.3f", ratio);
	return 0;
}
