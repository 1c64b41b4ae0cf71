/*
 * procfs.h: what the kernel's text files say, as values.
 *
 * Owns: nothing. Every function here takes the bytes of one file and fills one struct.
 * Never: opens a file, allocates, trusts a length or a number it was given.
 * Threading: pure functions.
 * Errors: -EINVAL when the text is not what that file holds (empty, cut in the middle of what is
 * needed, a number out of range); the result is untouched then. Lines that are not known are
 * stepped over: future kernels add some.
 * Invariant: figures named _bytes are bytes, whatever unit the file uses.
 */
#ifndef EBBI_OBSERVE_PROCFS_H
#define EBBI_OBSERVE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/text.h"

/* /proc/PID/status. A kernel thread and a zombie have no memory lines: has_memory is false. */
struct proc_status {
	pid_t tgid;
	pid_t ppid;
	uint64_t threads;
	bool has_memory;
	uint64_t hwm_bytes;
	uint64_t rss_bytes;
	uint64_t anon_bytes;
	uint64_t file_bytes;
	uint64_t shmem_bytes;
	uint64_t swap_bytes;
	uint64_t page_table_bytes;
};

/* /proc/PID/statm, the first three fields. All zero for a zombie. */
struct proc_statm {
	uint64_t size_bytes;
	uint64_t resident_bytes;
	uint64_t shared_bytes;
};

/* /proc/PID/smaps_rollup. lazyfree_bytes is the part of rss_bytes that MADV_FREE gave up. */
struct proc_rollup {
	uint64_t rss_bytes;
	uint64_t pss_bytes;
	uint64_t anonymous_bytes;
	uint64_t lazyfree_bytes;
	uint64_t huge_bytes;
	uint64_t swap_bytes;
	uint64_t swap_pss_bytes;
};

/* /proc/PID/stat. Times in clock ticks, the start in ticks since boot. */
struct proc_stat {
	pid_t pid;
	char command[64];
	char state;
	pid_t ppid;
	uint64_t minor_faults;
	uint64_t child_minor_faults;
	uint64_t major_faults;
	uint64_t child_major_faults;
	uint64_t user_ticks;
	uint64_t system_ticks;
	uint64_t child_user_ticks;
	uint64_t child_system_ticks;
	uint64_t threads;
	uint64_t start_ticks;
};

/* One line of /proc/PID/maps; path points into the line and may be empty. */
struct proc_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset_bytes;
	uint64_t inode;
	bool readable;
	bool writable;
	bool executable;
	bool shared;
	bool deleted;
	struct text path;
};

int ebbi_parse_status(const char *bytes, size_t length, struct proc_status *ret_status);
int ebbi_parse_statm(const char *bytes, size_t length, uint64_t page_bytes, struct proc_statm *ret_statm);
int ebbi_parse_rollup(const char *bytes, size_t length, struct proc_rollup *ret_rollup);
int ebbi_parse_stat(const char *bytes, size_t length, struct proc_stat *ret_stat);
int ebbi_parse_map(const struct text *line, struct proc_map *ret_map);

/* The pid made last in this pid namespace: the fifth field of /proc/loadavg. */
int ebbi_parse_loadavg(const char *bytes, size_t length, pid_t *ret_newest);

/* The word in brackets, as in "always [madvise] never". */
int ebbi_parse_choice(const char *bytes, size_t length, char *ret_choice, size_t size);

/* The value of `name` in a list of NAME=VALUE strings ended by NUL (/proc/PID/environ). */
int ebbi_parse_environ(const char *bytes, size_t length, const char *name, struct text *ret_value);

#endif
