/*
 * cgroup.h: what the control group of a process counts, v1 and v2.
 *
 * Owns: nothing. Never: changes a group. Threading: any.
 * Errors: what cannot be read is not known, which is never 0. The group is looked for in the mounts that this process
 * sees: the group of a process in a container may have no path here; then nothing is known. The parsers return -EINVAL
 * for a text that is not what its file holds, and keep what they had.
 *
 * A group counts all its processes: these are no figures of one of them.
 */
#ifndef EBBI_OBSERVE_CGROUP_H
#define EBBI_OBSERVE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/text.h"

enum cgroup_figure {
#define CGROUP_FIGURE(id) CGROUP_##id,
#include "observe/cgroup_figures.def"
#undef CGROUP_FIGURE
	CGROUP_FIGURE_COUNT
};

#define CGROUP_PATH 512

/* The limit that bites first: of all groups up the tree, the one with the least room between usage and limit. */
struct cgroup_limit {
	bool known;
	char path[CGROUP_PATH]; /* of the group that has it */
	uint64_t limit_bytes;
	uint64_t usage_bytes; /* of that group */
};

struct cgroup_memory {
	bool known;
	bool v1;
	bool root; /* the root group: it has no limit and is everybody's */
	char path[CGROUP_PATH];
	char directory[2 * CGROUP_PATH]; /* where its files are; "": nowhere that this process sees */
	bool has[CGROUP_FIGURE_COUNT];
	uint64_t value[CGROUP_FIGURE_COUNT];
	uint64_t lowest_limit_bytes; /* up the tree; 0: none */
	struct cgroup_limit bites;
};

void ebbi_cgroup_memory(pid_t pid, struct cgroup_memory *ret_memory);

/* Every file name that figures come from, in order; NULL after the last one. */
const char *ebbi_cgroup_file(size_t index);

/*
 * The figures in the text of one such file. A figure that is known already stays. -ENOENT: no file of that name is
 * known; -EINVAL: the text is not what that file holds.
 */
int ebbi_parse_cgroup_file(struct cgroup_memory *memory, const char *name, const char *bytes, size_t length);

/* The part that a display of one line needs. */
struct cgroup_figures {
	bool known;
	bool root;
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

/* A line of /proc/PID/mountinfo: when it mounts that tree, the path in the tree it shows and where. */
bool ebbi_parse_cgroup_mount(const struct text *line, bool v1, char *ret_root, char *ret_mount, size_t size);

#endif
