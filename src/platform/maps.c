#include "platform/maps.h"

#include <fcntl.h>
#include <stdbool.h>

#include "platform/file.h"
#include "platform/syscall.h"

/* The kernel's default. */
#define LIMIT_USUAL ((size_t)65530)

/* This part of the kernel's limit is left to the program. */
#define RESERVE_PART 8u

/* Lines of the file; false when it cannot be read. */
static bool count_lines(const char *path, size_t *ret_lines)
{
	char piece[4096];
	size_t lines = 0;
	long got;
	long fd = ebbi_syscall4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	while ((got = ebbi_syscall3(SYS_read, fd, (long)piece, sizeof(piece))) > 0)
		for (long i = 0; i < got; i++)
			lines += piece[i] == '\n';
	(void)ebbi_syscall1(SYS_close, fd);
	*ret_lines = lines;
	return got == 0;
}

size_t ebbi_maps_limit(void)
{
	char text[24];
	size_t limit = 0;

	(void)ebbi_file_read("/proc/sys/vm/max_map_count", text, sizeof(text));
	for (size_t i = 0; text[i] >= '0' && text[i] <= '9' && limit < SIZE_MAX / 16; i++)
		limit = limit * 10 + (size_t)(text[i] - '0');
	return limit != 0 ? limit : LIMIT_USUAL;
}

size_t ebbi_maps_left(void)
{
	size_t limit = ebbi_maps_limit();
	size_t usable = limit - limit / RESERVE_PART;
	size_t count;

	if (!count_lines("/proc/self/maps", &count))
		return 0;
	return usable > count ? usable - count : 0;
}
