/*
 * sampling.h: which allocations are samples, what each stands for, and what sampling may cost.
 *
 * Owns: pure functions; integers alone, since malloc must leave the floating-point flags as they are. Never: keeps state, reads a clock.
 * Threading: any. Errors: none.
 *
 * Samples are the points of a Poisson process over the bytes that are asked for, `interval` bytes apart in the mean. A block of
 * s bytes has a point in it with the chance 1 - exp(-s / interval), whatever was allocated before. Who counts each sampled
 * block as 1 / chance blocks is right in the mean, for any mixture of sizes (Horvitz and Thompson), with the
 * variance sum((1 - chance) * (size / chance)^2) over the sampled blocks.
 */
#ifndef EBBI_POLICY_SAMPLING_H
#define EBBI_POLICY_SAMPLING_H

#include <stdint.h>

#include "base/bits.h"

/* Fixed point: this is 1. */
#define EBBI_CHANCE_BITS 62u
#define EBBI_CHANCE_ONE ((uint64_t)1 << EBBI_CHANCE_BITS)

/* 2^-32 of ln 2. */
#define EBBI_LN2_32 UINT64_C(2977044472)

/* log2 of a word that is not 0, in 2^-32, good to 24 bits: each squaring yields one. */
static inline uint64_t ebbi_policy_log2(uint64_t word)
{
	unsigned highest = ebbi_bit_highest(word);
	uint64_t mantissa = word << (63 - highest);
	uint64_t result = (uint64_t)highest << 32;

	for (unsigned bit = 31; bit >= 8; bit--) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa;

		mantissa = (uint64_t)(square >> 63);
		if ((square >> 127) != 0) {
			mantissa = (uint64_t)(square >> 64);
			result |= (uint64_t)1 << bit;
		}
	}
	return result;
}

/* Bytes to the next sample, at least 1: `random` is 64 random bits. */
static inline uint64_t ebbi_policy_sample_distance(uint64_t random, uint64_t interval)
{
	uint64_t bits = ((uint64_t)64 << 32) - ebbi_policy_log2(random | 1);
	uint64_t nepers = (uint64_t)((unsigned __int128)bits * EBBI_LN2_32 >> 32);

	return (uint64_t)((unsigned __int128)nepers * interval >> 32) + 1;
}

static inline uint64_t ebbi_policy_times(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> EBBI_CHANCE_BITS);
}

/* 1 - exp(-bytes / interval) for `bytes` above 0: of a 2^-n of it by a series, then n times 1 - (1 - p)^2. */
static inline uint64_t ebbi_policy_sample_chance(uint64_t bytes, uint64_t interval)
{
	unsigned halvings = 0;
	unsigned __int128 exponent;
	uint64_t x;
	uint64_t chance;

	if (bytes / interval >= 40)
		return EBBI_CHANCE_ONE;
	exponent = ((unsigned __int128)bytes << EBBI_CHANCE_BITS) / interval;
	while (exponent >> (EBBI_CHANCE_BITS - 8) != 0) {
		exponent >>= 1;
		halvings++;
	}
	x = (uint64_t)exponent;
	chance = x - ebbi_policy_times(x, x) / 2 + ebbi_policy_times(ebbi_policy_times(x, x), x) / 6;
	for (; halvings > 0; halvings--)
		chance = 2 * chance - ebbi_policy_times(chance, chance);
	return ebbi_max_size(chance, 1);
}

/* How much `amount` in a block that was sampled with this chance stands for. */
static inline uint64_t ebbi_policy_sample_weight(uint64_t amount, uint64_t chance)
{
	return (uint64_t)(((unsigned __int128)amount << EBBI_CHANCE_BITS) / chance);
}

/* What such a block adds to the variance of a sum of weights, in units of 2^20. */
static inline uint64_t ebbi_policy_sample_variance(uint64_t weight, uint64_t chance)
{
	uint64_t kib = weight >> 10;
	unsigned __int128 square = (unsigned __int128)kib * kib;

	return (uint64_t)(square * (EBBI_CHANCE_ONE - chance) >> EBBI_CHANCE_BITS);
}

/* The whole part of the square root. */
static inline uint64_t ebbi_policy_root(uint64_t square)
{
	uint64_t root = 0;

	for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1)
		if ((root | bit) * (root | bit) <= square)
			root |= bit;
	return root;
}

/*
 * The cost. Samples may take a hundredth of one CPU in the mean; what is above that is a debt, and when it comes to
 * 20 ms, the time of the samples of a program's first gigabytes, the interval doubles. It comes back when the debt was paid.
 */
#define EBBI_SAMPLING_SHARE 100u
#define EBBI_SAMPLING_DEBT_MOST_NS ((uint64_t)20 * 1000 * 1000)
#define EBBI_SAMPLING_DOUBLINGS_MOST 10u
#define EBBI_SAMPLING_ONE_MOST_NS ((uint64_t)100 * 1000) /* one that took longer waited for a CPU */

struct ebbi_sampling_cost {
	uint64_t last_ns;
	uint64_t debt_ns;
	unsigned doublings; /* of the interval */
};

/* A sample ended at `now_ns` and took `took_ns`. */
static inline void ebbi_policy_sampling_pay(struct ebbi_sampling_cost *cost, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t paid = ebbi_excess(now_ns, cost->last_ns) / EBBI_SAMPLING_SHARE;

	cost->debt_ns = ebbi_excess(cost->debt_ns, paid) + ebbi_min_size(took_ns, EBBI_SAMPLING_ONE_MOST_NS);
	cost->last_ns = now_ns;
	if (cost->debt_ns > EBBI_SAMPLING_DEBT_MOST_NS && cost->doublings < EBBI_SAMPLING_DOUBLINGS_MOST) {
		cost->doublings++;
		cost->debt_ns = EBBI_SAMPLING_DEBT_MOST_NS / 2;
	} else if (cost->debt_ns < EBBI_SAMPLING_DEBT_MOST_NS / 8 && cost->doublings > 0) {
		cost->doublings--;
		cost->debt_ns = EBBI_SAMPLING_DEBT_MOST_NS / 2;
	}
}

#endif
