/*
 * contention: the same work by 1, 2, 4... threads, so that what is more than by one thread is what threads
 * cost each other.
 *
 *   contention MODE [--threads N] [--quick | --scale X]
 *
 *   local    each thread replaces objects in a table of its own
 *   shared   all replace objects in one table: most objects are freed by another thread than made them
 *   pairs    half of the threads make, the other half free
 *   ring     all fill up together, then each frees what its neighbour made
 *   death    each line of threads hands its table on after a few thousand replacements, and dies
 *   active   each thread makes, writes and frees one small object: neighbours on a cache line?
 *   passive  the same, beginning with objects that the main thread made side by side
 *
 * Threads never spin: on fewer CPUs than threads that would measure the scheduler. Waiting is the same
 * few futex calls under every allocator.
 */
#include "../object.h"

#define THREADS_MOST 256u
#define TABLE 1000u      /* objects a thread replaces */
#define SHARED 4096u     /* objects all replace */
#define BATCH 64u        /* objects handed over at once */
#define QUEUE 8u         /* batches under way in a pair */
#define ROUND 1000u      /* objects of a thread in a ring's round */
#define GENERATION 5000u /* replacements before a thread dies */
#define WRITES 32u       /* stores to a small object */

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct object *batch[QUEUE][BATCH]; /* guarded by lock, as the two below */
	uint64_t in, out;
};

struct thread {
	pthread_t id;
	unsigned index;
	uint64_t steps;
	struct rng rng;
	struct object *slot[TABLE];
	struct object *made[ROUND];
	struct queue queue; /* of a pair: the producer's */
	void *given;
} __attribute__((aligned(128)));

static struct sizes sizes;
static unsigned threads = 1;
static struct thread all[THREADS_MOST];
static struct object *shared[SHARED]; /* atomic, acquire and release */
static pthread_barrier_t barrier;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static unsigned lines_left; /* guarded by done_lock */

static void replace(struct thread *t, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++) {
		uint32_t at = rng_below(&t->rng, TABLE);

		object_free(t->slot[at]);
		t->slot[at] = object_new(&sizes, &t->rng);
	}
}

static void clear(struct object **slot, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		object_free(slot[i]);
		slot[i] = NULL;
	}
}

static void *run_local(void *arg)
{
	struct thread *t = arg;

	replace(t, t->steps);
	clear(t->slot, TABLE);
	return NULL;
}

