/*
 * daemon.c: becomes a daemon the old way, then works.
 *
 *   daemon RESULT
 *
 * Forks twice with setsid between, moves to /, closes every descriptor it has, and only then allocates in
 * three threads, forks a child that does the same, and runs a program. RESULT gets one line, renamed into
 * place when it is whole: `pid=N faults=N child=N exec=N`. The daemon lives until somebody, who has looked at it by then,
 * removes that file, and a minute at most.
 */
#include "work.h"
#include <fcntl.h>
#include <sys/wait.h>

static int in_child(const char *program)
{
	int status = -1;
	pid_t child = fork();

	if (child < 0)
		return -1;
	if (child == 0) {
		if (program)
			execl(program, program, (char *)NULL);
		_exit(work_in_threads(2) == 0 ? 0 : 1);
	}
	if (waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + status;
}

static void become_daemon(void)
{
	for (int round = 0; round < 2; round++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(2);
		if (pid > 0)
			_exit(0);
		if (round == 0 && setsid() < 0)
			_exit(2);
	}
	if (chdir("/") != 0)
		_exit(2);
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
}

int main(int argc, char **argv)
{
	char temporary[4096];
	unsigned long faults;
	int child, executed;
	FILE *result;

	if (argc != 2)
		return 2;
	faults = work_in_threads(2); /* so that there is a cache and perhaps a thread to lose */
	become_daemon();
	faults += work_in_threads(3);
	child = in_child(NULL);
	executed = in_child("/bin/true");
	snprintf(temporary, sizeof(temporary), "%s.new", argv[1]);
	result = fopen(temporary, "w");
	if (!result)
		return 2;
	fprintf(result, "pid=%d faults=%lu child=%d exec=%d\n", (int)getpid(), faults, child, executed);
	if (fclose(result) != 0 || rename(temporary, argv[1]) != 0)
		return 2;
	for (int tick = 0; tick < 600 && access(argv[1], F_OK) == 0; tick++)
		usleep(100000);
	return 0;
}
