/* ring: 10 000 live objects of 16-1024 bytes; a random one is freed and replaced. */
#include "../bench.h"

#define SLOTS 10000u

static struct {
	void *p;
	uint32_t size, tag;
} slot[SLOTS];

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t n, sum = 0;

	bench_begin(&b, argc, argv, "ring");
	rng_seed(&r, 1);
	n = bench_count(&b, 32e6);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t x = rng_next(&r);
		uint32_t at = (uint32_t)(((x >> 32) * SLOTS) >> 32);

		if (slot[at].p != NULL) {
			stamp_check(slot[at].p, slot[at].size, slot[at].tag);
			free(slot[at].p);
		}
		slot[at].size = 16 + (uint32_t)(((x & 0xffff) * 1009) >> 16);
		slot[at].tag = (uint32_t)i;
		slot[at].p = stamp(malloc(slot[at].size), slot[at].size, slot[at].tag);
		sum += slot[at].size;
	}
	for (uint32_t at = 0; at < SLOTS; at++)
		free(slot[at].p);
	bench_end(&b, n, sum);
	return 0;
}
