/*
 * Blocks that one thread allocates and another frees, with contents checked on the way.
 *
 *   cross swap SECONDS     threads swap blocks with a table that all share
 *   cross queue SECONDS    producers and consumers over bounded queues
 *   cross orphans SECONDS  threads end and leave their blocks to others
 *   cross burst SECONDS    everybody fills, all is freed by others at once, everybody sleeps
 *   cross trim SECONDS     swap, while two threads call malloc_trim and ebb_purge all the time
 *   cross fork SECONDS     swap, while children are forked that free what they inherited
 */
#include "check.h"

#include <sys/wait.h>

#define THREADS 4
#define TABLE 8192

struct block {
	size_t size;
	uint64_t tag;
	uint8_t bytes[];
};

/* Exchanged atomically (acquire and release): who takes a block out owns it. */
static struct block *table[TABLE];
static uint64_t end_ns;
static int stop_helpers; /* atomic, relaxed */
static unsigned long exchanged[THREADS];

static struct block *block_new(struct rng *rng, unsigned max_bits)
{
	size_t size = rng_size(rng, max_bits);
	struct block *block;

	if (rng_below(rng, 16) == 0) {
		void *pointer;

		CHECK(posix_memalign(&pointer, (size_t)16 << rng_below(rng, 9), sizeof(*block) + size) == 0,
		      "posix_memalign");
		block = pointer;
	} else {
		block = hide(malloc(sizeof(*block) + size));
	}
	CHECK(block != NULL, "malloc of %zu bytes", size);
	block->size = size;
	block->tag = rng_next(rng);
	pattern_fill(block->bytes, size, block->tag);
	return block;
}

static void block_free(struct block *block)
{
	if (block == NULL)
		return;
	PATTERN_CHECK(block->bytes, block->size, block->tag);
	free(block);
}

static struct block *block_swap(struct rng *rng, struct block *block, unsigned entries)
{
	return __atomic_exchange_n(&table[rng_below(rng, entries)], block, __ATOMIC_ACQ_REL);
}

static bool time_left(void)
{
	/* Once at least, even where others have the CPU until the time is over. */
	static _Thread_local bool asked;
	bool first = !asked;

	asked = true;
	return first || now_ns() < end_ns;
}

static void free_table(void)
{
	for (unsigned i = 0; i < TABLE; i++)
		block_free(__atomic_exchange_n(&table[i], NULL, __ATOMIC_ACQ_REL));
}

/* --- swap -------------------------------------------------------------------------------- */

static void *swap_body(void *argument)
{
	struct rng rng = {77 + (uintptr_t)argument};

	while (time_left()) {
		for (unsigned i = 0; i < 256; i++) {
			struct block *block = block_swap(&rng, block_new(&rng, i == 0 ? 22 : 14), TABLE);

			if (block != NULL && rng_below(&rng, 8) == 0) {
				size_t size = rng_size(&rng, 15);
				size_t kept = size < block->size ? size : block->size;
				struct block *grown = hide(realloc(block, sizeof(*block) + size));

				CHECK(grown != NULL, "realloc");
				CHECK(pattern_find(grown->bytes, grown->size, kept, grown->tag) == SIZE_MAX,
				      "realloc lost contents");
				grown->size = size;
				pattern_fill(grown->bytes, size, grown->tag);
				block = grown;
			}
			block_free(block);
		}
		exchanged[(uintptr_t)argument] += 256;
	}
	return NULL;
}

/* --- queue ------------------------------------------------------------------------------- */

#define QUEUE 512

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct block *item[QUEUE];
	unsigned count;
	unsigned producers;
};

