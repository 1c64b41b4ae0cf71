/*
 * pipeline (workload c): two producers make 60 MiB each of lognormal sizes, two
 * consumers take them and hold everything; when all is there they free all but a
 * random 1 %. Twice over; the survivors of both rounds stay.
 */
#include "rest.h"

#define ROUNDS 2
#define DEPTH 1024u
#define BYTES (60u << 20)

/* A bounded queue in the program's own memory; all fields are guarded by lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct slot q[DEPTH];
	uint32_t head, count, producers;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .emptied = PTHREAD_COND_INITIALIZER};

static void queue_put(const struct slot *s)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.count == DEPTH)
		pthread_cond_wait(&queue.emptied, &queue.lock);
	queue.q[(queue.head + queue.count++) % DEPTH] = *s;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static int queue_take(struct slot *s)
{
	int got = 0;

	pthread_mutex_lock(&queue.lock);
	while (queue.count == 0 && queue.producers > 0)
		pthread_cond_wait(&queue.filled, &queue.lock);
	if (queue.count > 0) {
		*s = queue.q[queue.head];
		queue.head = (queue.head + 1) % DEPTH;
		queue.count--;
		got = 1;
		pthread_cond_signal(&queue.emptied);
	}
	pthread_mutex_unlock(&queue.lock);
	return got;
}

static void produce(struct worker *w)
{
	struct table *t = &w->table;
	uint64_t bytes = 0;

	while (bytes < BYTES) {
		table_add(t, &w->rng, sizes_pick(w->rest->sizes, &w->rng));
		bytes += t->slot[0].size;
		queue_put(&t->slot[0]);
		t->count = 0;
		t->live_bytes = 0;
	}
	pthread_mutex_lock(&queue.lock);
	queue.producers--;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static void consume(struct worker *w, struct table *fresh)
{
	struct slot s;

	fresh->count = 0;
	fresh->live_bytes = 0;
	while (queue_take(&s))
		table_take(fresh, &s);
	table_thin(fresh, &w->rng, 10);
	for (uint64_t i = 0; i < fresh->count; i++)
		table_take(&w->table, &fresh->slot[i]);
}

static void work(struct worker *w)
{
	struct table fresh = {.capacity = w->table.capacity};

	fresh.slot = rest_map(fresh.capacity * sizeof(struct slot));
	for (int i = 0; i < ROUNDS; i++) {
		if (w->index == 0)
			queue.producers = 2;
		pthread_barrier_wait(&w->rest->together);
		if (w->index < 2)
			produce(w);
		else
			consume(w, &fresh);
		pthread_barrier_wait(&w->rest->together);
	}
}

int main(int argc, char **argv)
{
	static struct rest rest = {.name = "c-pipeline", .threads = 4, .work = work};
	static struct sizes sizes;
	struct rng r;

	rng_seed(&r, 21);
	sizes_lognormal(&sizes, &r, 200, 1.5, 16, 80 << 10);
	rest.sizes = &sizes;
	rest.table_capacity = 2 * BYTES / 64;
	return rest_main(&rest, argc, argv);
}
