#include "lab/latency.h"

#include <stddef.h>

static size_t bucket_of(uint64_t us)
{
	unsigned exponent;

	if (us < LATENCY_EXACT)
		return us;
	exponent = 63u - (unsigned)__builtin_clzll(us);
	if (exponent >= 8 + LATENCY_DOUBLINGS)
		return LATENCY_BUCKETS - 1;
	return LATENCY_EXACT + (exponent - 8) * LATENCY_STEPS + ((us >> (exponent - 7)) - LATENCY_STEPS);
}

/* The first microsecond that is beyond the bucket. */
static uint64_t end_of(size_t bucket)
{
	size_t above = bucket - LATENCY_EXACT;

	if (bucket < LATENCY_EXACT)
		return bucket + 1;
	return (uint64_t)(above % LATENCY_STEPS + LATENCY_STEPS + 1) << (above / LATENCY_STEPS + 1);
}

void ebbi_latency_add(struct latency *latency, uint64_t ns)
{
	latency->buckets[bucket_of(ns / 1000)]++;
	latency->count++;
	if (ns > latency->most_ns)
		latency->most_ns = ns;
}

uint64_t ebbi_latency_quantile(const struct latency *latency, double share)
{
	double wanted = share * (double)latency->count;
	uint64_t seen = 0;
	uint64_t ns;

	if (latency->count == 0)
		return 0;
	for (size_t i = 0; i < LATENCY_BUCKETS - 1; i++) {
		seen += latency->buckets[i];
		if (seen == 0 || (double)seen < wanted)
			continue;
		ns = end_of(i) * 1000;
		return ns < latency->most_ns ? ns : latency->most_ns;
	}
	return latency->most_ns;
}
