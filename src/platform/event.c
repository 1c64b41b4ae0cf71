#include "platform/event.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "base/fmt.h"
#include "platform/file.h"
#include "platform/syscall.h"

/* "eventfd-id: 7" in what the kernel says of the descriptor. False: it says nothing of it, or nothing at all. */
static bool read_id(int fd, uint64_t *ret_id)
{
	static const char key[] = "eventfd-id:";
	char name[48];
	char text[512];
	struct ebbi_fmt path = ebbi_fmt_into(name, sizeof(name) - 1);
	const char *at;

	ebbi_fmt_text(&path, "/proc/self/fdinfo/");
	ebbi_fmt_decimal(&path, (uint64_t)fd);
	name[path.length] = '\0';
	(void)ebbi_file_read(name, text, sizeof(text));
	at = strstr(text, key);
	if (at == NULL)
		return false;
	*ret_id = 1; /* so that 0 stays for unknown */
	for (at += sizeof(key) - 1; *at == ' ' || *at == '\t'; at++)
		;
	for (; *at >= '0' && *at <= '9'; at++)
		*ret_id = *ret_id * 10 + (uint64_t)(*at - '0');
	return true;
}

int ebbi_event_open(struct ebbi_event *ret_event)
{
	long fd = ebbi_syscall2(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return (int)fd;
	*ret_event = (struct ebbi_event){.fd = (int)fd};
	if (!read_id((int)fd, &ret_event->id))
		ret_event->id = 0;
	return 0;
}

void ebbi_event_close(const struct ebbi_event *event)
{
	(void)ebbi_syscall1(SYS_close, event->fd);
}

bool ebbi_event_signal(const struct ebbi_event *event)
{
	uint64_t one = 1;
	uint64_t id;
	long got;

	if (event->id != 0 && (!read_id(event->fd, &id) || id != event->id))
		return false;
	got = ebbi_syscall3(SYS_write, event->fd, (long)&one, sizeof(one));
	return got == sizeof(one) || got == -EAGAIN; /* full: it is readable */
}
