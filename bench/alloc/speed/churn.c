/*
 * churn: a mix of sizes as programs have it (lognormal, median 200 bytes, 16
 * bytes to 80 KiB), 20 000 objects live, a random one replaced each time.
 */
#include "../bench.h"

#define SLOTS 20000u

static struct sizes sizes;
static struct {
	void *p;
	uint32_t size, tag;
} slot[SLOTS];

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t n, sum = 0;

	bench_begin(&b, argc, argv, "churn");
	rng_seed(&r, 2);
	sizes_lognormal(&sizes, &r, 200, 1.5, 16, 80 << 10);
	n = bench_count(&b, 16e6);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = rng_below(&r, SLOTS);

		if (slot[at].p != NULL) {
			stamp_check(slot[at].p, slot[at].size, slot[at].tag);
			free(slot[at].p);
		}
		slot[at].size = sizes_pick(&sizes, &r);
		slot[at].tag = (uint32_t)i;
		slot[at].p = stamp(malloc(slot[at].size), slot[at].size, slot[at].tag);
		sum += slot[at].size;
	}
	for (uint32_t at = 0; at < SLOTS; at++)
		free(slot[at].p);
	bench_end(&b, n, sum);
	return 0;
}
