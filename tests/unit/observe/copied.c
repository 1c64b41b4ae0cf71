/* Pages that a fork and its parent each have a copy of. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "observe/copied.h"

#define BYTES ((size_t)8 << 20)
/* Stacks, the heap and zeroed data of a program that does nothing else. */
#define SLACK ((uint64_t)1 << 20)

static char *pages(void)
{
	char *all = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(all != MAP_FAILED);
	memset(all, 1, BYTES);
	return all;
}

static pid_t forked(void)
{
	pid_t child = fork();

	if (child == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	CHECK(child > 0);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST(copied_when_written)
{
	char *all = pages();
	pid_t child = forked();
	uint64_t before = 0, half = 0, again = 0;

	CHECK_EQ(ebbi_copied_bytes(getpid(), child, &before), 0);
	memset(all, 2, BYTES / 2);
	CHECK_EQ(ebbi_copied_bytes(getpid(), child, &half), 0);
	memset(all, 3, BYTES / 2);
	CHECK_EQ(ebbi_copied_bytes(getpid(), child, &again), 0);
	end(child);
	munmap(all, BYTES);
	CHECK(before < SLACK);
	CHECK(half >= BYTES / 2 && half < BYTES / 2 + SLACK);
	CHECK(again >= half && again < half + SLACK);
}

TEST(another_program_is_no_fork)
{
	pid_t child = fork();
	int error = 0;
	uint64_t bytes = 7;

	if (child == 0) {
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	/* Until it has exec'ed it is a fork. */
	for (int i = 0; i < 2000; i++) {
		error = ebbi_copied_bytes(getpid(), child, &bytes);
		if (error == -ENOENT)
			break;
		usleep(1000);
	}
	end(child);
	CHECK_EQ(error, -ENOENT);
	CHECK_EQ(ebbi_copied_bytes(getpid(), child, &bytes), -ESRCH);
}

int main(void)
{
	RUN(copied_when_written);
	RUN(another_program_is_no_fork);
	return check_report();
}
