/*
 * snapshot.h: the figures libebb publishes about a process, read from outside.
 *
 * Owns: nothing; a found snapshot is an address in another process and may be kept.
 * Never: stops or changes the process, asks it for anything.
 * Threading: any thread.
 * Errors: -ENOENT: no libebb in the process. -EPERM: memory may not be read (ptrace rights).
 * -ESRCH: the process is gone. -ENODATA: libebb has not published anything yet. -EPROTO: a layout this reader does not know (another version).
 * -EAGAIN: every attempt met a write under way. -ESTALE: the file on disk is not the mapped one
 * any more. Results are untouched on failure.
 */
#ifndef EBBI_OBSERVE_SNAPSHOT_H
#define EBBI_OBSERVE_SNAPSHOT_H

#include <ebb/ebb.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the shared snapshot of process `pid` lies. `library` is the file name to look for. */
int ebbi_snapshot_find(pid_t pid, const char *library, uint64_t *ret_address);

/* One consistent copy. A shorter snapshot of an older library leaves the later figures 0. */
int ebbi_snapshot_read(pid_t pid, uint64_t address, struct ebb_snapshot *ret_snapshot);

/* What the program freed and the allocator keeps resident. */
uint64_t ebbi_snapshot_held(const struct ebb_snapshot *snapshot);

#endif
