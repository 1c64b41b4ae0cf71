/*
 * What a thread costs that allocated something and sleeps: at once, and after its cache was emptied for
 * it. 1000 threads, so that a page per thread is 4 MiB. First each does what most threads of most pools do,
 * a few operations; then each goes on for a hundred.
 */
#include "check.h"

#define THREADS 1000
#define FEW 8     /* operations that need no cache of the thread's own (heap/inside.c) */
#define MANY 100u /* and these make one: a page, and a control block of 64 bytes that stays */

/* Goals: 4 KiB and 0 (design: "What it must reach"), with slack for the pages of descriptors. */
#define MOST_FEW_KIB 0.25
#define MOST_MANY_KIB 4.25
#define MOST_DRAINED_KIB 0.125

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

static void operate(unsigned operations)
{
	for (unsigned i = 0; i < operations / 2; i++)
		free(hide(malloc(100)));
}

static void *body(void *argument)
{
	touch_stack();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	operate(FEW);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	operate(MANY);
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

/* Let all threads take their next step, and see what it cost each. */
static double step_kib(long before)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return (double)(anonymous_kib() - before) / THREADS;
}

static double drained_kib(long before)
{
	double each = 0;

	for (unsigned i = 0; i < 8; i++) {
		sleep_ms(1000);
		each = (double)(anonymous_kib() - before) / THREADS;
		if (each <= MOST_DRAINED_KIB)
			break;
	}
	return each;
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
	double few = step_kib(before);
	double many = step_kib(before);
	double drained = drained_kib(before);
	check_note("%d threads, %ld KiB before; KiB each: %.3f after %d operations, %.3f after %u more, %.3f drained\n",
		   THREADS, before, few, FEW, many, MANY, drained);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < THREADS; i++)
		check_join(thread[i]);
	CHECK(few <= MOST_FEW_KIB, "%.2f KiB a thread after %d operations", few, FEW);
	CHECK(many <= MOST_MANY_KIB, "%.2f KiB a thread", many);
	CHECK(drained <= MOST_DRAINED_KIB, "%.2f KiB a thread after the drain", drained);
	return 0;
}
