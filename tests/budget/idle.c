/*
 * An idle process wakes nobody once nothing is left to give back. The driver watches the context
 * switches of every thread of a child that worked, freed, and sleeps without a timeout.
 *
 *   idle LIBRARY [EBB_CONF [forked]]
 *   idle work CHILD [forked]     the measured process; forked: a child of it, made while it gives back
 */
#include "churn.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void *worker(void *argument)
{
	struct churn churn;

	churn_init(&churn, (uintptr_t)argument, 18);
	churn_steps(&churn, 20000);
	churn_free_all(&churn);
	pause();
	return NULL;
}

static void work(void)
{
	enum { BLOCKS = 200000 };
	static void *block[BLOCKS];

	for (uintptr_t i = 0; i < 4; i++)
		check_thread(worker, (void *)(i + 1));
	for (unsigned i = 0; i < BLOCKS; i++)
		block[i] = hide(malloc(300));
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
	for (unsigned i = 0; i < 20; i++)
		free(hide(memset(hide(malloc(3 << 20)), 1, 3 << 20)));
	check_note("%d\n", (int)getpid());
	pause();
}

static void *give_back_always(void *argument)
{
	enum { BLOCKS = 20000 };
	static void *block[BLOCKS];

	for (;;) {
		for (unsigned i = 0; i < BLOCKS; i++)
			block[i] = hide(malloc(i % 8 == 0 ? 3000 : 200));
		for (unsigned i = 0; i < BLOCKS; i++)
			free(block[i]);
		check_purge();
	}
	return argument;
}

/* The parent gives memory back all the time; the last of many children rests. */
static void fork_and_work(void)
{
	check_thread(give_back_always, NULL);
	for (unsigned i = 0; i < 30; i++) {
		pid_t child = fork();

		CHECK(child >= 0, "fork");
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (i == 29)
				work();
			_exit(0);
		}
		if (i < 29)
			waitpid(child, NULL, 0);
	}
	pause();
}

/* The sum of all context switches of all threads; *ret_threads counts them. */
static long switches(pid_t child, unsigned *ret_threads)
{
	char path[300];
	long sum = 0;

	*ret_threads = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)child);
	DIR *tasks = opendir(path);
	CHECK(tasks != NULL, "%s", path);
	for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)child, task->d_name);
		long voluntary = proc_number(path, "\nvoluntary_ctxt_switches:");
		long forced = proc_number(path, "nonvoluntary_ctxt_switches:");

		CHECK(voluntary >= 0 && forced >= 0, "%s", path);
		sum += voluntary + forced;
		++*ret_threads;
	}
	closedir(tasks);
	return sum;
}

/* Waits for a quiet second (debts are paid), then wants three more. */
static void watch(pid_t child)
{
	unsigned threads;
	unsigned seconds = 0;
	long before = switches(child, &threads);

	for (;; seconds++) {
		CHECK(seconds < 30, "never quiet for a second");
		sleep_ms(1000);
		long after = switches(child, &threads);
		if (after == before && seconds >= 2)
			break;
		before = after;
	}
	sleep_ms(3000);
	long later = switches(child, &threads);
	check_note("quiet after %u s; %u threads; %ld wakeups in the 3 s after that\n", seconds, threads,
		   later - before);
	CHECK(later == before, "%ld wakeups in 3 s", later - before);
}

int main(int argc, char **argv)
{
	char self[] = "idle";
	char mode[] = "work";
	char mark[] = "child";
	char forked[] = "forked";
	char *arguments[] = {self, mode, mark, argc > 3 ? forked : NULL, NULL};
	char text[16];
	int fds[2];

	CHECK(argc > 1, "usage: see the head of this file");
	if (strcmp(argv[1], "work") == 0) {
		if (argc > 3)
			fork_and_work();
		work();
		return 0;
	}
	CHECK(pipe2(fds, O_CLOEXEC) == 0, "pipe");
	pid_t child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0) {
		setenv("LD_PRELOAD", argv[1], 1);
		if (argc > 2)
			setenv("EBB_CONF", argv[2], 1);
		dup2(fds[1], STDOUT_FILENO);
		execv("/proc/self/exe", arguments);
		_exit(127);
	}
	close(fds[1]);
	ssize_t length = read(fds[0], text, sizeof(text) - 1);
	CHECK(length > 0, "the child did not finish its work");
	text[length] = 0;
	watch((pid_t)strtol(text, NULL, 10));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
