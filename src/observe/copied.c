#include "observe/copied.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "observe/procread.h"

/* /proc/PID/pagemap, Documentation/admin-guide/mm/pagemap.rst: what may be read without any rights to page frames. */
#define STATE_PRESENT (UINT64_C(1) << 63)
#define STATE_FILE (UINT64_C(1) << 61)
#define STATE_EXCLUSIVE (UINT64_C(1) << 56)
#define STATES 1024
/*
 * 32 GiB of mappings, for the time they take; what a process maps beyond is left out. So is any one that is larger: address
 * space that was reserved, which would use up all of that and hold next to nothing.
 */
#define PAGES_MOST (UINT64_C(1) << 23)
#define RANDOM_BYTES 16

struct comparison {
	int parent_fd;
	int child_fd;
	uint64_t page_bytes;
	uint64_t pages_left;
	uint64_t copied;
};

/* The kernel gives each program it starts 16 random bytes at some address; a fork has those of its parent. */
static int read_random(pid_t pid, uint64_t *ret_address, char *ret_bytes)
{
	Elf64_auxv_t vector[64];
	ssize_t length = ebbi_proc_read(pid, "auxv", (char *)vector, sizeof(vector));
	struct iovec local = {ret_bytes, RANDOM_BYTES}, remote = {NULL, RANDOM_BYTES};

	if (length < 0)
		return (int)length;
	for (size_t i = 0; i < (size_t)length / sizeof(vector[0]); i++) {
		if (vector[i].a_type != AT_RANDOM)
			continue;
		*ret_address = vector[i].a_un.a_val;
		remote.iov_base = (void *)(uintptr_t)vector[i].a_un.a_val; /* an address of the other process */
		return process_vm_readv(pid, &local, 1, &remote, 1, 0) == RANDOM_BYTES ? 0 : -errno;
	}
	return -ENOENT;
}

static int is_fork(pid_t parent, pid_t child)
{
	uint64_t addresses[2] = {0, 0};
	char bytes[2][RANDOM_BYTES] = {{0}, {0}};
	int error = read_random(parent, &addresses[0], bytes[0]);

	if (error == 0)
		error = read_random(child, &addresses[1], bytes[1]);
	if (error != 0)
		return error;
	return addresses[0] == addresses[1] && memcmp(bytes[0], bytes[1], RANDOM_BYTES) == 0 ? 0 : -ENOENT;
}

static bool own_page(uint64_t state)
{
	return (state & (STATE_PRESENT | STATE_FILE | STATE_EXCLUSIVE)) == (STATE_PRESENT | STATE_EXCLUSIVE);
}

static int compare_mapping(void *context, const struct proc_map *map)
{
	struct comparison *comparison = context;
	uint64_t page = map->start / comparison->page_bytes, end = map->end / comparison->page_bytes;
	uint64_t ours[STATES], theirs[STATES];

	if (map->shared || !map->writable || map->inode != 0 || end - page > PAGES_MOST)
		return 0;
	while (page < end && comparison->pages_left > 0) {
		size_t count = end - page < STATES ? (size_t)(end - page) : STATES;
		ssize_t first, second;

		count = count < comparison->pages_left ? count : (size_t)comparison->pages_left;
		first = pread(comparison->parent_fd, ours, count * sizeof(ours[0]), (off_t)(page * sizeof(ours[0])));
		second =
			pread(comparison->child_fd, theirs, count * sizeof(theirs[0]), (off_t)(page * sizeof(ours[0])));
		if (first <= 0 || second <= 0)
			return 0; /* it went, or may not be read any more */
		count = (size_t)(first < second ? first : second) / sizeof(ours[0]);
		if (count == 0)
			return 0;
		for (size_t i = 0; i < count; i++)
			comparison->copied += own_page(ours[i]) && own_page(theirs[i]);
		page += count;
		comparison->pages_left -= count;
	}
	return 0;
}

static int open_pagemap(pid_t pid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

int ebbi_copied_bytes(pid_t parent, pid_t child, uint64_t *ret_bytes)
{
	struct comparison comparison = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), .pages_left = PAGES_MOST};
	int error = is_fork(parent, child);

	if (error != 0)
		return error;
	comparison.parent_fd = open_pagemap(parent);
	if (comparison.parent_fd < 0)
		return comparison.parent_fd;
	comparison.child_fd = open_pagemap(child);
	error = comparison.child_fd;
	if (error >= 0) {
		error = ebbi_proc_maps(parent, compare_mapping, &comparison);
		close(comparison.child_fd);
	}
	close(comparison.parent_fd);
	if (error < 0)
		return error;
	*ret_bytes = comparison.copied * comparison.page_bytes;
	return 0;
}
