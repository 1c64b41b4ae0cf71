#include "platform/environment.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/syscall.h"

/* The value behind "name=", or NULL. */
static const char *value_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static bool copy(const char *value, char *ret_value, size_t capacity)
{
	size_t length = strnlen(value, capacity - 1);

	memcpy(ret_value, value, length);
	ret_value[length] = '\0';
	return true;
}

/* Before `environ` is set: what the kernel handed to the process, byte by byte through a small buffer. */
static bool read_from_kernel(const char *name, char *ret_value, size_t capacity)
{
	char entry[1200];
	char piece[512] = {0}; /* the analyzer does not know that read fills it */
	size_t length = 0;
	bool found = false;
	long got;
	long fd = ebbi_syscall4(SYS_openat, AT_FDCWD, (long)"/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	while (!found && (got = ebbi_syscall3(SYS_read, fd, (long)piece, sizeof(piece))) > 0) {
		for (long i = 0; i < got && !found; i++) {
			if (length < sizeof(entry))
				entry[length++] = piece[i];
			if (piece[i] != '\0')
				continue;
			entry[sizeof(entry) - 1] = '\0';
			found = value_of(entry, name) != NULL && copy(value_of(entry, name), ret_value, capacity);
			length = 0;
		}
	}
	(void)ebbi_syscall1(SYS_close, fd);
	return found;
}

bool ebbi_environment_read(const char *name, char *ret_value, size_t capacity)
{
	if (environ == NULL)
		return read_from_kernel(name, ret_value, capacity);
	for (char **entry = environ; *entry != NULL; entry++) {
		const char *value = value_of(*entry, name);

		if (value != NULL)
			return copy(value, ret_value, capacity);
	}
	return false;
}
