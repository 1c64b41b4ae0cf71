#include "platform/rights.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "platform/syscall.h"

/* The effective id in a line such as "\nUid:\t1000\t1000\t1000\t1000": the second number. */
static bool effective_id(const char *status, const char *field, uint32_t *ret_id)
{
	const char *at = strstr(status, field);
	uint32_t id = 0;

	if (at == NULL)
		return false;
	at = strchr(at + strlen(field), '\t');
	if (at == NULL)
		return false;
	for (at++; *at >= '0' && *at <= '9'; at++)
		id = id * 10 + (uint32_t)(*at - '0');
	*ret_id = id;
	return true;
}

bool ebbi_rights_differ(void)
{
	/* The lines wanted are among the first dozen. */
	char status[1024];
	uint32_t user;
	uint32_t group;
	long length;
	long fd = ebbi_syscall4(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	length = ebbi_syscall3(SYS_read, fd, (long)status, sizeof(status) - 1);
	(void)ebbi_syscall1(SYS_close, fd);
	if (length <= 0)
		return false;
	status[length] = '\0';
	if (!effective_id(status, "\nUid:\t", &user) || !effective_id(status, "\nGid:\t", &group))
		return false;
	return user != (uint32_t)ebbi_syscall0(SYS_geteuid) || group != (uint32_t)ebbi_syscall0(SYS_getegid);
}
