/*
 * witness.c: a library preloaded before the allocator that writes down whose malloc a process uses.
 *
 * Owns: one line per process image in the file named by EBB_WITNESS_LOG:
 *   pid TAB executable TAB object of malloc TAB object of free TAB object of realloc
 * looked up as any library's calls are (the global scope, first definition wins), so that a
 * program that brings its own malloc shows itself. Written in a constructor with one write(2)
 * to a file opened for appending: lines of different processes never mix.
 *
 * Never: allocates, changes errno of the program, or keeps a descriptor. Errors: silent; a missing
 * line is what the tests look for.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t append(char *line, size_t used, size_t capacity, const char *text)
{
	size_t length = strlen(text);

	if (length > capacity - used)
		length = capacity - used;
	memcpy(line + used, text, length);
	return used + length;
}

static size_t append_number(char *line, size_t used, size_t capacity, unsigned long value)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return append(line, used, capacity, digits + at);
}

/*
 * An executable linked at a fixed address that takes malloc's address carries an undefined symbol with
 * a value: the address of its own jump to malloc, which dlsym hands out for the function. Calls do not
 * stop there; the next definition is the one that serves, and this library stands first in the preload.
 */
static const char *owner_of(const char *symbol)
{
	void *address = dlsym(RTLD_DEFAULT, symbol);
	ElfW(Sym) *entry = NULL;
	Dl_info info;

	if (!address || !dladdr1(address, &info, (void **)&entry, RTLD_DL_SYMENT))
		return "?";
	if (entry && entry->st_shndx == SHN_UNDEF) {
		address = dlsym(RTLD_NEXT, symbol);
		if (!address || !dladdr(address, &info))
			return "?";
	}
	return info.dli_fname ? info.dli_fname : "?";
}

__attribute__((constructor)) static void testify(void)
{
	const char *log = getenv("EBB_WITNESS_LOG");
	char executable[1024] = "?";
	char line[4608];
	size_t used = 0;
	int saved = errno;
	int fd;
	ssize_t length;

	if (!log)
		return;
	length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	if (length > 0)
		executable[length] = '\0';
	used = append_number(line, used, sizeof(line) - 1, (unsigned long)getpid());
	used = append(line, used, sizeof(line) - 1, "\t");
	used = append(line, used, sizeof(line) - 1, executable);
	for (int i = 0; i < 3; i++) {
		static const char *const symbols[] = {"malloc", "free", "realloc"};

		used = append(line, used, sizeof(line) - 1, "\t");
		used = append(line, used, sizeof(line) - 1, owner_of(symbols[i]));
	}
	line[used++] = '\n';
	fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0) {
		length = write(fd, line, used);
		(void)length;
		close(fd);
	}
	errno = saved;
}
