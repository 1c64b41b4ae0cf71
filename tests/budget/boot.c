/*
 * What a process pays for having the library at all: anonymous memory of an empty process and of one
 * that called malloc once, with and without the library, alternating.
 *
 *   boot LIBRARY             the driver, not run under the library itself
 *   boot (empty|one) CHILD   the measured process
 */
#include "check.h"

#include <sys/wait.h>

#define RUNS 9

/* The goal is 64 KiB for an empty process (design: "What it must reach"). */
#define MOST_EMPTY_KIB 64
#define MOST_ONE_KIB 128

static long anonymous_kib(void)
{
	return proc_number("/proc/self/smaps_rollup", "Anonymous:");
}

static void measured(const char *mode)
{
	void *block = NULL;

	if (strcmp(mode, "one") == 0) {
		block = hide(malloc(100));
		memset(block, 1, 100);
	}
	check_note("%ld\n", anonymous_kib());
	if (block != NULL)
		free(block);
}

static long run_once(char *mode, const char *library)
{
	char self[] = "boot";
	char child_mark[] = "child";
	char *arguments[] = {self, mode, child_mark, NULL};
	char text[64];
	int fds[2];
	int status;

	CHECK(pipe2(fds, O_CLOEXEC) == 0, "pipe");
	pid_t child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0) {
		if (library != NULL)
			setenv("LD_PRELOAD", library, 1);
		dup2(fds[1], STDOUT_FILENO);
		execv("/proc/self/exe", arguments);
		_exit(127);
	}
	close(fds[1]);
	ssize_t length = read(fds[0], text, sizeof(text) - 1);
	close(fds[0]);
	CHECK(waitpid(child, &status, 0) == child && status == 0, "child: 0x%x", (unsigned)status);
	CHECK(length > 0, "the child said nothing");
	text[length] = 0;
	return strtol(text, NULL, 10);
}

static int compare(const void *left, const void *right)
{
	long a = *(const long *)left;
	long b = *(const long *)right;

	return (a > b) - (a < b);
}

static long compared(char *mode, const char *library)
{
	long with[RUNS];
	long without[RUNS];

	for (int i = 0; i < RUNS; i++) {
		without[i] = run_once(mode, NULL);
		with[i] = run_once(mode, library);
	}
	qsort(with, RUNS, sizeof(long), compare);
	qsort(without, RUNS, sizeof(long), compare);
	check_note("%s: anonymous memory %ld KiB under glibc, %ld KiB (%ld-%ld) with the library: %+ld\n", mode,
		   without[RUNS / 2], with[RUNS / 2], with[0], with[RUNS - 1], with[RUNS / 2] - without[RUNS / 2]);
	return with[RUNS / 2] - without[RUNS / 2];
}

int main(int argc, char **argv)
{
	char empty[] = "empty";
	char one[] = "one";

	CHECK(argc > 1, "usage: see the head of this file");
	if (argc > 2) {
		measured(argv[1]);
		return 0;
	}
	CHECK(!check_on_ebb(), "the driver runs without the library");
	long empty_kib = compared(empty, argv[1]);
	long one_kib = compared(one, argv[1]);
	CHECK(empty_kib <= MOST_EMPTY_KIB, "an empty process pays %ld KiB", empty_kib);
	CHECK(one_kib <= MOST_ONE_KIB, "a process with one malloc pays %ld KiB", one_kib);
	return 0;
}
