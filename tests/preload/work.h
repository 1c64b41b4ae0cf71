/*
 * work.h: allocating work with contents that are checked, for the helper programs.
 *
 * Owns: nothing beyond a call. Never: prints. Threading: each thread works on its own blocks and frees some of
 * its neighbour's. Errors: work_in_threads returns how many contents or calls were wrong.
 */
#ifndef EBB_TESTS_PRELOAD_WORK_H
#define EBB_TESTS_PRELOAD_WORK_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORK_SLOTS 600
#define WORK_ROUNDS 30000
#define WORK_THREADS_MOST 8

struct work {
	pthread_t thread;
	uint32_t seed;
	unsigned long faults;
};

/* Blocks handed from one thread to another; exchanged whole. */
static unsigned char *work_passed[64];

static inline uint32_t work_random(struct work *work)
{
	work->seed = work->seed * 1664525u + 1013904223u;
	return work->seed >> 8;
}

/* A block knows its size and its filling: 4 bytes size, 1 byte filling, then the filling. */
static inline unsigned char *work_block(struct work *work)
{
	uint32_t size = 8 + (work_random(work) % 40 == 0 ? work_random(work) % 300000 : work_random(work) % 700);
	unsigned char filling = (unsigned char)work_random(work);
	unsigned char *block = (unsigned char *)malloc(size);

	if (!block) {
		work->faults++;
		return NULL;
	}
	memset(block, filling, size);
	memcpy(block, &size, sizeof(size));
	block[4] = filling;
	return block;
}

static inline void work_done_with(struct work *work, unsigned char *block)
{
	uint32_t size;

	if (!block)
		return;
	memcpy(&size, block, sizeof(size));
	for (uint32_t i = 5; i < size; i++) {
		if (block[i] != block[4]) {
			work->faults++;
			break;
		}
	}
	free(block);
}

static inline void *work_run(void *argument)
{
	struct work *work = (struct work *)argument;
	unsigned char *slots[WORK_SLOTS] = {NULL};

	for (unsigned round = 0; round < WORK_ROUNDS; round++) {
		unsigned at = work_random(work) % WORK_SLOTS;

		work_done_with(work, slots[at]);
		slots[at] = work_block(work);
		if (work_random(work) % 8 == 0)
			slots[at] = __atomic_exchange_n(&work_passed[at % 64], slots[at], __ATOMIC_ACQ_REL);
	}
	for (unsigned at = 0; at < WORK_SLOTS; at++)
		work_done_with(work, slots[at]);
	return NULL;
}

static inline unsigned long work_in_threads(unsigned threads)
{
	struct work works[WORK_THREADS_MOST] = {{0}};
	unsigned long faults = 0;

	for (unsigned i = 0; i < threads; i++) {
		works[i].seed = i * 7919 + 1;
		if (pthread_create(&works[i].thread, NULL, work_run, &works[i]) != 0)
			return 1000000;
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(works[i].thread, NULL);
		faults += works[i].faults;
	}
	for (unsigned i = 0; i < 64; i++) {
		work_done_with(&works[0], work_passed[i]);
		work_passed[i] = NULL;
	}
	return faults;
}

#endif
