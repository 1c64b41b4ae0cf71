/*
 * Threads in numbers and in odd ways to end.
 *   threads alive       1000 at once, each with blocks that another one frees
 *   threads storm       20000 that start, allocate, hand over and end, four at a time
 *   threads sleepers    200 that allocated and sleep: what they cached goes back
 *   threads main-exits  pthread_exit from main; the last thread ends the process
 *   threads exit        exit() while others allocate
 *   threads abort       abort() while others allocate
 *   threads cancel      threads cancelled while they sleep, with cleanup handlers that free
 *   threads small       stacks of the least size
 */
#include "stats.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "churn.h"

#define MANY 1000
#define BLOCKS_EACH 32

static pthread_barrier_t barrier;
static uint8_t *shared[MANY][BLOCKS_EACH];

static size_t size_of(unsigned thread, unsigned index)
{
	return 16 + (thread * 31u + index * 211u) % 4000;
}

static void make_blocks(unsigned thread)
{
	for (unsigned i = 0; i < BLOCKS_EACH; i++) {
		shared[thread][i] = hide(malloc(size_of(thread, i)));
		CHECK(shared[thread][i] != NULL, "malloc");
		pattern_fill(shared[thread][i], size_of(thread, i), thread + i);
	}
}

static void free_blocks(unsigned thread)
{
	for (unsigned i = 0; i < BLOCKS_EACH; i++) {
		PATTERN_CHECK(shared[thread][i], size_of(thread, i), thread + i);
		free(shared[thread][i]);
	}
}

static void *alive_body(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;

	make_blocks(self);
	pthread_barrier_wait(&barrier);
	free_blocks((self + MANY / 2) % MANY);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static pthread_t start_small(void *(*run)(void *), uintptr_t argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	int error = pthread_create(&thread, &attributes, run, (void *)argument);
	CHECK(error == 0, "pthread_create: %s", strerror(error));
	pthread_attr_destroy(&attributes);
	return thread;
}

static void test_alive(void)
{
	static pthread_t thread[MANY];
	struct ebb_snapshot snapshot;

	pthread_barrier_init(&barrier, NULL, MANY + 1);
	for (unsigned i = 0; i < MANY; i++)
		thread[i] = start_small(alive_body, i);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < MANY; i++)
		check_join(thread[i]);
	check_purge();
	if (stats_get(&snapshot))
		CHECK(snapshot.threads < 10, "%lu caches are left", (unsigned long)snapshot.threads);
}

static void *storm_body(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;

	make_blocks(self % MANY);
	free(hide(calloc(1, 100000)));
	return NULL;
}

static void test_storm(void)
{
	long settled = 0;

	for (unsigned round = 0; round < 5000; round++) {
		pthread_t thread[4];

		for (unsigned i = 0; i < 4; i++)
			thread[i] = start_small(storm_body, round % 250 * 4 + i);
		for (unsigned i = 0; i < 4; i++) {
			check_join(thread[i]);
			free_blocks(round % 250 * 4 + i);
		}
		if (round == 500)
			settled = proc_status("RssAnon:");
	}
	long after = proc_status("RssAnon:");
	check_note("RssAnon %ld KiB after 2000 threads, %ld after 20000\n", settled, after);
	CHECK(after < settled + (8 << 10), "RssAnon grows with every thread: %ld, %ld", settled, after);
}

static void *sleeper_body(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;
	struct churn churn;

	churn_init(&churn, self + 1, 13);
	churn_steps(&churn, 600);
	churn_free_all(&churn);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* sleeps here */
	churn_steps(&churn, 200);
	churn_free_all(&churn);
	return NULL;
}

static void test_sleepers(void)
{
	enum { SLEEPERS = 200 };
	pthread_t thread[SLEEPERS];

	pthread_barrier_init(&barrier, NULL, SLEEPERS + 1);
	for (unsigned i = 0; i < SLEEPERS; i++)
		thread[i] = start_small(sleeper_body, i);
	pthread_barrier_wait(&barrier);
	long awake = proc_status("RssAnon:");
	/* Stacks and thread control blocks: about 16 KiB of each sleeper are not the allocator's. */
	bool rested = stats_wait_rss(SLEEPERS * 20L + 4096, 15);
	long asleep = proc_status("RssAnon:");
	check_note("RssAnon %ld KiB with 200 threads just asleep, %ld later\n", awake, asleep);
	CHECK(!check_on_ebb() || rested, "RssAnon %ld KiB with 200 threads just asleep, %ld later", awake, asleep);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < SLEEPERS; i++)
		check_join(thread[i]);
}

