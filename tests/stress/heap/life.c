/*
 * Everything at once on the heap's own functions: threads that are born and end, allocate across each other and
 * check contents; signals whose handlers allocate and free; statistics, purges and checks in between; and
 * forks (not under ThreadSanitizer, whose runtime starts no threads in the child of a threaded parent).
 *
 *	stress-heap-life SECONDS-AT-MOST ROUNDS
 *
 * A round is bounded in operations, the whole in time. Exit 0 when all contents were right and nothing is
 * left alive at the end.
 */
#include <ebb/ebb.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heap/fast.h"
#include "heap/inside.h"
#include "stats/snapshot.h"

#define WORKERS 3u
#define TABLE 256u /* blocks that a worker holds */
#define SHARED 64u /* places where workers exchange blocks */
#define OPERATIONS 4000u

/* At the start of a block; its last byte is marked as well. */
struct head {
	size_t bytes;
	uint64_t mark;
};

static struct head *_Atomic shared[SHARED];
static atomic_uint workers_done;
static atomic_bool stopping;
static atomic_ulong handled;
static pthread_t workers[WORKERS];

static _Noreturn void die(const char *what, const void *block)
{
	fprintf(stderr, "stress-heap-life: %s: %p\n", what, block);
	abort();
}

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static size_t some_bytes(uint64_t *state)
{
	unsigned kind = (unsigned)(next(state) % 100);

	if (kind < 90)
		return sizeof(struct head) + 1 + next(state) % 1000;
	if (kind < 98)
		return sizeof(struct head) + 1 + next(state) % 60000;
	return kind < 99 ? 200000 : (size_t)5 << 20;
}

static void write_marks(struct head *block, size_t bytes)
{
	*block = (struct head){.bytes = bytes, .mark = (uintptr_t)block ^ bytes};
	((unsigned char *)block)[bytes - 1] = (unsigned char)bytes;
}

static void check_marks(const struct head *block, const struct head *at_birth)
{
	if (block->mark != ((uintptr_t)at_birth ^ block->bytes) ||
	    ((const unsigned char *)block)[block->bytes - 1] != (unsigned char)block->bytes)
		die("contents are wrong", block);
}

static struct head *make(uint64_t *state)
{
	size_t bytes = some_bytes(state);
	bool zero = next(state) % 8 == 0;
	struct head *block = zero ? ebbi_heap_alloc(bytes, 64, EBBI_CONTENT_ZERO) : ebbi_fast_alloc(bytes);

	if (block == NULL)
		die("no memory", NULL);
	if (zero && (block->bytes | block->mark | ((unsigned char *)block)[bytes - 1]) != 0)
		die("not zeroed", block);
	write_marks(block, bytes);
	return block;
}

static void destroy(struct head *block)
{
	if (block == NULL)
		return;
	check_marks(block, block);
	block->mark = 0;
	ebbi_fast_free(block);
}

static struct head *resize(struct head *block, uint64_t *state)
{
	size_t bytes = some_bytes(state);
	struct head *moved;

	check_marks(block, block);
	moved = ebbi_heap_resize(block, bytes);
	if (moved == NULL)
		die("no memory", block);
	if (moved->mark != ((uintptr_t)block ^ moved->bytes))
		die("contents did not move along", moved);
	write_marks(moved, bytes);
	return moved;
}

static void on_signal(int number)
{
	static _Thread_local uint64_t state;
	int before = errno;
	struct head *block = ebbi_fast_alloc(sizeof(struct head) + 1 + next(&state) % 5000);

	(void)number;
	if (block == NULL)
		die("no memory in a handler", NULL);
	write_marks(block, sizeof(struct head) + 1);
	/* Now and then a block of another thread's. */
	if (next(&state) % 4 == 0)
		destroy(atomic_exchange(&shared[next(&state) % SHARED], NULL));
	destroy(block);
	atomic_fetch_add(&handled, 1);
	if (errno != before)
		die(errno == ENOMEM ? "errno was set to ENOMEM" : "errno was touched", (void *)(intptr_t)errno);
}