static struct queue queue[2] = {
	{.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
	{.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
};

static void *producer_body(void *argument)
{
	uintptr_t self = (uintptr_t)argument;
	struct queue *mine = &queue[self / 2];
	struct rng rng = {self};

	while (time_left()) {
		struct block *batch[32];

		for (unsigned i = 0; i < 32; i++)
			batch[i] = block_new(&rng, i == 0 ? 20 : 12);
		pthread_mutex_lock(&mine->lock);
		while (mine->count + 32 > QUEUE)
			pthread_cond_wait(&mine->changed, &mine->lock);
		for (unsigned i = 0; i < 32; i++)
			mine->item[mine->count++] = batch[i];
		pthread_cond_broadcast(&mine->changed);
		pthread_mutex_unlock(&mine->lock);
		exchanged[self] += 32;
	}
	pthread_mutex_lock(&mine->lock);
	mine->producers--;
	pthread_cond_broadcast(&mine->changed);
	pthread_mutex_unlock(&mine->lock);
	return NULL;
}

static void *consumer_body(void *argument)
{
	struct queue *mine = &queue[(uintptr_t)argument];
	unsigned taken;

	do {
		struct block *batch[QUEUE];

		pthread_mutex_lock(&mine->lock);
		while (mine->count == 0 && mine->producers > 0)
			pthread_cond_wait(&mine->changed, &mine->lock);
		taken = mine->count;
		memcpy(batch, mine->item, taken * sizeof(*batch));
		mine->count = 0;
		pthread_cond_broadcast(&mine->changed);
		pthread_mutex_unlock(&mine->lock);
		for (unsigned i = 0; i < taken; i++)
			block_free(batch[i]);
	} while (taken > 0);
	return NULL;
}

static void run_queue(void)
{
	pthread_t producer[4];
	pthread_t consumer[2];

	for (uintptr_t i = 0; i < 2; i++) {
		queue[i].producers = 2;
		consumer[i] = check_thread(consumer_body, (void *)i);
	}
	for (uintptr_t i = 0; i < 4; i++)
		producer[i] = check_thread(producer_body, (void *)i);
	for (unsigned i = 0; i < 4; i++)
		check_join(producer[i]);
	for (unsigned i = 0; i < 2; i++)
		check_join(consumer[i]);
}

/* --- orphans ----------------------------------------------------------------------------- */

static void *orphan_body(void *argument)
{
	struct rng rng = {(uintptr_t)argument * 31};

	for (unsigned i = 0; i < 400; i++)
		block_free(block_swap(&rng, block_new(&rng, 13), TABLE));
	return NULL;
}

static void run_orphans(void)
{
	for (uintptr_t round = 1; time_left(); round++) {
		pthread_t thread[THREADS];

		for (uintptr_t i = 0; i < THREADS; i++)
			thread[i] = check_thread(orphan_body, (void *)(round * THREADS + i));
		for (unsigned i = 0; i < THREADS; i++)
			check_join(thread[i]);
		exchanged[0] += (size_t)THREADS * 400;
	}
}

/* --- burst ------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;
static int burst_over; /* written by thread 0 between barriers */

static void *burst_body(void *argument)
{
	uintptr_t self = (uintptr_t)argument;
	struct rng rng = {self + 5};
	unsigned share = TABLE / THREADS;

	while (!burst_over) {
		for (unsigned i = 0; i < share; i++)
			table[self * share + i] = block_new(&rng, 13);
		pthread_barrier_wait(&barrier);
		unsigned other = (unsigned)(self + 1) % THREADS;
		for (unsigned i = 0; i < share; i++) {
			block_free(table[other * share + i]);
			table[other * share + i] = NULL;
		}
		exchanged[self] += share;
		sleep_ms(self % 2 == 0 ? 20 : 0);
		pthread_barrier_wait(&barrier);
		if (self == 0)
			burst_over = !time_left();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* --- helpers that run beside swap -------------------------------------------------------- */

static void *trimmer_body(void *argument)
{
	while (!__atomic_load_n(&stop_helpers, __ATOMIC_RELAXED)) {
		if (argument == NULL)
			malloc_trim(0);
		else
			check_purge();
		check_heap();
		sleep_ms(1);
	}
	return NULL;
}

static void *forker_body(void *argument)
{
	while (!__atomic_load_n(&stop_helpers, __ATOMIC_RELAXED)) {
		int status;
		pid_t child = fork();

		CHECK(child >= 0, "fork");
		if (child == 0) {
			struct rng rng = {3};

			free_table();
			for (unsigned i = 0; i < 2000; i++)
				block_free(block_swap(&rng, block_new(&rng, 14), TABLE));
			if (CHECK_THREADS_IN_CHILD)
				check_join(check_thread(orphan_body, NULL));
			free_table();
			check_purge();
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0, "child: 0x%x", (unsigned)status);
		sleep_ms(5);
	}
	return argument;
}

static void run_threads(void *(*body)(void *), void *(*helper)(void *))
{
	pthread_t thread[THREADS];
	pthread_t helping[2];

	for (uintptr_t i = 0; i < THREADS; i++)
		thread[i] = check_thread(body, (void *)i);
	for (uintptr_t i = 0; helper != NULL && i < 2; i++)
		helping[i] = check_thread(helper, (void *)i);
	for (unsigned i = 0; i < THREADS; i++)
		check_join(thread[i]);
	__atomic_store_n(&stop_helpers, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; helper != NULL && i < 2; i++)
		check_join(helping[i]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned long total = 0;

	check_allocator();
	end_ns = now_ns() + (argc > 2 ? strtoul(argv[2], NULL, 10) : 2) * 1000000000u;
	if (strcmp(mode, "swap") == 0) {
		run_threads(swap_body, NULL);
	} else if (strcmp(mode, "queue") == 0) {
		run_queue();
	} else if (strcmp(mode, "orphans") == 0) {
		run_orphans();
	} else if (strcmp(mode, "burst") == 0) {
		pthread_barrier_init(&barrier, NULL, THREADS);
		run_threads(burst_body, NULL);
	} else if (strcmp(mode, "trim") == 0) {
		run_threads(swap_body, trimmer_body);
	} else {
		CHECK(strcmp(mode, "fork") == 0, "unknown mode '%s'", mode);
		run_threads(swap_body, forker_body);
	}
	free_table();
	check_purge();
	check_heap();
	for (unsigned i = 0; i < THREADS; i++)
		total += exchanged[i];
	check_note("%lu blocks exchanged\n", total);
	CHECK(total > 0, "nothing happened");
	return 0;
}
