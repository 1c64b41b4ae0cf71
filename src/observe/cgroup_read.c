#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "observe/cgroup.h"
#include "observe/procread.h"

/* memory.stat is some 3 KiB; the path of a group may be long. */
#define FILE_BYTES 16384
#define DIRECTORY_BYTES (2 * CGROUP_PATH)

struct mount {
	bool v1;
	bool found;
	const char *path;            /* of the group in its tree */
	char directory[CGROUP_PATH]; /* where the tree, or the part of it that `root` names, is mounted */
	char root[CGROUP_PATH];
};

/* What follows `root` in the path; NULL when the path does not lie below it. */
static const char *below(const char *path, const char *root)
{
	size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, length) != 0 || (path[length] != 0 && path[length] != '/'))
		return NULL;
	return path + length;
}

/* Of several mounts one that shows the group; a mount of a part of the tree may not. */
static int mount_line(void *context, const struct text *line)
{
	struct mount *mount = context;
	char root[CGROUP_PATH], directory[CGROUP_PATH];

	if (!ebbi_parse_cgroup_mount(line, mount->v1, root, directory, sizeof(root)) || !below(mount->path, root))
		return 0;
	memcpy(mount->root, root, sizeof(root));
	memcpy(mount->directory, directory, sizeof(directory));
	mount->found = true;
	return 1;
}

static bool read_number(const char *directory, enum cgroup_figure id, const char *name, uint64_t *ret_value)
{
	struct cgroup_memory one = {0};
	char path[DIRECTORY_BYTES + 64], bytes[64];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	length = ebbi_read_file(path, bytes, sizeof(bytes));
	if (length <= 0 || ebbi_parse_cgroup_file(&one, name, bytes, (size_t)length) != 0 || !one.has[id])
		return false;
	*ret_value = one.value[id];
	return true;
}

/* From the group up to its mount: the lowest limit, and the one with the least room left. */
static void read_limits(struct cgroup_memory *memory, char *directory, size_t mount_length)
{
	uint64_t least_room = UINT64_MAX;

	for (;;) {
		uint64_t limit, usage, room;
		char *slash;

		if (read_number(directory, CGROUP_LIMIT, memory->v1 ? "memory.limit_in_bytes" : "memory.max", &limit)) {
			if (memory->lowest_limit_bytes == 0 || limit < memory->lowest_limit_bytes)
				memory->lowest_limit_bytes = limit;
			if (!read_number(directory, CGROUP_USAGE,
					 memory->v1 ? "memory.usage_in_bytes" : "memory.current", &usage))
				usage = 0;
			room = limit > usage ? limit - usage : 0;
			if (room < least_room) {
				least_room = room;
				memory->bites.known = true;
				memory->bites.limit_bytes = limit;
				memory->bites.usage_bytes = usage;
				snprintf(memory->bites.path, sizeof(memory->bites.path), "%.*s",
					 (int)sizeof(memory->bites.path) - 1,
					 directory[mount_length] ? directory + mount_length : "/");
			}
		}
		slash = strrchr(directory + mount_length, '/');
		if (!slash)
			break;
		*slash = 0;
	}
}

void ebbi_cgroup_memory(pid_t pid, struct cgroup_memory *ret_memory)
{
	char bytes[FILE_BYTES], directory[DIRECTORY_BYTES], path[DIRECTORY_BYTES + 64];
	struct mount mount = {0};
	ssize_t length = ebbi_proc_read(pid, "cgroup", bytes, sizeof(bytes));
	const char *name, *rest;

	*ret_memory = (struct cgroup_memory){0};
	if (length <= 0 || !ebbi_parse_cgroup(bytes, (size_t)length, &ret_memory->v1, ret_memory->path, CGROUP_PATH))
		return;
	mount.v1 = ret_memory->v1;
	mount.path = ret_memory->path;
	(void)ebbi_proc_lines(getpid(), "mountinfo", mount_line, &mount);
	if (!mount.found)
		return;
	rest = below(ret_memory->path, mount.root);
	snprintf(directory, sizeof(directory), "%s%s", mount.directory, strcmp(rest, "/") == 0 ? "" : rest);
	snprintf(ret_memory->directory, sizeof(ret_memory->directory), "%s", directory);
	for (size_t i = 0; (name = ebbi_cgroup_file(i)); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, name);
		length = ebbi_read_file(path, bytes, sizeof(bytes));
		if (length > 0 && ebbi_parse_cgroup_file(ret_memory, name, bytes, (size_t)length) == 0)
			ret_memory->known = true;
	}
	/* The root of all has no usage of its own (v2), or no parent; a container's root is an ordinary group. */
	ret_memory->root = strcmp(ret_memory->path, "/") == 0 && (ret_memory->v1 || !ret_memory->has[CGROUP_USAGE]);
	read_limits(ret_memory, directory, strlen(mount.directory));
}

void ebbi_cgroup_read(pid_t pid, struct cgroup_figures *ret_figures)
{
	struct cgroup_memory memory;

	ebbi_cgroup_memory(pid, &memory);
	*ret_figures = (struct cgroup_figures){
		.known = memory.known && memory.has[CGROUP_FILE],
		.root = memory.root,
		.usage_bytes = memory.value[CGROUP_USAGE],
		.limit_bytes = memory.lowest_limit_bytes,
		.file_bytes = memory.value[CGROUP_FILE],
		.has_sockets = memory.has[CGROUP_SOCKETS],
		.socket_bytes = memory.value[CGROUP_SOCKETS],
	};
	snprintf(ret_figures->path, sizeof(ret_figures->path), "%.*s", (int)sizeof(ret_figures->path) - 1, memory.path);
}
