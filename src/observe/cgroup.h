/*
 * cgroup.h: what the control group of a process counts, v1 and v2.
 *
 * Owns: nothing. Never: changes a group. Threading: any.
 * Errors: none; what cannot be read is not `known`. The group's mount is looked for where distributions put it
 * (/sys/fs/cgroup): a process in a container of its own namespace may have a path that does not exist there, which then
 * counts as not known.
 *
 * A group counts all its processes: these are no figures of one of them.
 */
#ifndef EBBI_OBSERVE_CGROUP_H
#define EBBI_OBSERVE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_figures {
	bool known;
	bool root; /* the root group: it has no limit and is everybody's */
	char path[256];
	uint64_t usage_bytes;
	uint64_t limit_bytes; /* the lowest up the tree; 0: none */
	uint64_t file_bytes;  /* page cache */
	bool has_sockets;
	uint64_t socket_bytes;
};

void ebbi_cgroup_read(pid_t pid, struct cgroup_figures *ret_figures);

/* The path of the group in the text of /proc/PID/cgroup: of the memory controller (v1), or of the only tree (v2). */
bool ebbi_parse_cgroup(const char *bytes, size_t length, bool *ret_v1, char *ret_path, size_t size);

/* The value behind `name` in the text of memory.stat. */
bool ebbi_parse_cgroup_stat(const char *bytes, size_t length, const char *name, uint64_t *ret_value);

#endif
