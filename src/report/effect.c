#include "report/effect.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Twice the sum of all ranks of EFFECT_EXACT values. */
#define SUM_MOST (EFFECT_EXACT * (EFFECT_EXACT + 1))

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double shift_of(const struct series *a, const struct series *b)
{
	size_t count = a->count * b->count;
	double *differences = count > 0 ? malloc(count * sizeof(*differences)) : NULL;
	double shift = ebbi_series_median(b) - ebbi_series_median(a);

	if (!differences)
		return shift;
	for (size_t i = 0; i < a->count; i++) {
		for (size_t k = 0; k < b->count; k++)
			differences[i * b->count + k] = b->values[k] - a->values[i];
	}
	qsort(differences, count, sizeof(*differences), ascending);
	shift = count % 2 == 1 ? differences[count / 2] : (differences[count / 2 - 1] + differences[count / 2]) / 2;
	free(differences);
	return shift;
}

/* Pairs in which b is larger, less those in which it is smaller. */
static long balance_of(const struct series *a, const struct series *b)
{
	long balance = 0;

	for (size_t i = 0; i < a->count; i++) {
		for (size_t k = 0; k < b->count; k++)
			balance += (b->values[k] > a->values[i]) - (b->values[k] < a->values[i]);
	}
	return balance;
}

/* Twice the rank of each value among all of both, ascending: equal values share the mean of their ranks. */
static size_t ranks_of(const struct series *a, const struct series *b, double *values, unsigned *ret_ranks)
{
	size_t count = a->count + b->count;

	for (size_t i = 0; i < count; i++)
		values[i] = i < a->count ? a->values[i] : b->values[i - a->count];
	qsort(values, count, sizeof(*values), ascending);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && values[end] == values[first];)
			end++;
		for (size_t i = first; i < end; i++)
			ret_ranks[i] = (unsigned)(first + 1 + end);
	}
	return count;
}

/*
 * ways[k][s]: in how many ways k of the ranks sum up to s. Of all ways to choose as many ranks as b has, those whose sum is at
 * least as far from the middle as b's own are the chance.
 */
static double chance_exact(const struct series *a, const struct series *b, long balance)
{
	static double ways[EFFECT_EXACT + 1][SUM_MOST + 1];
	double values[EFFECT_EXACT] = {0};
	unsigned ranks[EFFECT_EXACT];
	size_t count = ranks_of(a, b, values, ranks);
	long middle = (long)(b->count * (count + 1));
	double all = 0, far = 0;

	for (size_t k = 0; k <= b->count; k++) {
		for (size_t s = 0; s <= SUM_MOST; s++)
			ways[k][s] = k == 0 && s == 0;
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t k = b->count; k > 0; k--) {
			for (size_t s = SUM_MOST; s >= ranks[i]; s--)
				ways[k][s] += ways[k - 1][s - ranks[i]];
		}
	}
	/* Twice the rank sum lies `balance` from its middle: each pair that b wins is one rank, each that it loses one less. */
	for (size_t s = 0; s <= SUM_MOST; s++) {
		all += ways[b->count][s];
		if (labs((long)s - middle) >= labs(balance))
			far += ways[b->count][s];
	}
	return far / all;
}

/*
 * erfc(x) for x >= 0, to 3e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.28. libm's own would be
 * 0.3 MB of every launcher, whose size is the least that a measured command seems to need.
 */
static double error_tail(double x)
{
	static const double factors[] = {0.0000430638, 0.0002765672, 0.0001520143,
					 0.0092705272, 0.0422820123, 0.0705230784};
	double sum = 0;

	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		sum = (sum + factors[i]) * x;
	sum += 1;
	for (int i = 0; i < 4; i++)
		sum *= sum;
	return 1 / sum;
}

static double chance_normal(const struct series *a, const struct series *b, long balance)
{
	static double values[2 * SERIES_MAX];
	static unsigned ranks[2 * SERIES_MAX];
	double count = (double)ranks_of(a, b, values, ranks);
	double pairs = (double)a->count * (double)b->count;
	double ties = 0, variance, distance;

	for (size_t first = 0, end; first < (size_t)count; first = end) {
		double equal;

		for (end = first + 1; end < (size_t)count && ranks[end] == ranks[first];)
			end++;
		equal = (double)(end - first);
		ties += equal * equal * equal - equal;
	}
	/* Of U, which is half of the balance; the half step is the usual correction. */
	variance = pairs / 12 * (count + 1 - ties / (count * (count - 1)));
	if (variance <= 0)
		return 1;
	distance = fabs((double)balance) / 2 - 0.5;
	return distance > 0 ? error_tail(distance / sqrt(variance) / sqrt(2)) : 1;
}

struct effect ebbi_effect(const struct series *a, const struct series *b)
{
	long balance = balance_of(a, b);
	bool exact = a->count + b->count <= EFFECT_EXACT;

	return (struct effect){
		.shift = shift_of(a, b),
		.delta = (double)balance / ((double)a->count * (double)b->count),
		.chance = exact ? chance_exact(a, b, balance) : chance_normal(a, b, balance),
	};
}
