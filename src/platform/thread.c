#include "platform/thread.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/build.h"
#include "platform/syscall.h"

/* Stack, then room for thread-local variables on both sides of the thread pointer. */
#define STACK_BYTES ((size_t)128 << 10)
#define LOCALS_BYTES ((size_t)64 << 10)

/* What the new thread needs; at the top of its own stack. */
struct start {
	void (*run)(void *);
	void *argument;
};

/* The thread shares the process's memory but needs none of its rights. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	struct __user_cap_data_struct none[2] = {{0}};

	(void)ebbi_syscall2(SYS_capset, (long)&header, (long)none);
}

static int bare_main(void *argument)
{
	const struct start *start = argument;

	(void)ebbi_syscall5(SYS_prctl, PR_SET_NAME, (long)"ebb-scavenger", 0, 0, 0);
	drop_capabilities();
	start->run(start->argument);
	return 0;
}

/* Of the last thread, which is gone when the next one starts; guarded by the caller, see the header. */
static void *bare_area;

static int start_bare(const struct ebbi_vm *vm, void (*run)(void *), void *argument, uint32_t *tid)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	char *area;
	char *locals;
	struct start *start;
	int saved = errno;
	int error = 0;

	if (bare_area == NULL)
		error = vm->map(STACK_BYTES + 2 * LOCALS_BYTES, ebbi_vm_page_bytes(), &bare_area);
	if (error != 0)
		return error;
	area = bare_area;
	locals = area + STACK_BYTES + LOCALS_BYTES;
	*(void **)(void *)locals = locals; /* x86-64: the thread pointer points to itself */
	start = (struct start *)(void *)(area + STACK_BYTES - 64);
	*start = (struct start){.run = run, .argument = argument};
	if (clone(bare_main, area + STACK_BYTES - 128, flags, start, tid, locals, tid) < 0) {
		error = -errno;
		errno = saved;
	}
	return error;
}

static void *pthread_main(void *argument)
{
	struct start start = *(struct start *)argument;

	start.run(start.argument);
	return NULL;
}

static int start_pthread(void (*run)(void *), void *argument, uint32_t *tid)
{
	static struct start start;
	pthread_t thread;
	int error;

	start = (struct start){.run = run, .argument = argument};
	error = pthread_create(&thread, NULL, pthread_main, &start);
	if (error != 0)
		return -error;
	(void)pthread_detach(thread);
	ebbi_store_relaxed(tid, 1u);
	return 0;
}

int ebbi_thread_start(const struct ebbi_vm *vm, void (*run)(void *), void *argument, uint32_t *tid)
{
	uint64_t mask;
	int error;

	ebbi_signals_block(&mask);
	if (EBBI_TSAN || EBBI_ASAN)
		error = start_pthread(run, argument, tid);
	else
		error = start_bare(vm, run, argument, tid);
	ebbi_signals_restore(&mask);
	return error;
}

void ebbi_thread_yield(void)
{
	(void)ebbi_syscall0(SYS_sched_yield);
}

uint32_t ebbi_thread_process_id(void)
{
	return (uint32_t)ebbi_syscall0(SYS_getpid);
}

void ebbi_signals_block(uint64_t *ret_mask)
{
	const uint64_t all = UINT64_MAX;

	(void)ebbi_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)ret_mask, sizeof(*ret_mask));
}

void ebbi_signals_restore(const uint64_t *mask)
{
	(void)ebbi_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)mask, 0, sizeof(*mask));
}
