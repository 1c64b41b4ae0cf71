/*
 * shared.h: a named object of a library in another process: where it lies, and its bytes.
 *
 * Owns: nothing; a found address may be kept.
 * Never: stops or changes the process, asks it for anything. Files are opened through /proc/PID/root, so that a
 * process in a container is found, too.
 * Threading: any thread.
 * Errors: -ENOENT: no such library in the process, or no such symbol in the library. -EPERM, -EACCES: memory may not
 * be read (ptrace rights). -ESRCH: the process is gone. -ESTALE: the file on disk is not the mapped one any more.
 * -EFAULT: nothing lies there. Results are untouched on failure, but for the bytes.
 */
#ifndef EBBI_OBSERVE_SHARED_H
#define EBBI_OBSERVE_SHARED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* `library` is the file name to look for. */
int ebbi_shared_find(pid_t pid, const char *library, const char *symbol, uint64_t *ret_address);

/* Exactly `size` bytes. */
int ebbi_shared_read(pid_t pid, uint64_t address, void *ret_bytes, size_t size);

#endif
