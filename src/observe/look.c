#include "observe/look.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe/snapshot.h"

#define USUAL_LIBRARY "libebb.so"
/* A library that is loaded later is found, too, without reading all mappings at each look. */
#define FIND_EVERY 16

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int read_snapshot(struct looker *looker, struct look *look, struct ebb_snapshot *ret_snapshot)
{
	const char *library = looker->library ? looker->library : USUAL_LIBRARY;
	int error = -ENOENT;

	if (looker->snapshot_address == 0 && looker->looks % FIND_EVERY == 0)
		error = ebbi_snapshot_find(looker->pid, library, &looker->snapshot_address);
	else if (looker->snapshot_address != 0)
		error = 0;
	if (error == 0)
		error = ebbi_snapshot_read(looker->pid, looker->snapshot_address, ret_snapshot);
	if (error == -EPROTO)
		look->snapshot_version = ebbi_snapshot_version(looker->pid, looker->snapshot_address);
	return error;
}

static void count_sockets(struct look *look)
{
	struct dirent *entry;
	char path[64], target[64];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)look->pid);
	directory = opendir(path);
	if (!directory)
		return;
	while ((entry = readdir(directory))) {
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target));

		look->sockets += length > 7 && memcmp(target, "socket:", 7) == 0;
	}
	closedir(directory);
	look->has_sockets = true;
}

static int identify(struct looker *looker, struct look *look)
{
	int error = ebbi_proc_stat(looker->pid, &look->stat);

	if (error == 0 && looker->start_ticks != 0 && looker->start_ticks != look->stat.start_ticks)
		error = -ESRCH;
	if (error == 0)
		error = ebbi_proc_status(looker->pid, &look->status);
	/* A zombie, or a thread of the kernel. */
	if (error == 0 && !look->status.has_memory)
		error = -ESRCH;
	if (error != 0)
		return error;
	looker->start_ticks = look->stat.start_ticks;
	memcpy(look->command, look->stat.command, sizeof(look->command));
	return 0;
}

int ebbi_look(struct looker *looker, struct look *ret_look)
{
	struct ebb_snapshot after;
	int error;

	memset(ret_look, 0, sizeof(*ret_look));
	ret_look->pid = looker->pid;
	ret_look->at_ns = now_ns();
	ret_look->at_unix = time(NULL);
	error = identify(looker, ret_look);
	if (error == 0)
		ret_look->snapshot_error = read_snapshot(looker, ret_look, &ret_look->snapshot);
	if (error == 0)
		error = ebbi_holdings_read(looker->pid, &ret_look->holdings);
	if (error != 0)
		return error;
	if (ret_look->snapshot_error == 0 && read_snapshot(looker, ret_look, &after) == 0) {
		uint64_t first = ret_look->snapshot.resident_bytes;

		ret_look->heap_moved_bytes =
			after.resident_bytes > first ? after.resident_bytes - first : first - after.resident_bytes;
		ret_look->snapshot = after;
	}
	looker->looks++;
	ebbi_cgroup_read(looker->pid, &ret_look->cgroup);
	count_sockets(ret_look);
	ret_look->took_ns = now_ns() - ret_look->at_ns;
	return 0;
}
