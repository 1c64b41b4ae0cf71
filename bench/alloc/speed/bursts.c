/*
 * bursts: sixteen threads each allocate 4000 objects, then all of it is freed, in
 * odd rounds by the neighbour. The rounds are in step, so everybody is full at once.
 */
#include "../bench.h"

#define THREADS 16
#define OBJECTS 4000u

static struct sizes sizes;
static struct bench bench;
static uint64_t rounds;
static pthread_barrier_t barrier;
static void *table[THREADS][OBJECTS];
static uint32_t size_of[THREADS][OBJECTS];

static void fill(uint32_t who, struct rng *r)
{
	for (uint32_t i = 0; i < OBJECTS; i++) {
		uint32_t size = sizes_pick(&sizes, r);
		size_of[who][i] = size;
		table[who][i] = stamp(malloc(size), size, who + i);
	}
}

static void empty(uint32_t who)
{
	for (uint32_t i = 0; i < OBJECTS; i++) {
		stamp_check(table[who][i], size_of[who][i], who + i);
		free(table[who][i]);
	}
}

static void *run(void *arg)
{
	uint32_t self = (uint32_t)(uintptr_t)arg;
	struct rng r;

	rng_seed(&r, 50 + self);
	for (uint64_t i = 0; i < rounds; i++) {
		fill(self, &r);
		pthread_barrier_wait(&barrier);
		empty((self + (uint32_t)(i & 1)) % THREADS);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	struct rng r;

	bench_begin(&bench, argc, argv, "bursts");
	rng_seed(&r, 5);
	sizes_loguniform(&sizes, &r, 16, 512);
	rounds = bench_count(&bench, 200);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		thread_start(&t[i], run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		thread_join(t[i]);
	bench_end(&bench, rounds * THREADS * OBJECTS, rounds);
	return 0;
}
