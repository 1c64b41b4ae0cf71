/* See rest.h. */
#include "rest.h"

#define SAMPLES 3

struct sample {
	double at_s;
	struct probe_memory m;
};

struct outcome {
	struct probe_memory boot;
	struct sample sample[SAMPLES];
	uint64_t survivors, live_bytes, page_bytes;
	uint64_t work_cpu_us, rest_cpu_us;
};

void *rest_map(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		probe_die("cannot map the program's own tables");
	return p;
}

void object_make(struct slot *s, struct rng *r, uint32_t size)
{
	s->size = size;
	s->tag = (uint32_t)rng_next(r);
	s->p = need(malloc(size));
	memset(s->p, (int)(s->tag & 0xff), size);
	stamp(s->p, size, s->tag);
}

void object_free(struct slot *s)
{
	stamp_check(s->p, s->size, s->tag);
	free(s->p);
	s->p = NULL;
}

void table_add(struct table *t, struct rng *r, uint32_t size)
{
	if (t->count == t->capacity)
		probe_die("a table is too small");
	object_make(&t->slot[t->count++], r, size);
	t->live_bytes += size;
}

void table_take(struct table *t, const struct slot *s)
{
	if (t->count == t->capacity)
		probe_die("a table is too small");
	t->slot[t->count++] = *s;
	t->live_bytes += s->size;
}

void table_replace(struct table *t, struct rng *r, uint64_t at, uint32_t size)
{
	t->live_bytes -= t->slot[at].size;
	object_free(&t->slot[at]);
	object_make(&t->slot[at], r, size);
	t->live_bytes += size;
}

void table_thin(struct table *t, struct rng *r, uint32_t keep_permille)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < t->count; i++) {
		if (rng_below(r, 1000) < keep_permille) {
			t->slot[kept++] = t->slot[i];
		} else {
			t->live_bytes -= t->slot[i].size;
			object_free(&t->slot[i]);
		}
	}
	t->count = kept;
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;

	sem_post(&w->rest->started);
	wait_for(&w->rest->go);
	w->rest->work(w);
	sem_post(&w->rest->done);
	wait_for(&w->rest->end);
	return NULL;
}

