/*
 * What a thread costs that allocated something and sleeps: at once, and after its cache was emptied for
 * it. 1000 threads, so that a page per thread is 4 MiB.
 */
#include "check.h"

#define THREADS 1000

/* Goals: 4 KiB and 0 (design: "What it must reach"); the rest is slack for pages of descriptors. */
#define MOST_AT_ONCE_KIB 8.0
#define MOST_DRAINED_KIB 0.5

static pthread_barrier_t barrier;

static long anonymous_kib(void)
{
	return proc_number("/proc/self/smaps_rollup", "Anonymous:");
}

/* The stack's own pages shall not be counted: touch what malloc may need of it. */
static void touch_stack(void)
{
	volatile char bytes[12288];

	for (size_t i = 0; i < sizeof(bytes); i += 1024)
		bytes[i] = 1;
	hide((void *)(uintptr_t)bytes);
}

static void *body(void *argument)
{
	touch_stack();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	free(hide(malloc(100)));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return argument;
}

/* The library's own thread starts when a process owes 1 MiB; that some thread did that is the rule. */
static void start_giving_back(void)
{
	for (unsigned i = 0; i < 8; i++)
		free(hide(memset(hide(malloc(1 << 20)), 1, 1 << 20)));
	for (unsigned i = 0; i < 20; i++) {
		void *block[500];

		for (unsigned k = 0; k < 500; k++)
			block[k] = hide(malloc(1000));
		for (unsigned k = 0; k < 500; k++)
			free(block[k]);
	}
	check_purge();
}

int main(void)
{
	static pthread_t thread[THREADS];
	pthread_attr_t attributes;

	check_allocator();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], &attributes, body, NULL) == 0, "pthread_create");
	pthread_barrier_wait(&barrier);
	start_giving_back();
	long before = anonymous_kib();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	long at_once = anonymous_kib();
	long drained = at_once;
	for (unsigned i = 0; i < 8; i++) {
		sleep_ms(1000);
		drained = anonymous_kib();
		if ((double)(drained - before) / THREADS <= MOST_DRAINED_KIB)
			break;
	}
	double at_once_each = (double)(at_once - before) / THREADS;
	double drained_each = (double)(drained - before) / THREADS;
	check_note("%d threads: %ld KiB before, %ld after one malloc each, %ld drained; %.2f and %.2f KiB each\n",
		   THREADS, before, at_once, drained, at_once_each, drained_each);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < THREADS; i++)
		check_join(thread[i]);
	CHECK(at_once_each <= MOST_AT_ONCE_KIB, "%.2f KiB a thread", at_once_each);
	CHECK(drained_each <= MOST_DRAINED_KIB, "%.2f KiB a thread after the drain", drained_each);
	return 0;
}
