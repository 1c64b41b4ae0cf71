/*
 * strings: words are made, joined, split and counted in a chained hash table, as
 * a script or a template engine does: many short-lived strings, some that stay.
 */
#include "../bench.h"

#define BUCKETS 16384u
#define LIMIT 60000u

struct entry {
	struct entry *next;
	char *key;
	uint32_t hash, count;
};

static struct entry *bucket[BUCKETS];
static uint32_t entries;

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u; /* FNV-1a, Fowler, Noll and Vo */

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ (h >> 15);
}

static char *word_new(struct rng *r)
{
	uint64_t x = rng_next(r);
	uint32_t len = 4 + (uint32_t)(x & 15);
	char *s = need(malloc(len + 1));

	/* Four letters are drawn and the tail is fixed, so that words repeat. */
	for (uint32_t i = 0; i < 4; i++)
		s[i] = (char)('a' + ((x >> (8 + 5 * i)) & 15));
	memset(s + 4, '-', len - 4);
	s[len] = '\0';
	return s;
}

static char *join(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	char *s = need(malloc(n + m + 2));

	memcpy(s, a, n);
	s[n] = ' ';
	memcpy(s + n + 1, b, m + 1);
	return s;
}

static void bucket_clear(uint32_t at)
{
	struct entry *e = bucket[at];

	bucket[at] = NULL;
	while (e != NULL) {
		struct entry *next = e->next;
		free(e->key);
		free(e);
		entries--;
		e = next;
	}
}

static uint32_t count(const char *key, struct rng *r)
{
	uint32_t h = hash_of(key);
	struct entry *e = bucket[h % BUCKETS];

	for (; e != NULL; e = e->next)
		if (e->hash == h && strcmp(e->key, key) == 0)
			return ++e->count;
	while (entries > LIMIT)
		bucket_clear(rng_below(r, BUCKETS));
	e = need(malloc(sizeof(*e)));
	e->key = need(strdup(key));
	e->hash = h;
	e->count = 1;
	e->next = bucket[h % BUCKETS];
	bucket[h % BUCKETS] = e;
	entries++;
	return 1;
}

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t n, sum = 0;

	bench_begin(&b, argc, argv, "strings");
	rng_seed(&r, 9);
	n = bench_count(&b, 2.6e6);
	for (uint64_t i = 0; i < n; i++) {
		char *w1 = word_new(&r), *w2 = word_new(&r), *w3 = word_new(&r);
		char *pair = join(w1, w2), *line = join(pair, w3), *copy = need(strdup(line));

		free(pair);
		sum += (i & 3) == 0 ? count(w1, &r) & 1 : 0;
		free(w1);
		if (strcmp(copy, line) != 0)
			probe_die("a string lost its content");
		free(line);
		free(w2);
		free(copy);
		free(w3);
	}
	for (uint32_t at = 0; at < BUCKETS; at++)
		bucket_clear(at);
	bench_end(&b, n, sum);
	return 0;
}
