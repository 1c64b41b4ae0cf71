/*
 * seeded.h: random numbers that come again with the same seed (splitmix64).
 *
 * Owns: nothing; the state is the caller's, any value is a seed. Threading: one state, one thread.
 */
#ifndef TESTS_UNIT_SEEDED_H
#define TESTS_UNIT_SEEDED_H

#include <stdint.h>

static inline uint64_t seeded_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 to bound - 1; bound is far below 2^64, so that the bias does not matter. */
static inline uint64_t seeded_below(uint64_t *state, uint64_t bound)
{
	return seeded_next(state) % bound;
}

#endif
