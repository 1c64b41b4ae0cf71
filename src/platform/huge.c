#include "platform/huge.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "platform/syscall.h"

/* The word in brackets is the one in force. */
enum ebbi_huge_given ebbi_huge_given(void)
{
	const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
	char text[64] = {0};
	long fd;

	if (ebbi_syscall5(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
		return EBBI_HUGE_GIVEN_NEVER;
	fd = ebbi_syscall4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return EBBI_HUGE_GIVEN_NEVER;
	(void)ebbi_syscall3(SYS_read, fd, (long)text, sizeof(text) - 1);
	(void)ebbi_syscall1(SYS_close, fd);
	if (strstr(text, "[always]") != NULL)
		return EBBI_HUGE_GIVEN_ALWAYS;
	return strstr(text, "[madvise]") != NULL ? EBBI_HUGE_GIVEN_ASKED : EBBI_HUGE_GIVEN_NEVER;
}
