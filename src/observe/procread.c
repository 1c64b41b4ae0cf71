#include "observe/procread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* smaps_rollup and status are about 1 KiB; status grows with the number of groups. */
#define SMALL_BYTES 8192
#define LINES_BYTES 16384

static ssize_t read_all(int fd, char *bytes, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t got = read(fd, bytes + length, size - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		length += (size_t)got;
	}
	return (ssize_t)length;
}

ssize_t ebbi_read_file(const char *path, char *ret_bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read_all(fd, ret_bytes, size);
	close(fd);
	return length;
}

static int proc_open(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

ssize_t ebbi_proc_read(pid_t pid, const char *name, char *ret_bytes, size_t size)
{
	int fd = proc_open(pid, name);
	ssize_t length;

	if (fd < 0)
		return fd;
	length = read_all(fd, ret_bytes, size);
	close(fd);
	return length == 0 ? -ESRCH : length;
}

int ebbi_proc_status(pid_t pid, struct proc_status *ret_status)
{
	char bytes[SMALL_BYTES];
	ssize_t length = ebbi_proc_read(pid, "status", bytes, sizeof(bytes));

	return length < 0 ? (int)length : ebbi_parse_status(bytes, (size_t)length, ret_status);
}

int ebbi_proc_stat(pid_t pid, struct proc_stat *ret_stat)
{
	char bytes[2048];
	ssize_t length = ebbi_proc_read(pid, "stat", bytes, sizeof(bytes));

	return length < 0 ? (int)length : ebbi_parse_stat(bytes, (size_t)length, ret_stat);
}

int ebbi_proc_rollup(pid_t pid, struct proc_rollup *ret_rollup)
{
	char bytes[SMALL_BYTES];
	ssize_t length = ebbi_proc_read(pid, "smaps_rollup", bytes, sizeof(bytes));

	return length < 0 ? (int)length : ebbi_parse_rollup(bytes, (size_t)length, ret_rollup);
}

int ebbi_proc_statm_open(pid_t pid)
{
	return proc_open(pid, "statm");
}

int ebbi_proc_statm(int fd, struct proc_statm *ret_statm)
{
	char bytes[256];
	ssize_t length = pread(fd, bytes, sizeof(bytes), 0);

	if (length <= 0)
		return length < 0 ? -errno : -ESRCH;
	return ebbi_parse_statm(bytes, (size_t)length, (uint64_t)sysconf(_SC_PAGESIZE), ret_statm);
}

/* Hands the whole lines of the buffer on and moves what is left to its front. */
static int whole_lines(char *bytes, size_t *length, ebbi_line_fn *each, void *context)
{
	const char *last = memrchr(bytes, '\n', *length);
	struct text whole = {.at = bytes, .end = last ? last + 1 : bytes};
	struct text line;
	int result = 0;

	while (result == 0 && ebbi_text_line(&whole, &line))
		result = each(context, &line);
	if (last) {
		*length -= (size_t)(last + 1 - bytes);
		memmove(bytes, last + 1, *length);
	}
	return result;
}

int ebbi_proc_lines(pid_t pid, const char *name, ebbi_line_fn *each, void *context)
{
	char bytes[LINES_BYTES];
	size_t length = 0;
	ssize_t got = 0;
	bool any = false;
	int result = 0;
	int fd = proc_open(pid, name);

	if (fd < 0)
		return fd;
	while (result == 0) {
		if (length == sizeof(bytes))
			length = 0; /* a line that does not fit: its tail will not parse */
		got = read(fd, bytes + length, sizeof(bytes) - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		any = true;
		length += (size_t)got;
		result = whole_lines(bytes, &length, each, context);
	}
	if (got < 0 && result == 0)
		result = -errno;
	if (result == 0 && !any)
		result = -ESRCH;
	close(fd);
	return result;
}

struct map_reader {
	ebbi_map_fn *each;
	void *context;
};

static int map_line(void *context, const struct text *line)
{
	const struct map_reader *reader = context;
	struct proc_map map;

	return ebbi_parse_map(line, &map) == 0 ? reader->each(reader->context, &map) : 0;
}

int ebbi_proc_maps(pid_t pid, ebbi_map_fn *each, void *context)
{
	struct map_reader reader = {each, context};

	return ebbi_proc_lines(pid, "maps", map_line, &reader);
}

int ebbi_proc_each(ebbi_pid_fn *each, void *context)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	int result = 0;

	if (!directory)
		return -errno;
	while (result == 0 && (entry = readdir(directory))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end == 0 && pid > 0 && pid <= 0x7fffffff)
			result = each(context, (pid_t)pid);
	}
	closedir(directory);
	return result;
}
