/*
 * spawn.h: the processes an experiment starts: the command and the load.
 *
 * Owns: nothing once a function has returned; the caller waits for every pid.
 * Never: uses vfork or posix_spawn for the command: the child would inherit our whole image as its
 * high-water mark (see docs/decisions/0003-measuring-peak.md).
 * Threading: one thread; forks.
 * Errors: negative errno.
 *
 * The caller has blocked the signals it watches; `mask` is what the command gets instead.
 */
#ifndef EBBI_LAB_SPAWN_H
#define EBBI_LAB_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lab/allocator.h"

/* All of it, however often write(2) is interrupted; false when it cannot be. */
bool ebbi_write_all(int fd, const char *bytes, size_t length);

struct spawn_plan {
	char *const *argv;
	const struct environment *environment;
	int stdout_fd; /* -1: as ours */
	int stderr_fd;
	const sigset_t *mask;
};

struct spawned {
	pid_t pid;
	int exec_errno;       /* 0: the command runs */
	uint64_t floor_bytes; /* the child's high-water mark just before exec: ru_maxrss is never less */
};

int ebbi_spawn_command(const struct spawn_plan *plan, struct spawned *ret_spawned);

/*
 * The load: `command` through sh, under a guard that is a subreaper of its own, so that what the
 * load leaves behind never looks like a child of the server. The guard writes one
 * struct load_report to *ret_report_fd when the shell has ended. It stays until *ret_hold_fd is
 * closed, then ends what the load has left running, and exits.
 */
struct load_report {
	int status; /* as wait(2) gives it */
};
struct load_plan {
	const char *command;
	int (*function)(void *context); /* not NULL: runs in the shell's place, and returns its exit code */
	void *context;
	int stdout_fd; /* -1: as ours */
	int stderr_fd;
	const struct environment *environment;
	const sigset_t *mask;
};
int ebbi_spawn_load(const struct load_plan *plan, pid_t *ret_guard, int *ret_report_fd, int *ret_hold_fd);

#endif