static void *worker(void *argument)
{
	struct head *table[TABLE] = {NULL};
	uint64_t state = (uintptr_t)argument;

	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct head **place = &table[next(&state) % TABLE];

		switch (next(&state) % 8) {
		case 0:
			*place = atomic_exchange(&shared[next(&state) % SHARED], *place);
			break;
		case 1:
			if (*place != NULL)
				*place = resize(*place, &state);
			break;
		default:
			destroy(*place);
			*place = next(&state) % 3 == 0 ? NULL : make(&state);
		}
	}
	/* Some stay for the others, some go in the thread's last moments. */
	for (unsigned i = 0; i < TABLE; i++) {
		if (i < 8)
			table[i] = atomic_exchange(&shared[next(&state) % SHARED], table[i]);
		destroy(table[i]);
	}
	/* No signal is sent to a thread that said so and then ends. */
	atomic_fetch_add(&workers_done, 1);
	while (!atomic_load(&stopping))
		(void)usleep(1000);
	return NULL;
}

static void look_at_figures(void)
{
	struct ebb_snapshot snapshot;
	struct ebbi_cache *cache = ebbi_thread_cache();

	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		die("the main thread has no cache", cache);
	ebbi_snapshot_take(&snapshot);
	ebbi_snapshot_publish();
	ebbi_handshake_leave(&cache->handshake);
	if (snapshot.resident_bytes > snapshot.mapped_bytes)
		die("more is resident than mapped", NULL);
}

/*
 * In the child of a fork: the heap works, for this thread and for a new one. No new one under
 * AddressSanitizer: it allocates for a thread from a heap of its own, whose locks fork does not take.
 */
static void *live_on(void *argument)
{
	uint64_t state = (uintptr_t)argument;

	for (unsigned i = 0; i < 300; i++)
		destroy(make(&state));
	return NULL;
}

static void fork_once(void)
{
	pid_t child = fork();
	pthread_t thread;
	int status;

	if (child == 0) {
		(void)alarm(60);
		live_on((void *)1);
		if (!EBBI_ASAN &&
		    (pthread_create(&thread, NULL, live_on, (void *)2) != 0 || pthread_join(thread, NULL) != 0))
			die("no thread in the child", NULL);
		(void)ebbi_heap_purge();
		ebbi_heap_check();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		die("a child failed", NULL);
}

static void run_round(unsigned round)
{
	atomic_store(&workers_done, 0);
	atomic_store(&stopping, false);
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, worker, (void *)(round * WORKERS + i + 1)) != 0)
			die("no thread", NULL);
	for (unsigned i = 0; atomic_load(&workers_done) < WORKERS; i++) {
		(void)pthread_kill(workers[i % WORKERS], SIGUSR1);
		if (i % 16 == 1)
			look_at_figures();
		if (i % 16 == 7)
			(void)ebbi_heap_purge();
		if (i % 64 == 11)
			ebbi_heap_check();
		if (i % 128 == 13 && !EBBI_TSAN)
			fork_once();
		(void)usleep(500);
	}
	atomic_store(&stopping, true);
	for (unsigned i = 0; i < WORKERS; i++)
		if (pthread_join(workers[i], NULL) != 0)
			die("a thread did not end", NULL);
}

static void check_that_nothing_lives(void)
{
	struct ebb_snapshot snapshot;
	struct ebbi_cache *cache = ebbi_thread_cache();

	for (unsigned i = 0; i < SHARED; i++)
		destroy(atomic_exchange(&shared[i], NULL));
	for (unsigned i = 0; i < 3; i++)
		(void)ebbi_heap_purge();
	ebbi_heap_check();
	(void)ebbi_heap_enter(cache);
	ebbi_snapshot_take(&snapshot);
	ebbi_handshake_leave(&cache->handshake);
	/* Pages kept for handlers count as live; each cache keeps a bounded number. */
	if (snapshot.live_bytes > (size_t)(WORKERS + 4) * 64 * EBBI_PAGE_BYTES) {
		fprintf(stderr, "stress-heap-life: %llu bytes live at the end\n",
			(unsigned long long)snapshot.live_bytes);
		abort();
	}
	printf("%lu handlers, %llu nested, %llu deferred, %llu drained\n", atomic_load(&handled),
	       (unsigned long long)snapshot.nested_allocations, (unsigned long long)snapshot.deferred_frees,
	       (unsigned long long)snapshot.threads_drained);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	time_t deadline = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;

	ebbi_heap_boot();
	ebbi_heap.publish = ebbi_snapshot_publish;
	if (pthread_atfork(ebbi_heap_fork_prepare, ebbi_heap_fork_parent, ebbi_heap_fork_child) != 0 ||
	    sigaction(SIGUSR1, &action, NULL) != 0)
		die("cannot set up", NULL);
	for (unsigned round = 0; round < rounds && time(NULL) < deadline; round++)
		run_round(round);
	check_that_nothing_lives();
	return 0;
}