static void *outlives_main(void *argument)
{
	struct churn churn;

	sleep_ms(50);
	churn_init(&churn, (uintptr_t)argument, 18);
	churn_steps(&churn, 20000);
	churn_free_all(&churn);
	return NULL;
}

__attribute__((noreturn)) static void test_main_exits(void)
{
	for (uintptr_t i = 1; i <= 3; i++) {
		pthread_t thread = check_thread(outlives_main, (void *)i);

		pthread_detach(thread);
	}
	free(hide(malloc(50000)));
	pthread_exit(NULL);
}

static void allocate_at_exit(void)
{
	for (unsigned i = 0; i < 1000; i++)
		free(hide(malloc(i * 10)));
}

/* In a child each time; it must end by exit(0) or by SIGABRT, as asked. */
static void test_end(bool by_abort)
{
	static struct churn_thread noise[4];

	for (unsigned round = 0; round < 20; round++) {
		int status;
		pid_t child = fork();

		CHECK(child >= 0, "fork");
		if (child == 0) {
			atexit(allocate_at_exit);
			for (unsigned i = 0; i < 4; i++)
				churn_start(&noise[i], round * 4 + i + 1, 17);
			sleep_ms(10);
			if (by_abort)
				abort();
			exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child, "waitpid");
		CHECK(by_abort ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT : status == 0,
		      "the child's status is 0x%x", (unsigned)status);
	}
}

static void *cancelled_body(void *argument)
{
	struct churn churn;
	void *block = hide(malloc(5000));

	churn_init(&churn, (uintptr_t)argument, 12);
	churn_steps(&churn, 200);
	churn_free_all(&churn);
	pthread_cleanup_push(free, block);
	pthread_cleanup_push(free, hide(malloc(100)));
	sleep_ms(60000);
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(1);
	return NULL;
}

static void test_cancel(void)
{
	pthread_t thread[50];

	for (unsigned round = 0; round < 10; round++) {
		for (uintptr_t i = 0; i < 50; i++)
			thread[i] = check_thread(cancelled_body, (void *)(i + 1));
		for (unsigned i = 0; i < 50; i++)
			CHECK(pthread_cancel(thread[i]) == 0, "pthread_cancel");
		for (unsigned i = 0; i < 50; i++)
			CHECK(check_join(thread[i]) == PTHREAD_CANCELED, "cancelled");
	}
}

/* Of 16 KiB the C library takes some for itself: the allocator has little. No churn here. */
static void *small_body(void *argument)
{
	void *block[20];

	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < 20; i++) {
			block[i] = hide(malloc(1 + (round * 37 + i * 997) % 60000));
			CHECK(block[i] != NULL, "malloc");
			*(uint8_t *)block[i] = (uint8_t)i;
		}
		for (unsigned i = 0; i < 20; i++)
			block[i] = hide(realloc(block[i], 100 + i));
		for (unsigned i = 0; i < 20; i++)
			free(block[i]);
	}
	check_purge();
	return argument;
}

static void test_small(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	/* musl's least is 2 KiB, which would be gone before the allocator is asked anything. */
	size_t least = PTHREAD_STACK_MIN < 16384 ? 16384 : (size_t)PTHREAD_STACK_MIN;
	CHECK(pthread_attr_setstacksize(&attributes, least) == 0, "stack size");
	for (unsigned i = 0; i < 50; i++) {
		pthread_t thread;

		CHECK(pthread_create(&thread, &attributes, small_body, NULL) == 0, "pthread_create");
		check_join(thread);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	check_allocator();
	if (strcmp(mode, "alive") == 0)
		test_alive();
	else if (strcmp(mode, "storm") == 0)
		test_storm();
	else if (strcmp(mode, "sleepers") == 0)
		test_sleepers();
	else if (strcmp(mode, "main-exits") == 0)
		test_main_exits();
	else if (strcmp(mode, "exit") == 0)
		test_end(false);
	else if (strcmp(mode, "abort") == 0)
		test_end(true);
	else if (strcmp(mode, "cancel") == 0)
		test_cancel();
	else if (strcmp(mode, "small") == 0)
		test_small();
	else
		CHECK(false, "unknown mode '%s'", mode);
	return 0;
}
