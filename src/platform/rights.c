#include "platform/rights.h"

#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "platform/file.h"
#include "platform/syscall.h"

struct ebbi_rights ebbi_rights_own(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	struct __user_cap_data_struct caps[2];

	if (ebbi_syscall0(SYS_getuid) != ebbi_syscall0(SYS_geteuid) ||
	    ebbi_syscall0(SYS_getgid) != ebbi_syscall0(SYS_getegid) ||
	    ebbi_syscall2(SYS_capget, (long)&header, (long)caps) != 0)
		return (struct ebbi_rights){.plain = false};
	return (struct ebbi_rights){.plain = (caps[0].effective | caps[1].effective) == 0};
}

/*
 * The kernel shows a thread without capabilities the limits of another only if each of that one's user ids, real,
 * effective and saved, is its own real one, and likewise the groups (prlimit(2)). So when it shows those of the first
 * thread, whose id is the process's, and the caller is plain, the two have the same rights. It may also refuse for
 * another reason, and then /proc knows. This takes 1 us, /proc 30 to 70, and is asked twice a second for as long as
 * a server works (bench/servers/steady.py).
 */
static bool surely_the_same(void)
{
	uint64_t limits[2];

	return ebbi_syscall4(SYS_prlimit64, ebbi_syscall0(SYS_getpid), RLIMIT_NOFILE, 0, (long)limits) == 0;
}

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

static bool differ_by_proc(void)
{
	/* The lines wanted are among the first dozen. */
	char status[1024];
	uint32_t user;
	uint32_t group;

	if (!ebbi_file_read("/proc/self/status", status, sizeof(status)))
		return false;
	if (!effective_id(status, "\nUid:\t", &user) || !effective_id(status, "\nGid:\t", &group))
		return false;
	return user != (uint32_t)ebbi_syscall0(SYS_geteuid) || group != (uint32_t)ebbi_syscall0(SYS_getegid);
}

bool ebbi_rights_differ(const struct ebbi_rights *own)
{
	return !(own->plain && surely_the_same()) && differ_by_proc();
}
