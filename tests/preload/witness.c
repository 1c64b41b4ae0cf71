/*
 * witness.c: a library preloaded before the allocator that writes down whose malloc a process uses.
 *
 * Owns: one line per process image in the file named by EBB_WITNESS_LOG:
 *   pid TAB executable TAB object of malloc TAB object of free TAB object of realloc
 * as the dynamic linker bound this library's own calls (the global scope, first definition wins), so that
 * a program that brings its own malloc shows itself. Written in a constructor with one write(2)
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

/* Never called: they make the linker give this library the same three jump slots that a program has. */
void witness_calls(void *block);
void witness_calls(void *block)
{
	free(realloc(malloc(1), 2));
	free(block);
}

static ElfW(Addr) dynamic_value(const struct link_map *map, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			return entry->d_un.d_ptr;
	return 0;
}

/*
 * Where a call goes, as the dynamic linker bound it: this library's own jump slot, filled at load
 * (-z now). Neither dlsym (which ignores versions, and hands out the program's own jump where a program
 * takes malloc's address) nor dlvsym (which refuses names without a version) finds exactly what calls find.
 */
static const char *owner_of(const char *symbol)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1((void *)owner_of, &info, (void **)&map, RTLD_DL_LINKMAP))
		return "?";
	const ElfW(Rela) *slot = (const ElfW(Rela) *)dynamic_value(map, DT_JMPREL);
	const ElfW(Sym) *symbols = (const ElfW(Sym) *)dynamic_value(map, DT_SYMTAB);
	const char *names = (const char *)dynamic_value(map, DT_STRTAB);
	size_t count = dynamic_value(map, DT_PLTRELSZ) / sizeof(*slot);

	if (!slot || !symbols || !names)
		return "?";
	for (; count > 0; slot++, count--) {
		void *const *target = (void *const *)(map->l_addr + slot->r_offset);

		if (strcmp(names + symbols[ELF64_R_SYM(slot->r_info)].st_name, symbol) == 0)
			return dladdr(*target, &info) && info.dli_fname ? info.dli_fname : "?";
	}
	return "?";
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
