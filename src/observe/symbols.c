#include "observe/symbols.h"

#include <fcntl.h>
#include <libiberty/demangle.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/dwarf.h"
#include "observe/elf_file.h"

#define PATH_BYTES (PATH_MAX + 64)

struct module_file {
	bool tried;
	struct dwarf_file *file;
};

struct symbols {
	pid_t pid;
	const struct ebb_profile_module *modules;
	uint32_t module_count;
	struct module_file *files; /* one per module */
};

struct symbols *ebbi_symbols_open(pid_t pid, const struct profile *profile)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->pid = pid;
	symbols->modules = profile->modules;
	symbols->module_count = profile->module_count;
	symbols->files = calloc(profile->module_count, sizeof(*symbols->files));
	if (symbols->files)
		return symbols;
	free(symbols);
	return NULL;
}

void ebbi_symbols_close(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < symbols->module_count; i++)
		ebbi_dwarf_close(symbols->files[i].file);
	free(symbols->files);
	free(symbols);
}

/* --- The file of a module ---------------------------------------------------------------- */

static void hexadecimal(const uint8_t *bytes, size_t count, char *ret_text)
{
	for (size_t i = 0; i < count; i++)
		snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
	ret_text[2 * count] = 0;
}

/* The file at `path` if it is the module's: by build id where it has one. A descriptor or -1. */
static int open_module(const char *path, const struct ebb_profile_module *module)
{
	char wanted[2 * EBB_PROFILE_BUILD_ID + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_reader reader = {.read = ebbi_elf_read_fd, .context = &fd};
	struct elf_info info;

	if (fd < 0)
		return -1;
	hexadecimal(module->build_id, module->build_id_bytes, wanted);
	if (ebbi_elf_read(&reader, &info) == 0 && strcmp(info.build_id, wanted) == 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * Places where the file may be, most likely first: where the loader had it, seen from the process's root or, for a
 * path that is relative, its directory; the program itself, which has no path or may have been replaced on disk;
 * debug information alone, which lies under the build id when the file is gone.
 */
static bool candidate(const struct symbols *symbols, const struct ebb_profile_module *module, int number,
		      char *ret_path)
{
	char id[2 * EBB_PROFILE_BUILD_ID + 1];
	int pid = (int)symbols->pid;

	hexadecimal(module->build_id, module->build_id_bytes, id);
	switch (number) {
	case 0:
		snprintf(ret_path, PATH_BYTES, module->path[0] == '/' ? "/proc/%d/root%s" : "/proc/%d/cwd/%s", pid,
			 module->path);
		return true;
	case 1:
		/* Without an id, only what has no other path can be the program. */
		snprintf(ret_path, PATH_BYTES, "/proc/%d/%s", pid,
			 module->build_id_bytes > 0 || module->path[0] == 0 ? "exe" : "");
		return true;
	case 2:
		snprintf(ret_path, PATH_BYTES, "/proc/%d/root/usr/lib/debug/.build-id/%.2s/%s.debug", pid, id, id + 2);
		return module->build_id_bytes > 1;
	case 3:
		snprintf(ret_path, PATH_BYTES, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
		return module->build_id_bytes > 1;
	default:
		return false;
	}
}

static struct dwarf_file *open_file(const struct symbols *symbols, const struct ebb_profile_module *module)
{
	char path[PATH_BYTES], debug_path[PATH_BYTES];
	int fd = -1;

	for (int i = 0; fd < 0 && candidate(symbols, module, i, path); i++)
		fd = open_module(path, module);
	if (fd < 0)
		return NULL;
	snprintf(debug_path, sizeof(debug_path), ":.debug:/usr/lib/debug:/proc/%d/root/usr/lib/debug",
		 (int)symbols->pid);
	return ebbi_dwarf_open(path, fd, debug_path);
}

void ebbi_symbols_find(struct symbols *symbols, uint32_t module, uint64_t address, ebbi_symbol_fn *each, void *context)
{
	struct module_file *file = &symbols->files[module];
	const struct ebb_profile_module *entry = &symbols->modules[module];

	if (!file->tried && module != 0)
		file->file = open_file(symbols, entry);
	file->tried = true;
	if (file->file)
		ebbi_dwarf_find(file->file, address - entry->bias, each, context);
}

char *ebbi_demangle(const char *name)
{
	/* Without parameters: names are for tables and graphs, and templates are long enough. */
	return cplus_demangle(name, DMGL_ANSI | DMGL_AUTO);
}
