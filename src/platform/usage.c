#include "platform/usage.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "platform/syscall.h"

/* The number at *at, behind blanks; moves on. */
static size_t number(const char **at)
{
	size_t value = 0;

	while (**at == ' ')
		++*at;
	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value * 10 + (size_t)(**at - '0');
	return value;
}

bool ebbi_usage_read(struct ebbi_usage *ret_usage)
{
	char text[128];
	const char *at = text;
	long got;
	long fd = ebbi_syscall4(SYS_openat, AT_FDCWD, (long)"/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	got = ebbi_syscall3(SYS_read, fd, (long)text, sizeof(text) - 1);
	(void)ebbi_syscall1(SYS_close, fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	(void)number(&at); /* address space */
	*ret_usage = (struct ebbi_usage){.resident_pages = number(&at), .file_pages = number(&at)};
	return ret_usage->resident_pages != 0;
}

uint64_t ebbi_usage_machine_bytes(void)
{
	struct sysinfo info;

	if (ebbi_syscall1(SYS_sysinfo, (long)&info) != 0)
		return UINT64_MAX;
	return (uint64_t)info.totalram * info.mem_unit;
}
