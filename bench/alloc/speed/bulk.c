/*
 * bulk: half a million objects of 16-128 bytes are allocated and then freed, in
 * the order of allocation (fifo), backwards (lifo) or in random order (random).
 */
#include "../bench.h"

#define OBJECTS 500000u

static void *table[OBJECTS];
static uint32_t order[OBJECTS];

static void order_set(const char *mode, struct rng *r)
{
	int backwards = strcmp(mode, "lifo") == 0;

	for (uint32_t i = 0; i < OBJECTS; i++)
		order[i] = backwards ? OBJECTS - 1 - i : i;
	if (strcmp(mode, "random") != 0)
		return;
	for (uint32_t i = OBJECTS - 1; i > 0; i--) {
		uint32_t k = rng_below(r, i + 1), keep = order[i];
		order[i] = order[k];
		order[k] = keep;
	}
}

int main(int argc, char **argv)
{
	const char *mode;
	struct bench b;
	struct rng r;
	uint64_t rounds, sum = 0;

	mode = bench_begin(&b, argc, argv, "bulk");
	if (mode == NULL || (strcmp(mode, "fifo") != 0 && strcmp(mode, "lifo") != 0 && strcmp(mode, "random") != 0))
		probe_die("bulk needs fifo, lifo or random");
	rng_seed(&r, 10);
	order_set(mode, &r);
	rounds = bench_count(&b, strcmp(mode, "random") == 0 ? 12 : 24);
	for (uint64_t k = 0; k < rounds; k++) {
		for (uint32_t i = 0; i < OBJECTS; i++) {
			uint32_t size = 16 + (uint32_t)(((rng_next(&r) >> 48) * 113) >> 16);
			table[i] = need(malloc(size));
			memcpy(table[i], &i, sizeof(i));
		}
		for (uint32_t i = 0; i < OBJECTS; i++) {
			uint32_t seen;
			memcpy(&seen, table[order[i]], sizeof(seen));
			sum += seen == order[i];
			free(table[order[i]]);
		}
	}
	if (sum != rounds * OBJECTS)
		probe_die("an object does not hold what was written to it");
	bench_end(&b, rounds * OBJECTS, sum);
	return 0;
}
