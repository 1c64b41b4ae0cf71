#include "platform/clock.h"

#include <sys/syscall.h>
#include <time.h>

#include "platform/syscall.h"

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now = {0, 0};

	/* The raw call: the scavenger runs without the C library's thread state. */
	(void)ebbi_syscall2(SYS_clock_gettime, clock, (long)&now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ebbi_clock_now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t ebbi_clock_thread_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
