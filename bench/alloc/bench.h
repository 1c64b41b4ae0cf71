/*
 * bench.h: what every speed program shares.
 *
 * Owns:       the command line (--quick, --scale X), the random numbers, the
 *             clock, the stamps in objects, and the one line of results.
 * Never:      calls malloc, and never links an allocator: whatever is preloaded
 *             is what gets measured. Results leave through write(2).
 * Threading:  struct rng and struct bench belong to one thread; the rest is pure.
 * Errors:     a wrong content, a failed allocation or a failed thread ends the
 *             program with status 3 and one line on stderr.
 * Invariants: the same seed and scale give the same requests under every
 *             allocator, up to the interleaving of threads.
 *
 * The header is valid C and C++, for containers.cpp.
 */
#ifndef EBB_BENCH_H
#define EBB_BENCH_H

#include "probe.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/*
 * Random numbers: xoshiro256** seeded by splitmix64, written from the
 * description in David Blackman and Sebastiano Vigna, "Scrambled Linear
 * Pseudorandom Number Generators", ACM TOMS 47 (2021), section 5 and 10.
 */
struct rng {
	uint64_t s[4];
};

static inline uint64_t rng_rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

static inline void rng_seed(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		r->s[i] = z ^ (z >> 31);
	}
}

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t out = rng_rotl(r->s[1] * 5, 7) * 9;
	uint64_t t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rng_rotl(r->s[3], 45);
	return out;
}

/* In [0, n) by multiplying the upper half; the bias (n / 2^32) does not matter here. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(((rng_next(r) >> 32) * n) >> 32);
}

static inline double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

/* Sizes drawn once and then picked by index, so that exp() and log() stay out of the loops. */
#define SIZES_COUNT 8192u
struct sizes {
	uint32_t v[SIZES_COUNT];
};

/* Lognormal by Box and Muller (1958), cut to [lo, hi]. */
static inline void sizes_lognormal(struct sizes *s, struct rng *r, double median, double sigma, uint32_t lo,
				   uint32_t hi)
{
	for (uint32_t i = 0; i < SIZES_COUNT; i++) {
		double u = 1.0 - rng_unit(r), v = rng_unit(r);
		double g = sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
		double x = median * exp(sigma * g);
		s->v[i] = x < lo ? lo : x > hi ? hi : (uint32_t)x;
	}
}

/* Each doubling of the size is as likely as the next. */
static inline void sizes_loguniform(struct sizes *s, struct rng *r, uint32_t lo, uint32_t hi)
{
	for (uint32_t i = 0; i < SIZES_COUNT; i++) {
		double x = (double)lo * exp(rng_unit(r) * log((double)hi / lo));
		s->v[i] = x > hi ? hi : (uint32_t)x;
	}
}

static inline uint32_t sizes_pick(const struct sizes *s, struct rng *r)
{
	return s->v[rng_next(r) >> 51]; /* 13 bits: SIZES_COUNT */
}

/* The run itself. */
struct bench {
	const char *name;
	double scale;
	uint64_t start_ns;
};

static inline uint64_t bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* With BENCH_ACCOUNT set all threads allocate in an account of libebb, to see what that costs. */
static int (*bench_account_enter)(int account);
static int bench_account;

static inline void bench_use_account(void)
{
	int (*create)(const char *name, size_t limit_bytes);

	if (getenv("BENCH_ACCOUNT") == NULL)
		return;
	*(void **)&create = dlsym(RTLD_DEFAULT, "ebb_account_create");
	*(void **)&bench_account_enter = dlsym(RTLD_DEFAULT, "ebb_account_enter");
	if (create == NULL || bench_account_enter == NULL || (bench_account = create("bench", 0)) < 0 ||
	    bench_account_enter(bench_account) != 0)
		probe_die("BENCH_ACCOUNT is set, and the allocator has no accounts");
}

/* Returns the first argument that is not an option, or NULL. */
static inline const char *bench_begin(struct bench *b, int argc, char **argv, const char *name)
{
	const char *mode = NULL;

	b->name = name;
	b->scale = 1.0;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			b->scale = 0.15;
		else if (strcmp(argv[i], "--scale") == 0 && i + 1 < argc)
			b->scale = strtod(argv[++i], NULL);
		else if (argv[i][0] != '-' && mode == NULL)
			mode = argv[i];
		else
			probe_die("usage: [MODE] [--quick | --scale X]");
	}
	if (!(b->scale > 0.0 && b->scale <= 1000.0))
		probe_die("--scale must be above 0 and at most 1000");
	probe_require_preload();
	bench_use_account();
	b->start_ns = bench_now_ns();
	return mode;
}

/* The amount of work: n at scale 1, never 0. */
static inline uint64_t bench_count(const struct bench *b, double n)
{
	double x = n * b->scale;
	return x < 1.0 ? 1 : (uint64_t)x;
}

static inline void bench_end(const struct bench *b, uint64_t ops, uint64_t sum)
{
	uint64_t wall = bench_now_ns() - b->start_ns;
	struct probe_memory m;
	struct rusage u;
	char line[512];
	int n;

	probe_read_memory(&m);
	getrusage(RUSAGE_SELF, &u);
	n = snprintf(line, sizeof(line),
		     "{\"name\":\"%s\",\"ops\":%llu,\"sum\":%llu,\"wall_ns\":%llu,"
		     "\"cpu_us\":%llu,\"minflt\":%ld,\"peak_kib\":%llu,\"rss_kib\":%llu}\n",
		     b->name, (unsigned long long)ops, (unsigned long long)sum, (unsigned long long)wall,
		     (unsigned long long)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
			     (unsigned long long)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
		     u.ru_minflt, (unsigned long long)m.peak_kib, (unsigned long long)m.rss_kib);
	probe_write(line, (size_t)n);
}

/*
 * A stamp is the tag in the first four bytes and, for one tag in eight, its low byte
 * in the last; it is checked before the object is freed. Touching the end of each
 * object would make the programs measure cache misses of their own. Needs size >= 5.
 */
static inline void *stamp(void *p, size_t size, uint32_t tag)
{
	if (p == NULL)
		probe_die("out of memory");
	memcpy(p, &tag, sizeof(tag));
	if ((tag & 7) == 0)
		((volatile unsigned char *)p)[size - 1] = (unsigned char)tag;
	return p;
}

static inline void stamp_check(const void *p, size_t size, uint32_t tag)
{
	uint32_t seen;

	memcpy(&seen, p, sizeof(seen));
	if (seen != tag || ((tag & 7) == 0 && ((const unsigned char *)p)[size - 1] != (unsigned char)tag))
		probe_die("an object does not hold what was written to it");
}

static inline void *need(void *p)
{
	if (p == NULL)
		probe_die("out of memory");
	return p;
}

struct thread_job {
	void *(*run)(void *);
	void *arg;
};

static inline void *thread_in_account(void *arg)
{
	struct thread_job job = *(struct thread_job *)arg;

	free(arg);
	bench_account_enter(bench_account);
	return job.run(job.arg);
}

static inline void thread_start(pthread_t *t, void *(*run)(void *), void *arg)
{
	struct thread_job *job = NULL;

	if (bench_account_enter != NULL) {
		job = (struct thread_job *)need(malloc(sizeof(*job)));
		job->run = run;
		job->arg = arg;
	}
	if (pthread_create(t, NULL, job == NULL ? run : thread_in_account, job == NULL ? arg : job) != 0)
		probe_die("cannot start a thread");
}

static inline void thread_join(pthread_t t)
{
	if (pthread_join(t, NULL) != 0)
		probe_die("cannot join a thread");
}

#endif
