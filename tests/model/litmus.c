/*
 * litmus.c: the drain handshake (src/caches/handshake.h) on real threads with the real membarrier(2).
 *
 * Owners push and pop tokens on stacks of their own with plain loads and stores, end, and hand their
 * control block to the next owner. Drainers (one thread, and owners in the role of malloc_trim) empty
 * these stacks into a shared pool. A storm of signals interrupts the owners anywhere; the handlers
 * allocate and free, too. The main thread forks now and then and the child counts what it adopts.
 *
 * Every token is in one place. Each move notes that on the token itself with an atomic exchange, so a
 * token that is handed out twice, or lost, is found at once or in the count at the end.
 *
 *   --seconds=N          run for N seconds (3)
 *   --threads=N          owners at a time (4)
 *   --refuse=now|later   membarrier is refused from the start, or after a hundred barriers: the fallback
 *   --break=membarrier   control: barriers do nothing but say that they did. Faults may be found (on
 *                        x86-64 with two CPUs they usually are) and need not be; exit 0 either way
 *
 * Exit 1 when a fault was found. The stacks and operations are in litmus_cache.c.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "litmus_cache.h"
#include "platform/membarrier.h"

enum { THREADS_MAX = 12, LIFE = 20000 };

/* Looks of a fork, some microseconds apart, before it gives an owner up. */
enum { FORK_PATIENCE = 400 };

static struct ebbi_lock registry = EBBI_LOCK_INIT(EBBI_RANK_REGISTRY);
static struct block *free_blocks; /* guarded by registry */
static uint32_t stopping;         /* atomic: time is up */
static uint32_t barriers_left;    /* atomic: for --refuse=later */

static struct {
	double seconds;
	int threads;
	bool broken;
	const struct ebbi_membarrier_ops *ops;
} options = {.seconds = 3, .threads = 4};

static void nap_us(long us)
{
	struct timespec time = {.tv_sec = 0, .tv_nsec = us * 1000};

	(void)nanosleep(&time, NULL);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* --- membarrier, three times otherwise ------------------------------------------------------------ */

static long refuse(void)
{
	return -ENOSYS;
}

static long pretend(void)
{
	return 0;
}

static long query(void)
{
	return ebbi_membarrier_system.query();
}

static long register_unless_over(void)
{
	return ebbi_load_relaxed(&barriers_left) == 0 ? -EPERM : ebbi_membarrier_system.register_private();
}

static long barrier_unless_over(void)
{
	uint32_t left = ebbi_load_relaxed(&barriers_left);

	while (left != 0 && !ebbi_cas_relaxed(&barriers_left, &left, left - 1))
		;
	return left == 0 ? -EPERM : ebbi_membarrier_system.barrier();
}

static const struct ebbi_membarrier_ops refused_now = {refuse, refuse, refuse};
static const struct ebbi_membarrier_ops refused_later = {query, register_unless_over, barrier_unless_over};
static const struct ebbi_membarrier_ops pretended = {query, pretend, pretend};

/* --- The scavenger and the storm ------------------------------------------------------------------ */

static void *scavenger_main(void *argument)
{
	(void)argument;
	litmus_seed(1);
	while (!ebbi_load_relaxed(&stopping)) {
		litmus_sweep(NULL, /* idle_only= */ litmus_draw(4) == 0);
		if (litmus_draw(4) == 0)
			nap_us(20 + litmus_draw(200));
	}
	return NULL;
}

static void on_signal(int number)
{
	static __thread uint32_t turn;
	struct block *block = litmus_block;
	int saved = errno;

	(void)number;
	COUNT(signals);
	if (block != NULL)
		litmus_operate(block, turn++ % HANDS);
	errno = saved;
}

static struct {
	pthread_mutex_t mutex; /* also held over pthread_kill, so that the thread is there */
	pthread_t threads[THREADS_MAX + 1];
	bool alive[THREADS_MAX + 1]; /* takes signals; the last is the main thread */
	bool ended[THREADS_MAX];
} owners = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *storm_main(void *argument)
{
	(void)argument;
	litmus_seed(2);
	while (!ebbi_load_relaxed(&stopping)) {
		uint32_t slot = litmus_draw((uint32_t)options.threads + 1);

		if (slot == (uint32_t)options.threads)
			slot = THREADS_MAX;
		pthread_mutex_lock(&owners.mutex);
		if (owners.alive[slot])
			pthread_kill(owners.threads[slot], SIGUSR1);
		pthread_mutex_unlock(&owners.mutex);
		nap_us(10 + litmus_draw(30));
	}
	return NULL;
}

static void signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, NULL);
}

static void set_alive(int slot, bool alive)
{
	pthread_mutex_lock(&owners.mutex);
	owners.threads[slot] = pthread_self();
	owners.alive[slot] = alive;
	pthread_mutex_unlock(&owners.mutex);
}

