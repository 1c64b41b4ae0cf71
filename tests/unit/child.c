#include "child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's end of it. */
static _Noreturn void run(void (*body)(void *), void *argument, int stderr_fd)
{
	const struct rlimit no_core = {0, 0};

	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)dup2(stderr_fd, STDERR_FILENO);
	(void)alarm(30);
	body(argument);
	_exit(0);
}

/* An emulator says that its program died; that line is not the child's. */
static void drop_emulators_line(char *text)
{
	char *line = strstr(text, "qemu: uncaught target signal");
	char *end = line == NULL ? NULL : strchr(line, '\n');

	if (end != NULL)
		memmove(line, end + 1, strlen(end + 1) + 1);
}

int child_run(void (*body)(void *), void *argument, char *ret_text, size_t capacity)
{
	size_t length = 0;
	int ends[2];
	int status;
	ssize_t got;
	pid_t pid;

	fflush(NULL);
	if (pipe(ends) != 0)
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0)
		run(body, argument, ends[1]);
	(void)close(ends[1]);
	while (length < capacity - 1 && (got = read(ends[0], ret_text + length, capacity - 1 - length)) > 0)
		length += (size_t)got;
	ret_text[length] = '\0';
	drop_emulators_line(ret_text);
	(void)close(ends[0]);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
