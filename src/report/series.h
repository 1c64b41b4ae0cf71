/*
 * series.h: a few values of one figure: median, least, most.
 *
 * Owns: nothing. Pure; keeps its values in order of size. Threading: any.
 * Errors: beyond SERIES_MAX values are not taken (false). Invariant: values[] ascend.
 */
#ifndef EBBI_REPORT_SERIES_H
#define EBBI_REPORT_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#define SERIES_MAX 256

struct series {
	size_t count;
	double values[SERIES_MAX];
};

bool ebbi_series_add(struct series *series, double value);

/* All need count > 0. */
double ebbi_series_median(const struct series *series);
double ebbi_series_least(const struct series *series);
double ebbi_series_most(const struct series *series);

/* Whether no value of one lies within the range of the other: more than noise, at a glance. */
bool ebbi_series_apart(const struct series *a, const struct series *b);

/* fmax and fmin are calls of libm, which would be 0.3 MB of every launcher. */
static inline double ebbi_larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double ebbi_smaller(double a, double b)
{
	return a < b ? a : b;
}

#endif
