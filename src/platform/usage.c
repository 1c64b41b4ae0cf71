#include "platform/usage.h"

#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "platform/file.h"
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

	if (!ebbi_file_read("/proc/self/statm", text, sizeof(text)))
		return false;
	(void)number(&at); /* address space */
	ret_usage->resident_pages = number(&at);
	ret_usage->file_pages = number(&at);
	return ret_usage->resident_pages != 0;
}

uint64_t ebbi_usage_machine_bytes(void)
{
	struct sysinfo info;

	if (ebbi_syscall1(SYS_sysinfo, (long)&info) != 0)
		return UINT64_MAX;
	return (uint64_t)info.totalram * info.mem_unit;
}
