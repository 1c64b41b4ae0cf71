/*
 * The library's own thread is a guest in the process: it takes no signals, holds no capabilities, has a
 * name, and is not there after a fork.
 */
#include "churn.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static int wrong_thread; /* atomic, relaxed */

static void on_signal(int number)
{
	char name[32] = "";

	(void)number;
	prctl(PR_GET_NAME, name);
	if (strncmp(name, "ebb", 3) == 0)
		__atomic_store_n(&wrong_thread, 1, __ATOMIC_RELAXED);
}

/* The path of the library's thread's status; false when there is none. */
static bool find_guest(char *path, size_t size)
{
	char text[4096];
	DIR *tasks = opendir("/proc/self/task");
	bool found = false;

	CHECK(tasks != NULL, "/proc/self/task");
	for (struct dirent *task; !found && (task = readdir(tasks)) != NULL;) {
		if (task->d_name[0] == '.')
			continue;
		snprintf(path, size, "/proc/self/task/%.20s/status", task->d_name);
		found = proc_read(path, text, sizeof(text)) > 0 && strstr(text, "Name:\tebb") == text;
	}
	closedir(tasks);
	return found;
}

/* It names itself when it first runs, which may take a while on a busy machine. */
static bool wait_for_guest(char *path, size_t size)
{
	for (unsigned i = 0; i < 500; i++) {
		if (find_guest(path, size))
			return true;
		sleep_ms(10);
	}
	return false;
}

static unsigned long long status_hex(const char *path, const char *key)
{
	char text[4096];

	CHECK(proc_read(path, text, sizeof(text)) > 0, "%s", path);
	const char *found = strstr(text, key);
	CHECK(found != NULL, "%s has no %s", path, key);
	return strtoull(found + strlen(key), NULL, 16);
}

static void check_guest(const char *path)
{
	unsigned long long blocked = status_hex(path, "SigBlk:");
	unsigned long long least = ~0ull & ~(1ull << (SIGKILL - 1)) & ~(1ull << (SIGSTOP - 1));

	CHECK((blocked & least) == least, "it blocks 0x%llx", blocked);
	for (unsigned i = 0; i < 500 && status_hex(path, "CapPrm:") != 0; i++)
		sleep_ms(10); /* it has just started */
	CHECK(status_hex(path, "CapEff:") == 0, "it has capabilities 0x%llx", status_hex(path, "CapEff:"));
	CHECK(status_hex(path, "CapPrm:") == 0, "it may have capabilities 0x%llx", status_hex(path, "CapPrm:"));
}

static void use_much(void)
{
	struct churn churn;

	for (unsigned i = 0; i < 10; i++)
		free(hide(memset(hide(malloc(1 << 20)), 1, 1 << 20)));
	churn_init(&churn, 1, 18);
	churn_steps(&churn, 20000);
	churn_free_all(&churn);
}

/* With the signal blocked in the program's own threads it must stay pending. */
static void check_signals(void)
{
	sigset_t set;
	sigset_t pending;

	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	sleep_ms(100);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGUSR1), "somebody else took the signal");
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (unsigned i = 0; i < 1000; i++)
		kill(getpid(), SIGUSR1);
	CHECK(!wrong_thread, "a handler ran on the library's thread");
}

int main(void)
{
	char path[64];
	int status;

	check_allocator();
	use_much();
	CHECK(wait_for_guest(path, sizeof(path)), "the library has a thread after 10 MiB were freed");
	check_guest(path);
	check_signals();
	pid_t child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0) {
		CHECK(!find_guest(path, sizeof(path)), "no thread comes along through a fork");
		use_much();
		CHECK(wait_for_guest(path, sizeof(path)), "the child has a thread of its own");
		check_guest(path);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0, "child: 0x%x", (unsigned)status);
	return 0;
}
