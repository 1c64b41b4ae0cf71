/* Threads below the C library, and signals kept out for a while. */
#include "platform/thread.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/build.h"
#include "check.h"
#include "fake_vm.h"
#include "platform/clock.h"
#include "platform/futex.h"

static uint32_t started;
static uint64_t mask_inside;
static struct ebbi_lock lock = EBBI_LOCK_INIT(EBBI_RANK_META);

static void run(void *argument)
{
	/* Locks work there, also in checked builds, whose ranks are thread-local. */
	ebbi_lock_acquire(&lock);
	ebbi_lock_release(&lock);
	ebbi_signals_block(&mask_inside);
	ebbi_store_release(&started, *(uint32_t *)argument);
	ebbi_futex_wake(&started, 1);
}

TEST(refused_memory)
{
	uint32_t argument = 1;
	uint32_t tid = 0;

	if (EBBI_TSAN || EBBI_ASAN)
		return; /* a pthread there */
	fake_vm_reset(4096);
	fake_vm_refuse(FAKE_MAP, 0, 1);
	CHECK_EQ(ebbi_thread_start(&fake_vm, run, &argument, &tid), -ENOMEM);
	CHECK_EQ(tid, 0u);
}

TEST(start_and_end)
{
	uint32_t argument = 77;
	uint32_t tid = 0;

	fake_vm_reset(4096);
	CHECK_EQ(ebbi_thread_start(&fake_vm, run, &argument, &tid), 0);
	while (ebbi_load_acquire(&started) == 0)
		(void)ebbi_futex_wait(&started, 0, 100000000);
	CHECK_EQ(ebbi_load_acquire(&started), 77u);
	if (EBBI_TSAN || EBBI_ASAN)
		return; /* a pthread there */
	/* Every signal is blocked, and the kernel tells when it is gone. */
	CHECK_EQ(mask_inside | UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1), UINT64_MAX);
	for (unsigned i = 0; i < 1000 && ebbi_load_acquire(&tid) != 0; i++)
		(void)usleep(10000);
	CHECK_EQ(ebbi_load_acquire(&tid), 0u);
	/* The next one runs where the last one did. */
	fake_vm_refuse(FAKE_MAP, 0, 1);
	ebbi_store_release(&started, 0);
	argument = 78;
	CHECK_EQ(ebbi_thread_start(&fake_vm, run, &argument, &tid), 0);
	while (ebbi_load_acquire(&started) == 0)
		(void)ebbi_futex_wait(&started, 0, 100000000);
	CHECK_EQ(ebbi_load_acquire(&started), 78u);
}

static volatile sig_atomic_t arrived;

static void handler(int number)
{
	(void)number;
	arrived++;
}

TEST(blocked_signals)
{
	uint64_t mask;
	uint64_t inner;

	(void)signal(SIGUSR1, handler);
	ebbi_signals_block(&mask);
	ebbi_signals_block(&inner);
	(void)raise(SIGUSR1);
	CHECK_EQ(arrived, 0);
	ebbi_signals_restore(&inner);
	CHECK_EQ(arrived, 0);
	ebbi_signals_restore(&mask);
	/* Sanitizers hold a signal back until the next call they know. */
	for (unsigned i = 0; i < 1000 && arrived == 0; i++)
		(void)usleep(1000);
	CHECK_EQ(arrived, 1);
}

TEST(identity_and_time)
{
	uint64_t then = ebbi_clock_now_ns();

	CHECK_EQ(ebbi_thread_process_id(), (uint32_t)getpid());
	ebbi_thread_yield();
	CHECK_GT(then, 0u);
	CHECK_GE(ebbi_clock_now_ns(), then);
}

int main(void)
{
	RUN(refused_memory); /* first: memory is mapped once */
	RUN(start_and_end);
	RUN(blocked_signals);
	RUN(identity_and_time);
	return check_report();
}
