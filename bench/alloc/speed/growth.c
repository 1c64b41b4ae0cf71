/*
 * growth: realloc. Strings grow by a few bytes at a time to 1 KiB, sixteen of them
 * side by side so that none can simply stretch; vectors double from 16 bytes to
 * 1 MiB, four side by side.
 */
#include "../bench.h"

#define STRINGS 16
#define VECTORS 4

static uint64_t grow_strings(struct rng *r)
{
	unsigned char *s[STRINGS] = {NULL};
	uint32_t len[STRINGS] = {0};
	uint64_t calls = 0;
	int open = STRINGS;

	while (open > 0) {
		uint32_t at = rng_below(r, STRINGS);
		uint32_t add = 4 + rng_below(r, 40);

		if (len[at] > 1000)
			continue;
		s[at] = need(realloc(s[at], len[at] + add));
		memset(s[at] + len[at], (int)at + 1, add);
		len[at] += add;
		calls++;
		if (len[at] > 1000)
			open--;
	}
	for (uint32_t at = 0; at < STRINGS; at++) {
		if (s[at][0] != at + 1 || s[at][len[at] / 2] != at + 1)
			probe_die("realloc lost a string");
		free(s[at]);
	}
	return calls;
}

static uint64_t grow_vectors(void)
{
	uint32_t *v[VECTORS] = {NULL};
	uint64_t calls = 0;

	for (uint32_t cap = 4; cap <= (1u << 18); cap *= 2) {
		for (uint32_t at = 0; at < VECTORS; at++) {
			v[at] = need(realloc(v[at], cap * sizeof(uint32_t)));
			for (uint32_t i = cap == 4 ? 0 : cap / 2; i < cap; i += 256)
				v[at][i] = at + i;
			v[at][cap - 1] = at;
			calls++;
		}
	}
	for (uint32_t at = 0; at < VECTORS; at++) {
		if (v[at][0] != at || v[at][512] != at + 512)
			probe_die("realloc lost a vector");
		free(v[at]);
	}
	return calls;
}

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t rounds, calls = 0;

	bench_begin(&b, argc, argv, "growth");
	rng_seed(&r, 7);
	rounds = bench_count(&b, 500);
	for (uint64_t i = 0; i < rounds; i++) {
		for (int k = 0; k < 40; k++)
			calls += grow_strings(&r);
		calls += grow_vectors();
	}
	bench_end(&b, calls, rounds);
	return 0;
}
