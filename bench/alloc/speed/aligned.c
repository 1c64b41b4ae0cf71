/*
 * aligned: posix_memalign and aligned_alloc with alignments of 32 bytes to 4 KiB,
 * 4000 live, a random one replaced: buffers for vector code and direct I/O.
 */
#include "../bench.h"

#define SLOTS 4000u

static struct sizes sizes;
static struct {
	void *p;
	uint32_t size;
} slot[SLOTS];

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t n, sum = 0;

	bench_begin(&b, argc, argv, "aligned");
	rng_seed(&r, 13);
	sizes_loguniform(&sizes, &r, 32, 8192);
	n = bench_count(&b, 4e6);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = rng_below(&r, SLOTS);
		uint32_t size = sizes_pick(&sizes, &r);
		size_t align = (size_t)32 << (i % 16 == 0 ? 7 : i % 3);
		void *p = NULL;

		if (slot[at].p != NULL) {
			stamp_check(slot[at].p, slot[at].size, at);
			free(slot[at].p);
		}
		if (i & 1)
			p = aligned_alloc(align, (size + align - 1) & ~(align - 1));
		else if (posix_memalign(&p, align, size) != 0)
			p = NULL;
		if (((uintptr_t)p & (align - 1)) != 0)
			probe_die("an aligned allocation is not aligned");
		slot[at].p = stamp(p, size, at);
		slot[at].size = size;
		sum += size;
	}
	for (uint32_t at = 0; at < SLOTS; at++)
		free(slot[at].p);
	bench_end(&b, n, sum);
	return 0;
}
