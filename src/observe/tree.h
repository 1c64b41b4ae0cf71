/*
 * tree.h: the processes that descend from one command.
 *
 * Owns: the list of processes seen alive and an open statm for each of the first 256.
 * Never: signals or waits for anybody.
 * Threading: one thread.
 * Errors: negative errno; a process that went away between two looks is normal and no error.
 *
 * The launcher must be a child subreaper: what loses its parent then becomes the launcher's child
 * and stays visible. A process belongs to the tree when its parent does or is the launcher; it
 * belongs until it dies, whoever its parent becomes. The launcher's own helpers, and children it
 * had before, are excluded by pid. New processes are noticed by the kernel's "newest pid" (/proc/loadavg), so that a tree that
 * does not fork costs one small read a look. Where that file does not tell (some sandboxes), all of
 * /proc is read, at most five times a second.
 *
 * Invariant: no pid is twice in the list; the main process, while alive, is in it.
 */
#ifndef EBBI_OBSERVE_TREE_H
#define EBBI_OBSERVE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/procread.h"

#define TREE_STRANGERS 32

struct tree_process {
	pid_t pid;
	int statm_fd; /* -1: opened anew for each look */
	uint64_t start_ticks;
	uint64_t rss_bytes; /* when ebbi_tree_rss read it last */
};

struct tree {
	pid_t launcher;
	pid_t strangers[TREE_STRANGERS]; /* the launcher's children that are no part of the tree */
	size_t stranger_count;
	struct tree_process *processes;
	size_t count;
	size_t capacity;
	uint64_t seen;       /* how many processes were ever in the list */
	pid_t newest;        /* last value of the kernel's newest pid; 0: it does not tell */
	uint64_t scanned_ns; /* when all of /proc was read last */
};

void ebbi_tree_init(struct tree *tree, pid_t launcher);
void ebbi_tree_free(struct tree *tree);

/* A child of the launcher that is no part of the tree: a helper. At most TREE_STRANGERS are kept. */
void ebbi_tree_exclude(struct tree *tree, pid_t helper);

/* The same for every child it has now: a shell's jobs, when the shell has exec'ed the launcher. */
int ebbi_tree_exclude_all(struct tree *tree);

bool ebbi_tree_is_excluded(const struct tree *tree, pid_t pid);

/* Adds one process by hand; the main one, right after it was started. */
int ebbi_tree_add(struct tree *tree, pid_t pid);

/* Drops one process; the launcher does so when it has reaped it. */
void ebbi_tree_drop(struct tree *tree, pid_t pid);

/* Looks for new processes. */
int ebbi_tree_update(struct tree *tree, uint64_t now_ns);

/* Looks through all of /proc at once, whatever that costs, and drops those that have died. */
int ebbi_tree_rescan(struct tree *tree, uint64_t now_ns);

/* Sum of the RSS of all; drops those that have died. The sum counts shared pages repeatedly. */
uint64_t ebbi_tree_rss(struct tree *tree);

/* CPU time of all processes alive and of the children they have waited for. */
struct tree_times {
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t minor_faults;
	uint64_t major_faults;
	uint64_t threads;
	uint64_t running; /* processes whose first thread runs, wants to, or waits for a disk */
};
void ebbi_tree_times(struct tree *tree, struct tree_times *ret_times);

/* Exact memory: sums of smaps_rollup and of status. `refused` counts processes that said no. */
struct tree_memory {
	size_t processes;
	size_t refused;
	uint64_t rss_bytes;
	uint64_t pss_bytes;
	uint64_t anonymous_bytes;
	uint64_t lazyfree_bytes;
	uint64_t huge_bytes;
	uint64_t swap_bytes;
	uint64_t swap_pss_bytes;
};
void ebbi_tree_memory(struct tree *tree, struct tree_memory *ret_memory);

/* The largest VmHWM among the processes alive; 0 when none could be read. */
uint64_t ebbi_tree_hwm(struct tree *tree);

#endif
