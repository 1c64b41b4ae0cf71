/*
 * procread.h: the files of /proc, read and parsed.
 *
 * Owns: nothing between calls, but for the descriptors the caller asked for.
 * Never: allocates, waits, changes the process it looks at.
 * Threading: any thread; each call uses its own buffers on the stack (at most 16 KiB).
 * Errors: negative errno. -ESRCH: the process is gone, whichever way the kernel said so (no
 * directory, no process, an empty file of a zombie). -EACCES/-EPERM: not permitted, which is never
 * to be shown as 0. -EINVAL: the text was not understood. Results are untouched on failure.
 */
#ifndef EBBI_OBSERVE_PROCREAD_H
#define EBBI_OBSERVE_PROCREAD_H

#include <stddef.h>
#include <sys/types.h>

#include "observe/procfs.h"

/* The whole of a small file, at most `size` bytes; returns the length. */
ssize_t ebbi_read_file(const char *path, char *ret_bytes, size_t size);

/* The same for /proc/PID/`name`. */
ssize_t ebbi_proc_read(pid_t pid, const char *name, char *ret_bytes, size_t size);

int ebbi_proc_status(pid_t pid, struct proc_status *ret_status);
int ebbi_proc_stat(pid_t pid, struct proc_stat *ret_stat);
int ebbi_proc_rollup(pid_t pid, struct proc_rollup *ret_rollup);

/* An open statm: it stays with its process, so that a reused pid is never read by mistake. */
int ebbi_proc_statm_open(pid_t pid);
int ebbi_proc_statm(int fd, struct proc_statm *ret_statm);

/*
 * Calls `each` for every line of /proc/PID/`name`, until it returns something other than 0, which is then the result; 0
 * after the last one. Lines longer than 16 KiB are stepped over but for their ends.
 */
typedef int ebbi_line_fn(void *context, const struct text *line);
int ebbi_proc_lines(pid_t pid, const char *name, ebbi_line_fn *each, void *context);

/*
 * Calls `each` for every mapping until it returns something other than 0, which is then the
 * result; 0 after the last one. Lines longer than 16 KiB are stepped over.
 */
typedef int ebbi_map_fn(void *context, const struct proc_map *map);
int ebbi_proc_maps(pid_t pid, ebbi_map_fn *each, void *context);

/* Calls `each` for every process there is; the same rule for results. */
typedef int ebbi_pid_fn(void *context, pid_t pid);
int ebbi_proc_each(ebbi_pid_fn *each, void *context);

#endif
