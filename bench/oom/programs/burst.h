/*
 * burst.h: what the bursts of all languages have in common, for those in C and C++.
 *
 * A program takes BURSTS SEED MOST_MIB. Each burst asks for blocks of one random shape until it holds a random total, at most
 * MOST_MIB, or is refused; touches all of it; and frees it, except for a random part that stays until the next
 * burst. It prints a line a burst, "done" or "refused" with what it held, and at the end "end" with its peak. It must come to
 * that end: a refusal is an answer, a dead process is none.
 */
#ifndef EBB_BENCH_OOM_BURST_H
#define EBB_BENCH_OOM_BURST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static inline uint64_t burst_random(uint64_t *state)
{
	/* splitmix64, Sebastiano Vigna, public domain: https://prng.di.unimi.it/splitmix64.c */
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t burst_below(uint64_t *state, uint64_t end)
{
	return burst_random(state) % end;
}

/* A block's size in this burst: small, a page or two, buffers, large ones, or all of these. */
static inline size_t burst_size(uint64_t *state, unsigned shape)
{
	static const struct {
		uint32_t least;
		uint32_t most;
	} shapes[] = {{16, 256}, {256, 8192}, {8192, 200000}, {200000, 8000000}};
	unsigned which = shape < 4 ? shape : (unsigned)burst_below(state, 4);

	return shapes[which].least + burst_below(state, shapes[which].most - shapes[which].least);
}

static inline long burst_peak_kib(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : -1;
}

#endif
