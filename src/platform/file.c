#include "platform/file.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "platform/syscall.h"

bool ebbi_file_read(const char *path, char *ret_text, size_t capacity)
{
	long fd = ebbi_syscall4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	long got;

	ret_text[0] = '\0';
	if (fd < 0)
		return false;
	got = ebbi_syscall3(SYS_read, fd, (long)ret_text, (long)(capacity - 1));
	(void)ebbi_syscall1(SYS_close, fd);
	ret_text[got > 0 ? got : 0] = '\0';
	return got > 0;
}
