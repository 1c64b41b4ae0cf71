/*
 * pipeline: two producers allocate batches of objects, two consumers check and
 * free them. Nothing is ever freed by the thread that allocated it.
 */
#include "../bench.h"

#define THREADS 2
#define DEPTH 64u
#define BATCH 48u

struct item {
	void *p;
	uint32_t size, tag;
};

struct batch {
	uint32_t count;
	struct item item[BATCH];
};

static struct sizes sizes;
static struct bench bench;
static uint64_t batches_each;

/* One bounded queue; every field is guarded by lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct batch *q[DEPTH];
	uint32_t head, count, producers;
	uint64_t sum;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, 0, 0, THREADS, 0};

static void queue_put(struct batch *m)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.count == DEPTH)
		pthread_cond_wait(&queue.emptied, &queue.lock);
	queue.q[(queue.head + queue.count++) % DEPTH] = m;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static struct batch *queue_take(void)
{
	struct batch *m = NULL;

	pthread_mutex_lock(&queue.lock);
	while (queue.count == 0 && queue.producers > 0)
		pthread_cond_wait(&queue.filled, &queue.lock);
	if (queue.count > 0) {
		m = queue.q[queue.head];
		queue.head = (queue.head + 1) % DEPTH;
		queue.count--;
		pthread_cond_signal(&queue.emptied);
	}
	pthread_mutex_unlock(&queue.lock);
	return m;
}

static void *produce(void *arg)
{
	struct rng r;

	rng_seed(&r, 30 + (uint64_t)(uintptr_t)arg);
	for (uint64_t i = 0; i < batches_each; i++) {
		struct batch *m = need(malloc(sizeof(*m)));

		m->count = BATCH / 2 + rng_below(&r, BATCH / 2);
		for (uint32_t k = 0; k < m->count; k++) {
			struct item *it = &m->item[k];
			it->size = sizes_pick(&sizes, &r);
			it->tag = (uint32_t)(i + k);
			it->p = stamp(malloc(it->size), it->size, it->tag);
		}
		queue_put(m);
	}
	pthread_mutex_lock(&queue.lock);
	queue.producers--;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
	return NULL;
}

static void *consume(void *arg)
{
	struct batch *m;
	uint64_t sum = 0;

	(void)arg;
	while ((m = queue_take()) != NULL) {
		for (uint32_t k = 0; k < m->count; k++) {
			stamp_check(m->item[k].p, m->item[k].size, m->item[k].tag);
			sum += m->item[k].size;
			free(m->item[k].p);
		}
		free(m);
	}
	pthread_mutex_lock(&queue.lock);
	queue.sum += sum;
	pthread_mutex_unlock(&queue.lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[2 * THREADS];
	struct rng r;

	bench_begin(&bench, argc, argv, "pipeline");
	rng_seed(&r, 3);
	sizes_lognormal(&sizes, &r, 120, 1.0, 16, 4096);
	batches_each = bench_count(&bench, 220e3);
	for (int i = 0; i < THREADS; i++) {
		thread_start(&t[2 * i], produce, (void *)(uintptr_t)i);
		thread_start(&t[2 * i + 1], consume, NULL);
	}
	for (int i = 0; i < 2 * THREADS; i++)
		thread_join(t[i]);
	bench_end(&bench, THREADS * batches_each, queue.sum);
	return 0;
}
