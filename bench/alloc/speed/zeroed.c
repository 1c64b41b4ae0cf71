/*
 * zeroed: calloc. 2000 live objects, most of 16 bytes to 1 KiB, one in 128 of
 * 16-128 KiB; each is checked for zeros and then written, a random one replaced.
 */
#include "../bench.h"

#define SLOTS 2000u

static struct sizes small, large;
static unsigned char *slot[SLOTS];
static uint32_t size_of[SLOTS];

static void check_zero(const unsigned char *p, uint32_t size)
{
	if ((p[0] | p[size / 3] | p[size / 2] | p[size - 1]) != 0)
		probe_die("calloc gave memory that is not zero");
}

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t n, sum = 0;

	bench_begin(&b, argc, argv, "zeroed");
	rng_seed(&r, 12);
	sizes_loguniform(&small, &r, 16, 1024);
	sizes_loguniform(&large, &r, 16 << 10, 128 << 10);
	n = bench_count(&b, 10e6);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = rng_below(&r, SLOTS);
		uint32_t size = sizes_pick(i % 128 == 0 ? &large : &small, &r);
		unsigned char *p;

		free(slot[at]);
		p = need(calloc(1, size));
		check_zero(p, size);
		memset(p, 0xa5, size < 64 ? size : 64);
		p[size / 3] = p[size / 2] = p[size - 1] = 0xa5;
		slot[at] = p;
		size_of[at] = size;
		sum += size_of[at];
	}
	for (uint32_t at = 0; at < SLOTS; at++)
		free(slot[at]);
	bench_end(&b, n, sum);
	return 0;
}
