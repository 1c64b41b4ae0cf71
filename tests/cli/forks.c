/*
 * forks: a tree that changes all the time, for the tests of `ebb run`.
 *
 *   forks SHARED CHILDREN PRIVATE SECONDS
 *
 * Writes SHARED MiB, then starts CHILDREN processes that write PRIVATE MiB each, and one orphan
 * (its parent ends at once) that writes as much. Meanwhile children that end at once come and go.
 * After SECONDS all are ended, the orphan by the launcher's care.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB 1048576u

static void write_mib(long mib)
{
	static char *block; /* kept for good */

	block = malloc((size_t)mib * MIB + 1);

	if (!block)
		_exit(99);
	memset(block, 1, (size_t)mib * MIB + 1);
}

static pid_t child(long mib)
{
	pid_t pid = fork();

	if (pid == 0) {
		write_mib(mib);
		for (;;)
			pause();
	}
	return pid;
}

int main(int argc, char **argv)
{
	pid_t pids[64];
	time_t end;
	int count;

	if (argc != 5)
		return 98;
	write_mib(atol(argv[1]));
	count = atoi(argv[2]) < 64 ? atoi(argv[2]) : 64;
	for (int i = 0; i < count; i++)
		pids[i] = child(atol(argv[3]));
	if (fork() == 0) {
		child(atol(argv[3]));
		_exit(0);
	}
	end = time(NULL) + atol(argv[4]);
	while (time(NULL) < end) {
		if (fork() == 0)
			_exit(0);
		usleep(3000);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	for (int i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
