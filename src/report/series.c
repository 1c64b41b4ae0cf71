#include "report/series.h"

bool ebbi_series_add(struct series *series, double value)
{
	size_t i = series->count;

	if (i == SERIES_MAX)
		return false;
	for (; i > 0 && series->values[i - 1] > value; i--)
		series->values[i] = series->values[i - 1];
	series->values[i] = value;
	series->count++;
	return true;
}

double ebbi_series_median(const struct series *series)
{
	size_t half = series->count / 2;

	if (series->count % 2 == 1)
		return series->values[half];
	return (series->values[half - 1] + series->values[half]) / 2;
}

double ebbi_series_least(const struct series *series)
{
	return series->values[0];
}

double ebbi_series_most(const struct series *series)
{
	return series->values[series->count - 1];
}

bool ebbi_series_apart(const struct series *a, const struct series *b)
{
	return ebbi_series_most(a) < ebbi_series_least(b) || ebbi_series_most(b) < ebbi_series_least(a);
}
