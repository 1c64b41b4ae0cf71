/*
 * snapshot.h: the figures libebb publishes about a process, read from outside.
 *
 * Owns: nothing; a found snapshot is an address in another process and may be kept.
 * Never: stops or changes the process, asks it for anything.
 * Threading: any thread.
 * Errors: -ENOENT: no libebb in the process. -EPERM: memory may not be read (ptrace rights).
 * -ESRCH: the process is gone. -ENODATA: libebb has not published anything yet. -EPROTO: a layout this reader does not
 * know: see ebbi_snapshot_version.
 * -EAGAIN: every attempt met a write under way. -ESTALE: the file on disk is not the mapped one
 * any more. Results are untouched on failure.
 */
#ifndef EBBI_OBSERVE_SNAPSHOT_H
#define EBBI_OBSERVE_SNAPSHOT_H

#include <ebb/ebb.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the shared snapshot of process `pid` lies. `library` is the file name to look for. */
int ebbi_snapshot_find(pid_t pid, const char *library, uint64_t *ret_address);

/*
 * One consistent copy, in this reader's layout: figures and entries that only the other one knows are left out, those
 * that only this one knows are 0.
 */
int ebbi_snapshot_read(pid_t pid, uint64_t address, struct ebb_snapshot *ret_snapshot);

/* Bytes of a snapshot, in whatever layout its head says, brought into this reader's. -EPROTO: not understood. */
int ebbi_snapshot_parse(const void *bytes, size_t length, struct ebb_snapshot *ret_snapshot);

/* The version of the layout there, for the sentence that says why it was not read; 0: no snapshot of any version. */
uint32_t ebbi_snapshot_version(pid_t pid, uint64_t address);

/* What the program freed and the allocator keeps resident. */
uint64_t ebbi_snapshot_held(const struct ebb_snapshot *snapshot);

#endif