void rest_sleep_until(uint64_t when_ns)
{
	struct timespec t = {.tv_sec = (time_t)(when_ns / 1000000000u), .tv_nsec = (long)(when_ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void workers_start(struct rest *rest)
{
	rest->workers = rest_map(rest->threads * sizeof(*rest->workers));
	sem_init(&rest->started, 0, 0);
	sem_init(&rest->go, 0, 0);
	sem_init(&rest->done, 0, 0);
	sem_init(&rest->end, 0, 0);
	pthread_barrier_init(&rest->together, NULL, rest->threads);
	for (uint32_t i = 0; i < rest->threads; i++) {
		struct worker *w = &rest->workers[i];

		w->rest = rest;
		w->index = i;
		rng_seed(&w->rng, 1000 + i);
		w->table.capacity = rest->table_capacity;
		w->table.slot = rest_map(rest->table_capacity * sizeof(struct slot));
		thread_start(&w->thread, worker_run, w);
	}
	for (uint32_t i = 0; i < rest->threads; i++)
		wait_for(&rest->started);
}

/* One bit for each page of 47 bits of addresses; only what is touched is resident, as shmem. */
static void survivors_count(struct rest *rest, struct outcome *o)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t *map = rest_map((UINT64_C(1) << 47) / page / 8);

	for (uint32_t i = 0; i < rest->threads; i++) {
		struct table *t = &rest->workers[i].table;

		for (uint64_t k = 0; k < t->count; k++) {
			uintptr_t first = (uintptr_t)t->slot[k].p;
			uintptr_t last = first + t->slot[k].size - 1;

			stamp_check(t->slot[k].p, t->slot[k].size, t->slot[k].tag);
			o->live_bytes += t->slot[k].size;
			for (uintptr_t n = first / page; n <= last / page; n++) {
				uint64_t bit = UINT64_C(1) << (n % 64);

				o->page_bytes += (map[n / 64] & bit) != 0 ? 0 : page;
				map[n / 64] |= bit;
			}
		}
		o->survivors += t->count;
	}
}

static int print_sample(char *line, size_t size, const struct sample *s, uint64_t floor_kib)
{
	uint64_t ratio = s->m.anon_kib * 1000 / floor_kib;

	return snprintf(line, size,
			"{\"at_s\":%llu.%llu,\"anon_kib\":%llu,\"rss_kib\":%llu,\"lazyfree_kib\":%llu,"
			"\"huge_kib\":%llu,\"file_kib\":%llu,\"ratio\":%llu.%03llu}",
			(unsigned long long)s->at_s, (unsigned long long)(s->at_s * 10) % 10,
			(unsigned long long)s->m.anon_kib, (unsigned long long)(s->m.rss_kib - s->m.shmem_kib),
			(unsigned long long)s->m.lazyfree_kib, (unsigned long long)s->m.huge_kib,
			(unsigned long long)s->m.file_kib, (unsigned long long)(ratio / 1000),
			(unsigned long long)(ratio % 1000));
}

static void print_outcome(const struct rest *rest, const struct outcome *o)
{
	uint64_t floor_kib = o->boot.anon_kib + o->page_bytes / 1024;
	const struct probe_memory *last = &o->sample[SAMPLES - 1].m;
	static char line[8192];
	int n;

	n = snprintf(line, sizeof(line),
		     "{\"name\":\"%s\",\"threads\":%u,\"survivors\":%llu,\"live_kib\":%llu,"
		     "\"pages_kib\":%llu,\"boot_anon_kib\":%llu,\"boot_rss_kib\":%llu,"
		     "\"floor_kib\":%llu,\"peak_kib\":%llu,\"work_cpu_us\":%llu,"
		     "\"rest_cpu_us\":%llu,\"rest\":[",
		     rest->name, rest->threads, (unsigned long long)o->survivors,
		     (unsigned long long)(o->live_bytes / 1024), (unsigned long long)(o->page_bytes / 1024),
		     (unsigned long long)o->boot.anon_kib, (unsigned long long)o->boot.rss_kib,
		     (unsigned long long)floor_kib, (unsigned long long)(last->peak_kib - last->shmem_kib),
		     (unsigned long long)o->work_cpu_us, (unsigned long long)o->rest_cpu_us);
	for (int i = 0; i < SAMPLES; i++) {
		if (i > 0)
			line[n++] = ',';
		n += print_sample(line + n, sizeof(line) - (size_t)n, &o->sample[i], floor_kib);
	}
	n += snprintf(line + n, sizeof(line) - (size_t)n, "]");
	if (rest->tell != NULL)
		n += rest->tell(line + n, sizeof(line) - (size_t)n);
	n += snprintf(line + n, sizeof(line) - (size_t)n, "}\n");
	probe_write(line, (size_t)n);
}

int rest_main(struct rest *rest, int argc, char **argv)
{
	static const char asleep[] = "{\"phase\":\"asleep\"}\n";
	static struct outcome o = {
		.sample = {{.at_s = 1}, {.at_s = 2}, {.at_s = 5}},
	};
	uint64_t start;

	bench_begin(&rest->bench, argc, argv, rest->name);
	if (rest->prepare != NULL)
		rest->prepare(rest);
	workers_start(rest);
	rest_sleep_until(bench_now_ns() + 200000000u);
	probe_read_memory(&o.boot);
	for (uint32_t i = 0; i < rest->threads; i++)
		sem_post(&rest->go);
	for (uint32_t i = 0; i < rest->threads; i++)
		wait_for(&rest->done);
	start = bench_now_ns();
	o.work_cpu_us = cpu_us();
	probe_write(asleep, sizeof(asleep) - 1);
	for (int i = 0; i < SAMPLES; i++) {
		/* A smoke run at a small scale need not sleep as long. */
		double at = o.sample[i].at_s * (rest->bench.scale < 0.1 ? 0.1 : 1.0);

		rest_sleep_until(start + (uint64_t)(at * 1e9));
		probe_read_memory(&o.sample[i].m);
	}
	o.rest_cpu_us = cpu_us() - o.work_cpu_us;
	survivors_count(rest, &o);
	print_outcome(rest, &o);
	for (uint32_t i = 0; i < rest->threads; i++)
		sem_post(&rest->end);
	for (uint32_t i = 0; i < rest->threads; i++)
		thread_join(rest->workers[i].thread);
	return 0;
}