/* --- Owners come and go --------------------------------------------------------------------------- */

static void trim(struct block *own)
{
	if (litmus_go_inside(own) == EBBI_NESTED)
		return;
	litmus_drain(own);
	litmus_sweep(own, /* idle_only= */ false);
	ebbi_handshake_leave(&own->handshake);
	COUNT(trims);
}

static struct block *block_adopt(void)
{
	struct block *block;

	ebbi_lock_acquire(&registry);
	block = free_blocks;
	if (block != NULL)
		free_blocks = block->next_free;
	ebbi_lock_release(&registry);
	if (block == NULL)
		litmus_fault("no control block is free");
	litmus_block = block;
	return block;
}

/* Signals may still arrive: the handlers find the block busy, and then none. */
static void block_give_up(struct block *block)
{
	if (!ebbi_handshake_retire_begin(&block->handshake)) {
		litmus_fault("nested outside any handler");
		return;
	}
	litmus_drain(block);
	litmus_block = NULL;
	ebbi_handshake_retire_end(&block->handshake);
	signals(SIG_BLOCK);
	litmus_drop_hands();
	ebbi_lock_acquire(&registry);
	block->next_free = free_blocks;
	free_blocks = block;
	ebbi_lock_release(&registry);
}

static void *owner_main(void *argument)
{
	int slot = (int)(intptr_t)argument;
	struct block *block = block_adopt();
	int done;

	if (block == NULL)
		return NULL;
	litmus_seed(ebbi_fetch_add_relaxed(&litmus_tally.lives, 1) + 10);
	set_alive(slot, true);
	for (done = 0; done < LIFE && !ebbi_load_relaxed(&stopping); done++) {
		litmus_operate(block, litmus_draw(HANDS));
		if (litmus_draw(512) == 0)
			nap_us(litmus_draw(100));
		if (litmus_draw(8192) == 0)
			trim(block);
	}
	(void)ebbi_fetch_add_relaxed(&litmus_tally.operations, (uint64_t)done);
	set_alive(slot, false);
	block_give_up(block);
	pthread_mutex_lock(&owners.mutex);
	owners.ended[slot] = true;
	pthread_mutex_unlock(&owners.mutex);
	return NULL;
}

/* --- Fork ----------------------------------------------------------------------------------------- */

/* Signals are off, so that nothing waits for the registry's lock on behalf of a handler. */
static void fork_prepare(struct block *own)
{
	bool all = false;

	signals(SIG_BLOCK);
	ebbi_lock_acquire(&registry);
	if (!ebbi_handshake_fork_begin(&own->handshake))
		litmus_fault("nested outside any handler");
	signals(SIG_UNBLOCK);
	for (int i = 0; i < BLOCKS; i++)
		if (&litmus_blocks[i] != own)
			ebbi_handshake_stop(&litmus_blocks[i].handshake);
	if (ebbi_membarrier_barrier() == 0) {
		for (int look = 0; look < FORK_PATIENCE && !all; look++) {
			all = true;
			for (int i = 0; i < BLOCKS; i++)
				all &= &litmus_blocks[i] == own ||
				       ebbi_handshake_quiet_try(&litmus_blocks[i].handshake);
			if (!all)
				nap_us(50);
		}
	}
	ebbi_lock_acquire(&litmus_pool_lock);
}

static void fork_finish(struct block *own, bool in_child, int *ret_lost)
{
	int lost = 0;

	ebbi_lock_release(&litmus_pool_lock);
	for (int i = 0; i < BLOCKS; i++) {
		struct block *block = &litmus_blocks[i];

		if (block == own)
			continue;
		if (!ebbi_handshake_is_quiet(&block->handshake)) {
			lost++;
			if (in_child) {
				block->count = 0;
				ebbi_store_relaxed(&block->handshake.deferred, (void *)NULL);
			}
		}
		if (in_child)
			ebbi_handshake_orphan(&block->handshake);
		ebbi_handshake_resume(&block->handshake);
	}
	ebbi_lock_release(&registry);
	ebbi_handshake_fork_end(&own->handshake);
	*ret_lost = lost;
}

/* The child: adopts, empties everything, counts. */
static void __attribute__((noreturn)) child_main(struct block *own)
{
	int lost;

	fork_finish(own, /* in_child= */ true, &lost);
	(void)litmus_go_inside(own);
	for (int i = 0; i < BLOCKS; i++)
		litmus_drain(&litmus_blocks[i]);
	ebbi_handshake_leave(&own->handshake);
	litmus_drop_hands();
	_exit(litmus_audit(lost) != 0 || ebbi_load_relaxed(&litmus_tally.faults) != 0);
}

