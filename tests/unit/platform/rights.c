/*
 * A thread below the C library notices that the process's first thread changed its rights. Needs root. Raw system
 * calls change the rights of the first thread only, as setuid(3) does for a thread that it does not know.
 */
#include "platform/rights.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/build.h"
#include "check.h"
#include "fake_vm.h"
#include "platform/futex.h"
#include "platform/thread.h"

#define SOMEBODY 61234
#define UNCHANGED (-1)

enum { NOT_ASKED, ASKED, SAME, DIFFERENT, GONE };

static uint32_t word; /* what the two tell each other */
static bool is_plain;

static uint32_t wait_while(uint32_t value)
{
	while (ebbi_load_acquire(&word) == value)
		(void)ebbi_futex_wait(&word, value, 100000000);
	return ebbi_load_acquire(&word);
}

static void say(uint32_t value)
{
	ebbi_store_release(&word, value);
	ebbi_futex_wake(&word, 2);
}

/* The thread: answers until it is told to go. */
static void run(void *argument)
{
	struct ebbi_rights own = ebbi_rights_own();

	(void)argument;
	is_plain = own.plain;
	for (;;) {
		uint32_t now = ebbi_load_acquire(&word);

		if (now == GONE)
			return;
		if (now == ASKED)
			say(ebbi_rights_differ(&own) ? DIFFERENT : SAME);
		else
			(void)ebbi_futex_wait(&word, now, 100000000);
	}
}

static bool differ(void)
{
	say(ASKED);
	return wait_while(ASKED) == DIFFERENT;
}

static void set_users(int real, int effective, int saved)
{
	CHECK_EQ(syscall(SYS_setresuid, real, effective, saved), 0);
}

static void set_groups(int real, int effective, int saved)
{
	CHECK_EQ(syscall(SYS_setresgid, real, effective, saved), 0);
}

TEST(notices_each_change)
{
	uint32_t tid = 0;

	CHECK_EQ(geteuid(), 0u);
	fake_vm_reset(4096);
	CHECK_EQ(ebbi_thread_start(&fake_vm, run, NULL, &tid), 0);
	CHECK(!differ());
	/* Without capabilities it may ask the short way; a sanitized build's thread has its creator's. */
	CHECK_EQ(is_plain, !(EBBI_TSAN || EBBI_ASAN));
	set_users(UNCHANGED, SOMEBODY, UNCHANGED);
	CHECK(differ());
	set_users(UNCHANGED, 0, UNCHANGED);
	CHECK(!differ());
	set_groups(UNCHANGED, SOMEBODY, UNCHANGED);
	CHECK(differ());
	set_groups(UNCHANGED, 0, UNCHANGED);
	CHECK(!differ());
	/* The real and the saved user say nothing of what a thread may do now. */
	set_users(SOMEBODY, UNCHANGED, UNCHANGED);
	CHECK(!differ());
	set_users(0, UNCHANGED, SOMEBODY);
	CHECK(!differ());
	/* For good. */
	set_users(SOMEBODY, SOMEBODY, SOMEBODY);
	CHECK(differ());
	say(GONE);
}

/* Its own real user is another than its effective one: only /proc can tell. */
TEST(rights_that_are_not_plain)
{
	struct ebbi_rights own;

	set_users(SOMEBODY, UNCHANGED, UNCHANGED);
	own = ebbi_rights_own();
	CHECK(!own.plain);
	CHECK(!ebbi_rights_differ(&own));
	set_users(0, UNCHANGED, UNCHANGED);
}

int main(void)
{
	RUN(rights_that_are_not_plain);
	RUN(notices_each_change);
	return check_report();
}
