#include "platform/clock.h"

#include <sys/syscall.h>
#include <time.h>

#include "base/atomic.h"
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

uint64_t ebbi_clock_now_quick_ns(void)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ebbi_clock_thread_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool ebbi_clock_turn_try(uint64_t *last_ns, uint64_t every_ns)
{
	uint64_t now_ns = ebbi_clock_now_ns();
	uint64_t last = ebbi_load_relaxed(last_ns);

	return (last == 0 || now_ns - last >= every_ns) && ebbi_cas_relaxed(last_ns, &last, now_ns);
}