static void fork_once(struct block *own)
{
	int status, lost;
	pid_t child;

	fork_prepare(own);
	child = fork();
	if (child == 0)
		child_main(own);
	fork_finish(own, /* in_child= */ false, &lost);
	if (child < 0) {
		litmus_fault("fork was refused");
		return;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		litmus_fault("the child of a fork found a fault");
	COUNT(forks);
	(void)ebbi_fetch_add_relaxed(&litmus_tally.lost, (uint64_t)lost);
	(void)ebbi_fetch_add_relaxed(&litmus_tally.adopted, (uint64_t)(BLOCKS - 1 - lost));
}

/* --- main ----------------------------------------------------------------------------------------- */

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (strncmp(word, "--seconds=", 10) == 0) {
			options.seconds = atof(word + 10);
		} else if (strncmp(word, "--threads=", 10) == 0) {
			options.threads = atoi(word + 10);
		} else if (strcmp(word, "--refuse=now") == 0) {
			options.ops = &refused_now;
		} else if (strcmp(word, "--refuse=later") == 0) {
			options.ops = &refused_later;
			barriers_left = 100;
		} else if (strcmp(word, "--break=membarrier") == 0) {
			options.ops = &pretended;
			options.broken = litmus_quiet = true;
		} else {
			fprintf(stderr, "litmus: unknown argument '%s'\n", word);
			exit(2);
		}
	}
	if (options.threads < 1 || options.threads > THREADS_MAX) {
		fprintf(stderr, "litmus: 1 to %d threads\n", THREADS_MAX);
		exit(2);
	}
}

/* Every slot has an owner, as far as threads can be had. */
static void fill_slots(pthread_t threads[], bool started[])
{
	for (int i = 0; i < options.threads; i++) {
		bool ended;

		pthread_mutex_lock(&owners.mutex);
		ended = owners.ended[i];
		owners.ended[i] = false;
		pthread_mutex_unlock(&owners.mutex);
		if (ended) {
			pthread_join(threads[i], NULL);
			started[i] = false;
		}
		if (!started[i])
			started[i] = pthread_create(&threads[i], NULL, owner_main, (void *)(intptr_t)i) == 0;
	}
}

/* Until time is up: be an owner oneself, and fork now and then. */
static void keep_going(struct block *own)
{
	pthread_t threads[THREADS_MAX];
	bool started[THREADS_MAX] = {false};
	double end = now() + options.seconds;

	for (int round = 0; now() < end; round++) {
		fill_slots(threads, started);
		for (int i = 0; i < 1000; i++)
			litmus_operate(own, litmus_draw(HANDS));
		nap_us(500);
		if (round % 16 == 15 && !options.broken)
			fork_once(own);
	}
	ebbi_store_relaxed(&stopping, 1u);
	for (int i = 0; i < options.threads; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
}

static int report(void)
{
	const struct litmus_tally *tally = &litmus_tally;

	for (int i = 0; i < BLOCKS; i++)
		litmus_drain(&litmus_blocks[i]);
	(void)ebbi_fetch_add_relaxed(&litmus_tally.faults, (uint64_t)litmus_audit(/* lost= */ 0));
	printf("litmus: %lu operations, %lu owners, %lu signals (%lu nested allocations, %lu deferred frees)\n",
	       tally->operations, tally->lives, tally->signals, tally->nested, tally->deferred);
	printf("litmus: %lu drained, %lu put off, %lu requests fulfilled, %lu trims, membarrier %s\n", tally->drained,
	       tally->put_off, tally->requests, tally->trims, ebbi_membarrier_available() ? "in use" : "not available");
	printf("litmus: %lu forks: %lu caches adopted, %lu lost\n", tally->forks, tally->adopted, tally->lost);
	printf("litmus: %lu faults%s\n", tally->faults,
	       options.broken ? " (with the barrier taken out: some are expected, none is possible)" : "");
	return tally->faults != 0 && !options.broken;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t scavenger, storm;
	struct block *own;
	int error;

	parse(argc, argv);
	error = ebbi_membarrier_open(options.ops);
	if (error != 0 && options.ops != &refused_now) {
		fprintf(stderr, "litmus: membarrier: %s\n", strerror(-error));
		return 1;
	}
	sigaction(SIGUSR1, &action, NULL);
	litmus_start();
	for (int i = 0; i < BLOCKS; i++) {
		litmus_blocks[i].next_free = free_blocks;
		free_blocks = &litmus_blocks[i];
	}
	own = block_adopt();
	litmus_seed(3);
	set_alive(THREADS_MAX, true);
	if (pthread_create(&scavenger, NULL, scavenger_main, NULL) != 0 ||
	    pthread_create(&storm, NULL, storm_main, NULL) != 0) {
		fprintf(stderr, "litmus: no threads\n");
		return 1;
	}
	keep_going(own);
	pthread_join(storm, NULL);
	pthread_join(scavenger, NULL);
	block_give_up(own);
	return report();
}
