/*
 * sharing: small objects that threads write all the time. The main thread makes
 * one for each thread; each frees it, allocates its own and writes it. Where two
 * threads get neighbours on one cache line, writing costs many times more. (Stores
 * only: adding to the word would measure how this CPU forwards stores to loads.)
 */
#include "../bench.h"

#define THREADS 4
#define WRITES 48u

static uint64_t steps;

static void *run(void *arg)
{
	volatile uint32_t *given = arg;
	struct rng r;

	rng_seed(&r, 110 + given[0]);
	free(arg);
	for (uint64_t i = 0; i < steps; i++) {
		size_t size = 8 + 8 * (size_t)(rng_next(&r) >> 62);
		volatile uint32_t *p = need(malloc(size));

		for (uint32_t k = 0; k < WRITES; k++)
			p[0] = k;
		if (p[0] != WRITES - 1)
			probe_die("an object does not hold what was written to it");
		free((void *)p);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	uint32_t *given[THREADS];
	struct bench b;
	uint64_t rounds;

	bench_begin(&b, argc, argv, "sharing");
	rounds = bench_count(&b, 20);
	steps = 240000;
	for (uint64_t k = 0; k < rounds; k++) {
		for (uint32_t i = 0; i < THREADS; i++) {
			given[i] = need(malloc(8));
			given[i][0] = i;
		}
		for (int i = 0; i < THREADS; i++)
			thread_start(&t[i], run, given[i]);
		for (int i = 0; i < THREADS; i++)
			thread_join(t[i]);
	}
	bench_end(&b, rounds * THREADS * steps, rounds);
	return 0;
}
