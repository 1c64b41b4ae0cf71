/*
 * requests: four threads serve requests. A request makes some sixty small objects
 * and one answer that grows by realloc to 0.5-16 KiB, frees them all, and leaves a
 * session of two objects in a shared table, where it pushes out an older one that
 * mostly another thread made.
 */
#include "../bench.h"

#define THREADS 4
#define SESSIONS 4096u
#define PARTS 60u

struct session {
	char *name;
	uint32_t size, tag;
};

static struct sizes parts, names, answers;
static uint64_t requests_each;
static struct session *sessions[SESSIONS]; /* atomic, acquire and release */

static void session_free(struct session *s)
{
	if (s == NULL)
		return;
	stamp_check(s->name, s->size, s->tag);
	free(s->name);
	free(s);
}

static void session_keep(struct rng *r)
{
	struct session *s = need(malloc(sizeof(*s)));

	s->size = sizes_pick(&names, r);
	s->tag = (uint32_t)rng_next(r);
	s->name = stamp(malloc(s->size), s->size, s->tag);
	session_free(__atomic_exchange_n(&sessions[rng_below(r, SESSIONS)], s, __ATOMIC_ACQ_REL));
}

static uint64_t answer(struct rng *r)
{
	uint32_t want = sizes_pick(&answers, r), have = 256;
	char *out = stamp(malloc(have), have, want);

	while (have < want) {
		have *= 2;
		out = need(realloc(out, have));
		out[have / 2] = 'x';
	}
	out[have - 1] = (char)want;
	stamp_check(out, have, want);
	free(out);
	return have;
}

static uint64_t serve(struct rng *r)
{
	void *part[PARTS];
	uint32_t size[PARTS];
	uint64_t sum;

	for (uint32_t i = 0; i < PARTS; i++) {
		size[i] = sizes_pick(&parts, r);
		part[i] = stamp(malloc(size[i]), size[i], i);
	}
	sum = answer(r);
	session_keep(r);
	for (uint32_t i = 0; i < PARTS; i++) {
		stamp_check(part[i], size[i], i);
		free(part[i]);
	}
	return sum;
}

static void *run(void *arg)
{
	struct rng r;
	uint64_t sum = 0;

	rng_seed(&r, 140 + (uint64_t)(uintptr_t)arg);
	for (uint64_t i = 0; i < requests_each; i++)
		sum += serve(&r);
	return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	struct bench b;
	struct rng r;

	bench_begin(&b, argc, argv, "requests");
	rng_seed(&r, 14);
	sizes_lognormal(&parts, &r, 80, 1.0, 16, 4096);
	sizes_lognormal(&names, &r, 300, 1.0, 16, 16 << 10);
	sizes_loguniform(&answers, &r, 512, 16 << 10);
	requests_each = bench_count(&b, 150e3);
	for (uintptr_t i = 0; i < THREADS; i++)
		thread_start(&t[i], run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		thread_join(t[i]);
	for (uint32_t i = 0; i < SESSIONS; i++)
		session_free(__atomic_load_n(&sessions[i], __ATOMIC_ACQUIRE));
	bench_end(&b, THREADS * requests_each, requests_each);
	return 0;
}
