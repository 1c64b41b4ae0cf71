/* pair: malloc and free of 64 bytes, one at a time. The shortest path there is. */
#include "../bench.h"

int main(int argc, char **argv)
{
	struct bench b;
	uint64_t n, sum = 0;

	bench_begin(&b, argc, argv, "pair");
	n = bench_count(&b, 120e6);
	for (uint64_t i = 0; i < n; i++) {
		volatile uint64_t *p = need(malloc(64));
		*p = i;
		sum += *p;
		free((void *)p);
	}
	bench_end(&b, n, sum);
	return 0;
}
