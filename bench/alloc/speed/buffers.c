/*
 * buffers: two threads, each with twelve buffers of 64 KiB to 4 MiB; a random one
 * is freed and replaced, one byte of each of its pages written. Pages that were
 * given back too early are paid for here.
 */
#include "../bench.h"

#define THREADS 2
#define SLOTS 12u

static struct sizes sizes;
static uint64_t steps;

static void *run(void *arg)
{
	void *slot[SLOTS] = {NULL};
	uint32_t size[SLOTS] = {0};
	struct rng r;

	rng_seed(&r, 60 + (uint64_t)(uintptr_t)arg);
	for (uint64_t i = 0; i < steps; i++) {
		uint32_t at = rng_below(&r, SLOTS);

		if (slot[at] != NULL) {
			stamp_check(slot[at], size[at], at);
			free(slot[at]);
		}
		size[at] = sizes_pick(&sizes, &r);
		slot[at] = need(malloc(size[at]));
		for (uint32_t off = 0; off < size[at]; off += 4096)
			((volatile unsigned char *)slot[at])[off] = 1;
		stamp(slot[at], size[at], at);
	}
	for (uint32_t at = 0; at < SLOTS; at++)
		free(slot[at]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	struct bench b;
	struct rng r;

	bench_begin(&b, argc, argv, "buffers");
	rng_seed(&r, 6);
	sizes_loguniform(&sizes, &r, 64 << 10, 4 << 20);
	steps = bench_count(&b, 14e3);
	for (uintptr_t i = 0; i < THREADS; i++)
		thread_start(&t[i], run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		thread_join(t[i]);
	bench_end(&b, THREADS * steps, steps);
	return 0;
}
