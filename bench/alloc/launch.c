/*
 * launch: runs one program with a preloaded library and says what it cost.
 *
 *   launch [-p LIBRARY] [-e NAME=VALUE]... [-t SECONDS] -- PROGRAM [ARG]...
 *
 * It is small so that nothing of it shows in the child's figures (ru_maxrss of a
 * child starts at the size of the process that forked it), and it sets the preload
 * for the child alone. The child's output passes through; one line of JSON with
 * times from wait4 follows it. Exits with the child's status, 128 + signal, or
 * 125 when it could not start or the time was up.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t child; /* written before the alarm is set, read by its handler */
static volatile sig_atomic_t timed_out;

static void on_alarm(int sig)
{
	(void)sig;
	timed_out = 1;
	kill(child, SIGKILL);
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static int usage(void)
{
	fputs("usage: launch [-p LIBRARY] [-e NAME=VALUE]... [-t SECONDS] -- PROGRAM [ARG]...\n", stderr);
	return 125;
}

static int wait_and_tell(unsigned long long start)
{
	struct rusage u;
	int status;

	while (wait4(child, &status, 0, &u) < 0)
		if (errno != EINTR)
			return 125;
	printf("{\"launch\":1,\"wall_ns\":%llu,\"user_us\":%lld,\"sys_us\":%lld,\"minflt\":%ld,"
	       "\"majflt\":%ld,\"maxrss_kib\":%ld,\"switches\":%ld}\n",
	       now_ns() - start, (long long)u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec,
	       (long long)u.ru_stime.tv_sec * 1000000 + u.ru_stime.tv_usec, u.ru_minflt, u.ru_majflt, u.ru_maxrss,
	       u.ru_nvcsw);
	if (timed_out) {
		fputs("launch: the time was up\n", stderr);
		return 125;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const char *preload = NULL;
	unsigned seconds = 120;
	unsigned long long start;
	int opt;

	while ((opt = getopt(argc, argv, "+p:e:t:")) != -1) {
		if (opt == 'p')
			preload = optarg;
		else if (opt == 't')
			seconds = (unsigned)strtoul(optarg, NULL, 10);
		else if (opt != 'e' || strchr(optarg, '=') == NULL || putenv(optarg) != 0)
			return usage();
	}
	if (optind >= argc || seconds == 0)
		return usage();
	start = now_ns();
	child = fork();
	if (child < 0) {
		perror("launch: fork");
		return 125;
	}
	if (child == 0) {
		if (preload != NULL && setenv("LD_PRELOAD", preload, 1) != 0)
			_exit(125);
		execv(argv[optind], argv + optind);
		perror("launch: exec");
		_exit(125);
	}
	signal(SIGALRM, on_alarm);
	alarm(seconds);
	return wait_and_tell(start);
}
