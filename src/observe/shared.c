#include "observe/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "observe/elf_file.h"
#include "observe/procread.h"

/* The beginning of an ELF file: its headers and, in whatever a linker writes, its build id. Never written to. */
#define HEAD_BYTES 1024

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

int ebbi_shared_read(pid_t pid, uint64_t address, void *ret_bytes, size_t size)
{
	struct iovec local = {.iov_base = ret_bytes, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

/* Whether the open file is what is mapped. On an overlay the two may have different inodes: then the bytes tell. */
static int same_file(pid_t pid, const struct found_library *found, int fd)
{
	char on_disk[HEAD_BYTES], mapped[HEAD_BYTES];
	struct stat file;

	if (fstat(fd, &file) != 0)
		return -errno;
	if (file.st_ino == found->inode)
		return 0;
	if (ebbi_elf_read_fd(&fd, 0, on_disk, sizeof(on_disk)) != 0 ||
	    ebbi_shared_read(pid, found->start, mapped, sizeof(mapped)) != 0)
		return -ESTALE;
	return memcmp(on_disk, mapped, sizeof(mapped)) == 0 ? 0 : -ESTALE;
}

/*
 * Through the process's root. The kernel writes paths as from the root of its mount namespace, so the root of a process
 * that changed it by chroot alone, which /proc/PID/root names the same way, stands before them.
 */
static int open_library(pid_t pid, const struct found_library *found, int *ret_fd)
{
	char root[64], own[PATH_MAX], path[sizeof(found->path) + sizeof(root)];
	const char *within = found->path;
	ssize_t length;
	int fd, error;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	length = readlink(root, own, sizeof(own));
	if (length > 1 && strncmp(within, own, (size_t)length) == 0 && within[length] == '/')
		within += length;
	snprintf(path, sizeof(path), "%s%s", root, within);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	error = same_file(pid, found, fd);
	if (error != 0)
		close(fd);
	else
		*ret_fd = fd;
	return error;
}

/* The symbol's address as the file has it, less the address of the file's first byte. */
static int symbol_offset(pid_t pid, const struct found_library *found, const char *name, uint64_t *ret_offset)
{
	struct elf_symbol symbol;
	struct elf_info info;
	int fd;
	struct elf_reader reader = {.read = ebbi_elf_read_fd, .context = &fd};
	int error = open_library(pid, found, &fd);

	if (error != 0)
		return error;
	error = ebbi_elf_read(&reader, &info);
	if (error == 0)
		error = ebbi_elf_symbol(&reader, name, &symbol);
	close(fd);
	if (error == 0)
		*ret_offset = symbol.address - info.load_address;
	return error;
}

int ebbi_shared_find(pid_t pid, const char *library, const char *symbol, uint64_t *ret_address)
{
	struct found_library found = {.name = library};
	uint64_t offset = 0;
	int result = ebbi_proc_maps(pid, match_library, &found);

	if (result < 0)
		return result;
	if (result == 0)
		return -ENOENT;
	result = symbol_offset(pid, &found, symbol, &offset);
	if (result == 0)
		*ret_address = found.start + offset;
	return result;
}
