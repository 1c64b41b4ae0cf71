/*
 * handover: four lines of threads. A thread replaces objects in the table it was
 * given, starts its successor, hands the table on and dies; so almost everything
 * is freed by a thread other than the one that allocated it, and the allocating
 * thread is often gone. One replacement in eight goes through a slot that all
 * lines share, so that objects also cross between threads that live.
 */
#include "../object.h"

#define LINES 4
#define SLOTS 1500u
#define SHARED 64u
#define STEPS 25000u

struct line {
	struct object *slot[SLOTS];
	struct rng rng;
	uint64_t left, done; /* generations to come; replacements made */
};

static struct sizes sizes;
static struct line lines[LINES];
static struct object *shared[SHARED]; /* atomic, acquire and release */
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static int lines_done; /* guarded by done_lock */

static void line_finish(struct line *l)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		object_free(l->slot[i]);
	pthread_mutex_lock(&done_lock);
	lines_done++;
	pthread_cond_signal(&done_cond);
	pthread_mutex_unlock(&done_lock);
}

static void *generation(void *arg)
{
	struct line *l = arg;
	pthread_t next;

	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t at = rng_below(&l->rng, SLOTS);
		struct object *o = object_new(&sizes, &l->rng);

		if (i % 8 == 0)
			o = __atomic_exchange_n(&shared[at % SHARED], o, __ATOMIC_ACQ_REL);
		object_free(l->slot[at]);
		l->slot[at] = o;
	}
	l->done += STEPS;
	if (--l->left == 0) {
		line_finish(l);
	} else {
		thread_start(&next, generation, l);
		pthread_detach(next);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t sum = 0;

	bench_begin(&b, argc, argv, "handover");
	rng_seed(&r, 4);
	sizes_loguniform(&sizes, &r, 16, 1024);
	for (int i = 0; i < LINES; i++) {
		pthread_t t;

		rng_seed(&lines[i].rng, 40 + (uint64_t)i);
		lines[i].left = bench_count(&b, 240);
		thread_start(&t, generation, &lines[i]);
		pthread_detach(t);
	}
	pthread_mutex_lock(&done_lock);
	while (lines_done < LINES)
		pthread_cond_wait(&done_cond, &done_lock);
	pthread_mutex_unlock(&done_lock);
	for (uint32_t i = 0; i < SHARED; i++)
		object_free(__atomic_load_n(&shared[i], __ATOMIC_ACQUIRE));
	for (int i = 0; i < LINES; i++)
		sum += lines[i].done;
	bench_end(&b, sum, sum);
	return 0;
}
