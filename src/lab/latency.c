#include "lab/latency.h"

static unsigned bucket_of(uint64_t ns)
{
	unsigned top, shift;

	if (ns >= (uint64_t)1 << LATENCY_TOP)
		ns = ((uint64_t)1 << LATENCY_TOP) - 1;
	if (ns < 2u << LATENCY_BITS)
		return (unsigned)ns;
	top = 63u - (unsigned)__builtin_clzll(ns);
	shift = top - LATENCY_BITS;
	return (shift << LATENCY_BITS) + (unsigned)(ns >> shift);
}

/* The largest time that counts in it. */
static uint64_t end_of(unsigned bucket)
{
	unsigned shift;

	if (bucket < 2u << LATENCY_BITS)
		return bucket;
	shift = (bucket >> LATENCY_BITS) - 1;
	return ((uint64_t)(bucket - (shift << LATENCY_BITS) + 1) << shift) - 1;
}

void ebbi_latency_add(struct latency *latency, uint64_t ns)
{
	latency->buckets[bucket_of(ns)]++;
	latency->count++;
	if (ns > latency->most_ns)
		latency->most_ns = ns;
}

uint64_t ebbi_latency_at(const struct latency *latency, double share)
{
	double wanted = share * (double)latency->count;
	uint64_t seen = 0;

	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		seen += latency->buckets[i];
		if (seen > 0 && (double)seen >= wanted) {
			uint64_t end = end_of(i);

			return end < latency->most_ns ? end : latency->most_ns;
		}
	}
	return latency->most_ns;
}
