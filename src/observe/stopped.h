/*
 * stopped.h: a process that stands still while it is looked at, because its owner asked for that.
 *
 * Owns: nothing in the process but that it is traced; ebbi_stopped_end lets it go on.
 * Never: sends a signal. If we die, however, the kernel detaches and the process goes on: a tracer's end does that.
 * Threading: the thread that stopped it looks at it and ends it.
 * Errors: -EPERM: it may not be traced, or somebody else traces it; -ESRCH: it is gone. Nothing is left stopped then.
 */
#ifndef EBBI_OBSERVE_STOPPED_H
#define EBBI_OBSERVE_STOPPED_H

#include <stddef.h>
#include <sys/types.h>

struct stopped {
	pid_t *threads;
	size_t count;
};

/* Stops every thread, those too that are made meanwhile. */
int ebbi_stopped_begin(pid_t pid, struct stopped *ret_stopped);
void ebbi_stopped_end(struct stopped *stopped);

#endif
