#include "observe/stopped.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define ROUNDS_MOST 16
/* A thread in the kernel may take long to come to its stop: we do not wait for it for ever. */
#define WAIT_NS 1000000
#define WAITS_MOST 500

static bool has(const struct stopped *stopped, pid_t thread)
{
	for (size_t i = 0; i < stopped->count; i++) {
		if (stopped->threads[i] == thread)
			return true;
	}
	return false;
}

/* Waits until the thread stands; -ESRCH: it ended. */
static int wait_for(pid_t thread)
{
	for (int i = 0; i < WAITS_MOST; i++) {
		struct timespec pause = {.tv_nsec = WAIT_NS};
		int status;
		pid_t got = waitpid(thread, &status, __WALL | WNOHANG);

		if (got == thread && WIFSTOPPED(status)) {
			/* A signal that came just now is put back where it was by the detach. */
			return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
		}
		if (got == thread || (got < 0 && errno == ECHILD))
			return -ESRCH;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

static int stop_one(struct stopped *stopped, pid_t thread)
{
	pid_t *more = realloc(stopped->threads, (stopped->count + 1) * sizeof(*more));
	int result;

	if (!more)
		return -ENOMEM;
	stopped->threads = more;
	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
		return -errno;
	while ((result = wait_for(thread)) > 0) {
		/* Stopped by a signal: it is delivered, and the interrupt, which is still due, stops it next. */
		if (ptrace(PTRACE_CONT, thread, NULL, (void *)(long)result) != 0)
			return -errno;
	}
	if (result == 0)
		stopped->threads[stopped->count++] = thread;
	return result;
}

/* *ret_new: a thread was stopped that was not before. */
static int stop_all(pid_t pid, struct stopped *stopped, bool *ret_new)
{
	char path[64];
	struct dirent *entry;
	DIR *directory;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_new = false;
	while (error == 0 && (entry = readdir(directory))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0 || has(stopped, thread))
			continue;
		error = stop_one(stopped, thread);
		*ret_new |= error == 0;
		/* A thread that ended meanwhile is no fault. */
		if (error == -ESRCH)
			error = 0;
	}
	closedir(directory);
	return error;
}

int ebbi_stopped_begin(pid_t pid, struct stopped *ret_stopped)
{
	bool any = true;
	int error = 0;

	*ret_stopped = (struct stopped){0};
	for (int round = 0; round < ROUNDS_MOST && any && error == 0; round++)
		error = stop_all(pid, ret_stopped, &any);
	if (error == 0 && ret_stopped->count == 0)
		error = -ESRCH;
	if (error != 0)
		ebbi_stopped_end(ret_stopped);
	return error;
}

void ebbi_stopped_end(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->count; i++)
		(void)ptrace(PTRACE_DETACH, stopped->threads[i], NULL, NULL);
	free(stopped->threads);
	*stopped = (struct stopped){0};
}
