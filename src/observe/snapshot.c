#include "observe/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "observe/elf_file.h"
#include "observe/procread.h"

#define SYMBOL "ebb_shared_snapshot"
/* A write takes microseconds; 50 tries of 200 us outlast any writer that was scheduled away. */
#define READ_TRIES 50
#define RETRY_NS 200000

struct found_library {
	const char *name; /* the file name wanted */
	char path[4096];
	uint64_t start;
	uint64_t inode;
};

static int match_library(void *context, const struct proc_map *map)
{
	struct found_library *found = context;
	size_t length = ebbi_text_length(&map->path);
	size_t name_length = strlen(found->name);

	if (map->offset_bytes != 0 || length <= name_length || length >= sizeof(found->path))
		return 0;
	if (memcmp(map->path.end - name_length, found->name, name_length) != 0 ||
	    map->path.end[-(ptrdiff_t)name_length - 1] != '/')
		return 0;
	ebbi_text_copy(&map->path, found->path, sizeof(found->path));
	found->start = map->start;
	found->inode = map->inode;
	return 1;
}

/* The symbol's address as the file has it, less the address of the file's first byte. */
static int symbol_offset(const struct found_library *found, uint64_t *ret_offset)
{
	int fd = open(found->path, O_RDONLY | O_CLOEXEC);
	struct elf_reader reader = {.read = ebbi_elf_read_fd, .context = &fd};
	struct elf_symbol symbol;
	struct elf_info info;
	struct stat file;
	int error;

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	error = fstat(fd, &file) != 0 ? -errno : 0;
	if (error == 0 && file.st_ino != found->inode)
		error = -ESTALE;
	if (error == 0)
		error = ebbi_elf_read(&reader, &info);
	if (error == 0)
		error = ebbi_elf_symbol(&reader, SYMBOL, &symbol);
	close(fd);
	if (error == 0)
		*ret_offset = symbol.address - info.load_address;
	return error;
}

int ebbi_snapshot_find(pid_t pid, const char *library, uint64_t *ret_address)
{
	struct found_library found = {.name = library};
	uint64_t offset = 0;
	int result = ebbi_proc_maps(pid, match_library, &found);

	if (result < 0)
		return result;
	if (result == 0)
		return -ENOENT;
	result = symbol_offset(&found, &offset);
	if (result == 0)
		*ret_address = found.start + offset;
	return result;
}

static int read_memory(pid_t pid, uint64_t address, void *ret_bytes, size_t size)
{
	struct iovec local = {.iov_base = ret_bytes, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

/* One attempt; -EAGAIN when a write was under way or came between. */
static int read_once(pid_t pid, uint64_t address, struct ebb_shared *shared)
{
	uint32_t before, after;
	size_t size;
	int error = read_memory(pid, address, shared, offsetof(struct ebb_shared, snapshot) + 8);

	if (error != 0)
		return error;
	if (shared->magic == EBB_SHARED_MAGIC && shared->sequence == 0)
		return -ENODATA;
	if (shared->magic != EBB_SHARED_MAGIC || shared->snapshot.version != EBB_SNAPSHOT_VERSION)
		return -EPROTO;
	before = shared->sequence;
	size = shared->snapshot.size_bytes;
	if ((before & 1) != 0)
		return -EAGAIN;
	if (size < 16 || size > (1u << 20))
		return -EPROTO;
	if (size > sizeof(shared->snapshot))
		size = sizeof(shared->snapshot);
	error = read_memory(pid, address, shared, offsetof(struct ebb_shared, snapshot) + size);
	if (error == 0)
		error = read_memory(pid, address + offsetof(struct ebb_shared, sequence), &after, sizeof(after));
	if (error != 0)
		return error;
	return shared->sequence == before && after == before ? 0 : -EAGAIN;
}

int ebbi_snapshot_read(pid_t pid, uint64_t address, struct ebb_snapshot *ret_snapshot)
{
	struct ebb_shared shared = {0};
	struct timespec pause = {.tv_nsec = RETRY_NS};
	int error = -EAGAIN;

	for (int i = 0; i < READ_TRIES && error == -EAGAIN; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		error = read_once(pid, address, &shared);
	}
	if (error == 0)
		*ret_snapshot = shared.snapshot;
	return error;
}

uint64_t ebbi_snapshot_held(const struct ebb_snapshot *snapshot)
{
	return snapshot->held_cache_bytes + snapshot->held_hole_bytes + snapshot->held_slack_bytes +
	       snapshot->held_run_bytes;
}
