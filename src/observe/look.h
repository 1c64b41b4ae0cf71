/*
 * look.h: one look at a process: everything that is known of its memory from outside.
 *
 * Owns: nothing between calls but the address where the snapshot was found.
 * Never: stops or changes the process.
 * Threading: one thread.
 * Errors: -ESRCH: it is gone. -EACCES, -EPERM: it may not be looked at. A part that is missing says so in its own field.
 */
#ifndef EBBI_OBSERVE_LOOK_H
#define EBBI_OBSERVE_LOOK_H

#include <ebb/ebb.h>

#include "observe/cgroup.h"
#include "observe/holdings.h"
#include "observe/procread.h"

struct look {
	pid_t pid;
	uint64_t at_ns;   /* monotonic */
	uint64_t took_ns; /* to look */
	int64_t at_unix;
	char command[64];
	struct proc_status status;
	struct proc_stat stat;
	struct holdings holdings;
	struct cgroup_figures cgroup;
	bool has_sockets;
	size_t sockets; /* descriptors that are one */
	/* 0: `snapshot` is there; -ENOENT: not under Ebb; -EPROTO: another layout; others as ebbi_snapshot_read. */
	int snapshot_error;
	uint32_t snapshot_version;
	struct ebb_snapshot snapshot;
	uint64_t heap_moved_bytes; /* how far the heap's resident bytes moved while the mappings were read */
};

struct looker {
	pid_t pid;
	const char *library;       /* file name of the libebb to look for; NULL: the usual one */
	uint64_t start_ticks;      /* which tells the process from a later one of the same number; 0: not looked yet */
	uint64_t snapshot_address; /* 0: not found yet */
	unsigned looks;
};

int ebbi_look(struct looker *looker, struct look *ret_look);

#endif
