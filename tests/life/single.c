/*
 * A process that used little memory is still of one thread: the scavenger starts when about 1 MiB is
 * owed, not before. unshare(CLONE_NEWUSER) and setns ask for that.
 */
#include "stats.h"

#include <sched.h>

int main(void)
{
	void *block[400];

	check_allocator();
	for (unsigned round = 0; round < 2; round++) { /* 800 KB in all */
		for (unsigned i = 0; i < 400; i++) {
			block[i] = hide(malloc(1 + i * 5));
			CHECK(block[i] != NULL, "malloc");
			memset(block[i], 1, 1 + i * 5);
		}
		for (unsigned i = 0; i < 400; i++)
			free(block[i]);
	}
	CHECK(proc_status("Threads:") == 1, "%ld threads", proc_status("Threads:"));
	if (unshare(CLONE_NEWUSER) != 0) {
		/* A container may forbid it altogether; a second thread would give EINVAL. */
		CHECK(errno == EPERM || errno == ENOSPC, "unshare");
		check_note("unshare(CLONE_NEWUSER) is not allowed here\n");
	}
	sleep_ms(1500);
	CHECK(proc_status("Threads:") == 1, "%ld threads after a while", proc_status("Threads:"));
	return 0;
}
