/*
 * starts: threads that start, allocate N objects of mixed sizes, free them, and exit; one after the other.
 *
 *   starts [MALLOCS] [--quick | --scale X]      MALLOCS 0 is what a thread costs by itself
 */
#include "../bench.h"

#define MOST 1000u

static struct sizes sizes;
static uint64_t mallocs = 1;

static void *once(void *arg)
{
	void *held[MOST];
	uint32_t from = (uint32_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < mallocs; i++)
		held[i] = stamp(malloc(sizes.v[(from + i) % SIZES_COUNT]), sizes.v[(from + i) % SIZES_COUNT], 7);
	for (uint64_t i = 0; i < mallocs; i++) {
		stamp_check(held[i], sizes.v[(from + i) % SIZES_COUNT], 7);
		free(held[i]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	const char *mode = bench_begin(&b, argc, argv, "starts");
	uint64_t n = bench_count(&b, 10e3);

	if (mode != NULL)
		mallocs = strtoull(mode, NULL, 10);
	if (mallocs > MOST)
		probe_die("at most 1000 objects a thread");
	rng_seed(&r, 12);
	sizes_loguniform(&sizes, &r, 16, 2048);
	for (uint64_t i = 0; i < n; i++) {
		pthread_t t;

		thread_start(&t, once, (void *)(uintptr_t)(i * 101 % SIZES_COUNT));
		thread_join(t);
	}
	bench_end(&b, n, mallocs);
	return 0;
}