static void *run_shared(void *arg)
{
	struct thread *t = arg;

	for (uint64_t i = 0; i < t->steps; i++) {
		uint32_t at = rng_below(&t->rng, SHARED);

		object_free(__atomic_exchange_n(&shared[at], object_new(&sizes, &t->rng), __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static void produce(struct thread *t)
{
	struct queue *q = &t->queue;

	for (uint64_t i = 0; i < t->steps; i += BATCH) {
		struct object *batch[BATCH];

		for (unsigned k = 0; k < BATCH; k++)
			batch[k] = object_new(&sizes, &t->rng);
		pthread_mutex_lock(&q->lock);
		while (q->in - q->out == QUEUE)
			pthread_cond_wait(&q->changed, &q->lock);
		memcpy(q->batch[q->in++ % QUEUE], batch, sizeof(batch));
		pthread_cond_signal(&q->changed);
		pthread_mutex_unlock(&q->lock);
	}
}

static void consume(struct thread *producer)
{
	struct queue *q = &producer->queue;

	for (uint64_t i = 0; i < producer->steps; i += BATCH) {
		struct object *batch[BATCH];

		pthread_mutex_lock(&q->lock);
		while (q->in == q->out)
			pthread_cond_wait(&q->changed, &q->lock);
		memcpy(batch, q->batch[q->out++ % QUEUE], sizeof(batch));
		pthread_cond_signal(&q->changed);
		pthread_mutex_unlock(&q->lock);
		for (unsigned k = 0; k < BATCH; k++)
			object_free(batch[k]);
	}
}

static void *run_pairs(void *arg)
{
	struct thread *t = arg;

	if (t->index % 2 == 0)
		produce(t);
	else
		consume(&all[t->index - 1]);
	return NULL;
}

static void *run_ring(void *arg)
{
	struct thread *t = arg;
	struct thread *neighbour = &all[(t->index + 1) % threads];

	for (uint64_t i = 0; i < t->steps; i += ROUND) {
		for (unsigned k = 0; k < ROUND; k++)
			t->made[k] = object_new(&sizes, &t->rng);
		pthread_barrier_wait(&barrier);
		clear(neighbour->made, ROUND);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void *run_death(void *arg)
{
	struct thread *t = arg;
	uint64_t steps = t->steps < GENERATION ? t->steps : GENERATION;
	pthread_t next;

	replace(t, steps);
	t->steps -= steps;
	if (t->steps > 0) {
		thread_start(&next, run_death, t);
		pthread_detach(next);
		return NULL;
	}
	clear(t->slot, TABLE);
	pthread_mutex_lock(&done_lock);
	lines_left--;
	pthread_cond_signal(&done_cond);
	pthread_mutex_unlock(&done_lock);
	return NULL;
}

static void *run_sharing(void *arg)
{
	struct thread *t = arg;

	free(t->given);
	for (uint64_t i = 0; i < t->steps; i++) {
		volatile uint32_t *p = need(malloc(8 + 8 * (size_t)(i & 1)));

		for (uint32_t k = 0; k < WRITES; k++)
			p[k & 1] = k;
		if (p[1] != WRITES - 1)
			probe_die("an object does not hold what was written to it");
		free((void *)p);
	}
	return NULL;
}

static const struct mode {
	const char *name;
	void *(*run)(void *);
	double steps;
	unsigned least;
} modes[] = {
	{"local", run_local, 4e6, 1},      {"shared", run_shared, 4e6, 1}, {"pairs", run_pairs, 4e6, 2},
	{"ring", run_ring, 4e6, 1},        {"death", run_death, 4e6, 1},   {"active", run_sharing, 12e6, 1},
	{"passive", run_sharing, 12e6, 1},
};

static const struct mode *mode_find(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	probe_die("usage: contention local|shared|pairs|ring|death|active|passive [--threads N]");
}

/* Takes --threads N out of the arguments, of which bench_begin knows nothing. */
static int threads_option(int argc, char **argv)
{
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
			threads = (unsigned)strtoul(argv[++i], NULL, 10);
		else
			argv[kept++] = argv[i];
	}
	if (threads < 1 || threads > THREADS_MOST)
		probe_die("--threads must be 1 to 256");
	return kept;
}

static void prepare(const struct mode *mode, uint64_t total)
{
	struct rng r;

	rng_seed(&r, 4);
	sizes_loguniform(&sizes, &r, 16, 1024);
	pthread_barrier_init(&barrier, NULL, threads);
	lines_left = threads;
	for (unsigned i = 0; i < threads; i++) {
		struct thread *t = &all[i];

		t->index = i;
		t->steps = total / threads + 1;
		if (mode->run == run_pairs)
			t->steps *= 2; /* half of the threads make all of the objects */
		rng_seed(&t->rng, 40 + i);
		pthread_mutex_init(&t->queue.lock, NULL);
		pthread_cond_init(&t->queue.changed, NULL);
		if (strcmp(mode->name, "passive") == 0)
			t->given = need(malloc(8));
	}
}

int main(int argc, char **argv)
{
	const struct mode *mode;
	struct bench b;
	uint64_t total;

	argc = threads_option(argc, argv);
	mode = mode_find(bench_begin(&b, argc, argv, "contention"));
	if (threads < mode->least)
		threads = mode->least;
	if (mode->least == 2)
		threads &= ~1u;
	total = bench_count(&b, mode->steps);
	prepare(mode, total);
	for (unsigned i = 0; i < threads; i++)
		thread_start(&all[i].id, mode->run, &all[i]);
	if (mode->run == run_death) {
		for (unsigned i = 0; i < threads; i++)
			pthread_detach(all[i].id);
		pthread_mutex_lock(&done_lock);
		while (lines_left > 0)
			pthread_cond_wait(&done_cond, &done_lock);
		pthread_mutex_unlock(&done_lock);
	} else {
		for (unsigned i = 0; i < threads; i++)
			thread_join(all[i].id);
	}
	clear(shared, SHARED);
	bench_end(&b, total, threads);
	return 0;
}
