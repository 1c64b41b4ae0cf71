/*
 * Everything at once: threads that swap blocks and are interrupted by signals whose handlers swap blocks
 * too, threads that start and end, forks whose children allocate, and purges, all the time.
 *
 *   chaos SECONDS [SEED]
 */
#include "check.h"

#include <signal.h>
#include <sys/wait.h>

#define THREADS 4
#define TABLE 2048

struct block {
	size_t size;
	uint64_t tag;
	uint8_t bytes[];
};

/* Exchanged atomically (acquire and release): who takes a block out owns it. */
static struct block *table[TABLE];
static pthread_t swapper[THREADS];
static unsigned long swapped[THREADS];
static unsigned long handled;
static unsigned long forked;
static unsigned long started;
static uint64_t end_ns;
static uint64_t seed;

/* Time, and whatever did not happen yet: on a busy machine it may take longer. */
static bool time_left(void)
{
	return now_ns() < end_ns || __atomic_load_n(&handled, __ATOMIC_RELAXED) == 0 ||
	       __atomic_load_n(&forked, __ATOMIC_RELAXED) == 0 || __atomic_load_n(&started, __ATOMIC_RELAXED) == 0 ||
	       __atomic_load_n(&swapped[0], __ATOMIC_RELAXED) == 0;
}

static struct block *block_new(struct rng *rng, unsigned max_bits)
{
	size_t size = rng_size(rng, max_bits);
	struct block *block =
		hide(rng_below(rng, 2) == 0 ? malloc(sizeof(*block) + size) : calloc(1, sizeof(*block) + size));

	CHECK(block != NULL, "allocation of %zu bytes", size);
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

static void swap_once(struct rng *rng, unsigned max_bits)
{
	block_free(__atomic_exchange_n(&table[rng_below(rng, TABLE)], block_new(rng, max_bits), __ATOMIC_ACQ_REL));
}

static void handler(int number)
{
	int error = errno;
	struct rng rng = {seed + __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED)};

	(void)number;
	for (unsigned i = 0; i < 3; i++)
		swap_once(&rng, 11);
	errno = error;
}

static void *swap_body(void *argument)
{
	uintptr_t self = (uintptr_t)argument;
	struct rng rng = {seed * 1000 + self};

	while (time_left()) {
		for (unsigned i = 0; i < 64; i++)
			swap_once(&rng, i == 0 ? 21 : 14);
		swapped[self] += 64;
	}
	return NULL;
}

static void *short_body(void *argument)
{
	struct rng rng = {(uintptr_t)argument};

	for (unsigned i = 0; i < 50; i++)
		swap_once(&rng, 13);
	return NULL;
}

static void *starter_body(void *argument)
{
	for (uintptr_t i = seed * 77; time_left(); i++, started++)
		check_join(check_thread(short_body, (void *)i));
	return argument;
}

static void *forker_body(void *argument)
{
	sigset_t set;

	/* The child shall live in peace: nobody signals it, but its parent's other threads go on. */
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (time_left()) {
		int status;
		pid_t child = fork();

		CHECK(child >= 0, "fork");
		if (child == 0) {
			short_body((void *)(uintptr_t)forked);
			check_join(check_thread(short_body, NULL));
			if (forked % 3 == 0)
				check_purge();
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0, "child: 0x%x", (unsigned)status);
		forked++;
		sleep_ms(3);
	}
	return argument;
}

static void *purger_body(void *argument)
{
	while (time_left()) {
		check_purge();
		sleep_ms(2);
	}
	return argument;
}

int main(int argc, char **argv)
{
	static void *(*const helpers[])(void *) = {starter_body, forker_body, purger_body};
	pthread_t helper[3];
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct timespec pause = {0, 50000};

	check_allocator();
	end_ns = now_ns() + (argc > 1 ? strtoul(argv[1], NULL, 10) : 2) * 1000000000u;
	seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
	for (uintptr_t i = 0; i < THREADS; i++)
		swapper[i] = check_thread(swap_body, (void *)i);
	for (unsigned i = 0; i < 3; i++)
		helper[i] = check_thread(helpers[i], NULL);
	for (unsigned i = 0; time_left(); i++) {
		int error = pthread_kill(swapper[i % THREADS], SIGUSR1);

		CHECK(error == 0 || error == ESRCH, "pthread_kill: %s", strerror(error));
		nanosleep(&pause, NULL);
	}
	for (unsigned i = 0; i < 3; i++)
		check_join(helper[i]);
	for (unsigned i = 0; i < THREADS; i++)
		check_join(swapper[i]);
	for (unsigned i = 0; i < TABLE; i++)
		block_free(table[i]);
	check_purge();
	check_note("%lu swaps by thread 0, %lu signals, %lu forks, %lu threads\n", swapped[0], handled, forked,
		   started);
	return 0;
}
