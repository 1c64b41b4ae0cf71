#include "observe/libc_of.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "observe/elf_file.h"

#define WINDOW 65536

enum libc_kind ebbi_libc_of_program(const char *path)
{
	struct elf_info info;

	if (ebbi_elf_read_path(path, &info) != 0 || info.interpreter[0] == 0)
		return LIBC_UNKNOWN;
	if (strstr(info.interpreter, "ld-musl"))
		return LIBC_MUSL;
	return strstr(info.interpreter, "ld-linux") ? LIBC_GLIBC : LIBC_UNKNOWN;
}

/* The names of needed libraries lie among the file's strings, each between NULs. */
static bool holds(const char *bytes, size_t length, const char *name, size_t size)
{
	return memmem(bytes, length, name, size) != NULL;
}

enum libc_kind ebbi_libc_of_library(const char *path)
{
	static char window[WINDOW];
	/* Two windows overlap by more than a name. */
	const size_t overlap = 64;
	enum libc_kind found = LIBC_UNKNOWN;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t kept = 0;

	while (fd >= 0 && found == LIBC_UNKNOWN) {
		ssize_t got = read(fd, window + kept, sizeof(window) - kept);
		size_t length = kept + (got > 0 ? (size_t)got : 0);

		if (got <= 0)
			break;
		/* sizeof: with the NUL behind; "libc.so" alone is what musl-gcc links. */
		if (holds(window, length, "\0libc.so.6", sizeof("\0libc.so.6")))
			found = LIBC_GLIBC;
		else if (holds(window, length, "\0libc.musl-", sizeof("\0libc.musl-") - 1) ||
			 holds(window, length, "\0libc.so", sizeof("\0libc.so")))
			found = LIBC_MUSL;
		kept = length < overlap ? length : overlap;
		memmove(window, window + length - kept, kept);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

const char *ebbi_libc_word(enum libc_kind libc)
{
	return libc == LIBC_GLIBC ? "glibc" : libc == LIBC_MUSL ? "musl" : "unknown";
}
