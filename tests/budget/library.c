/*
 * The library as a file: size of its text, what it needs, what it exports, what it takes of the
 * static TLS that all libraries loaded late must share.
 *
 *   library LIBRARY
 */
#include "check.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MOST_TEXT_KIB 160
#define MOST_TLS_BYTES 64

static const uint8_t *image;
static const Elf64_Ehdr *header;

static const Elf64_Phdr *segment(unsigned index)
{
	return (const Elf64_Phdr *)(const void *)(image + header->e_phoff) + index;
}

/* Where an address of the running library lies in the file. */
static const void *at_address(Elf64_Addr address)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *each = segment(i);

		if (each->p_type == PT_LOAD && address >= each->p_vaddr && address < each->p_vaddr + each->p_filesz)
			return image + each->p_offset + (address - each->p_vaddr);
	}
	CHECK(false, "no segment holds 0x%lx", (unsigned long)address);
}

static void check_segments(void)
{
	size_t text = 0;
	size_t data = 0;
	size_t tls = 0;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *each = segment(i);

		if (each->p_type == PT_LOAD && (each->p_flags & PF_X) != 0)
			text += each->p_filesz;
		if (each->p_type == PT_LOAD && (each->p_flags & PF_W) != 0)
			data += each->p_memsz;
		if (each->p_type == PT_TLS)
			tls = each->p_memsz;
		CHECK((each->p_flags & (PF_W | PF_X)) != (PF_W | PF_X), "a segment is writable and executable");
		CHECK(each->p_type != PT_GNU_STACK || (each->p_flags & PF_X) == 0, "executable stack");
	}
	check_note("text %zu bytes, data and bss %zu bytes, static TLS %zu bytes\n", text, data, tls);
	CHECK(text <= MOST_TEXT_KIB * 1024, "text is %zu bytes", text);
	CHECK(tls <= MOST_TLS_BYTES, "static TLS is %zu bytes", tls);
}

static bool allowed_name(const char *name)
{
	static const char *const family[] = {
		"malloc",
		"free",
		"calloc",
		"realloc",
		"reallocarray",
		"aligned_alloc",
		"posix_memalign",
		"memalign",
		"valloc",
		"pvalloc",
		"malloc_usable_size",
		"malloc_trim",
		"mallinfo",
		"mallinfo2",
		"malloc_info",
		"mallopt",
		"malloc_stats",
		"free_sized",
		"free_aligned_sized",
		"dlopen",
		"mmap",
		"mmap64",
	};

	if (strncmp(name, "ebb_", 4) == 0 || strncmp(name, "EBB_", 4) == 0)
		return true;
	if (strncmp(name, "_Znw", 4) == 0 || strncmp(name, "_Zna", 4) == 0 || strncmp(name, "_Zdl", 4) == 0 ||
	    strncmp(name, "_Zda", 4) == 0)
		return true;
	for (size_t i = 0; i < sizeof(family) / sizeof(family[0]); i++)
		if (strcmp(name, family[i]) == 0)
			return true;
	return false;
}

static void check_exports(const Elf64_Shdr *section, const char *names)
{
	const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(image + section->sh_offset);
	unsigned exported = 0;
	bool shared = false;

	for (size_t i = 1; i < section->sh_size / sizeof(*symbols); i++) {
		if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_shndx == SHN_ABS)
			continue;
		exported++;
		shared |= strcmp(names + symbols[i].st_name, "ebb_shared_snapshot") == 0;
		CHECK(allowed_name(names + symbols[i].st_name), "exports %s", names + symbols[i].st_name);
	}
	check_note("%u names exported\n", exported);
	CHECK(shared, "a reader from outside finds no ebb_shared_snapshot");
	CHECK(exported >= 19 + 20, "only %u names are exported", exported);
}

static void check_dynamic(const Elf64_Dyn *dynamic)
{
	const char *names = NULL;

	for (const Elf64_Dyn *each = dynamic; each->d_tag != DT_NULL; each++) {
		if (each->d_tag == DT_STRTAB)
			names = at_address(each->d_un.d_ptr);
		CHECK(each->d_tag != DT_TEXTREL, "text relocations");
		CHECK(each->d_tag != DT_RPATH && each->d_tag != DT_RUNPATH, "a run path");
	}
	CHECK(names != NULL, "no names");
	for (const Elf64_Dyn *each = dynamic; each->d_tag != DT_NULL; each++) {
		if (each->d_tag != DT_NEEDED)
			continue;
		const char *needed = names + each->d_un.d_val;

		check_note("needs %s\n", needed);
		CHECK(strcmp(needed, "libc.so.6") == 0 || strncmp(needed, "ld-linux", 8) == 0,
		      "it needs more than the C library: %s", needed);
	}
}

int main(int argc, char **argv)
{
	struct stat status;

	CHECK(argc == 2, "usage: library LIBRARY");
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && fstat(fd, &status) == 0, "%s", argv[1]);
	image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(image != MAP_FAILED, "mmap");
	header = (const Elf64_Ehdr *)(const void *)image;
	CHECK(memcmp(header->e_ident, ELFMAG, SELFMAG) == 0, "no ELF file");
	check_segments();
	const Elf64_Shdr *section = (const Elf64_Shdr *)(const void *)(image + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++)
		if (section[i].sh_type == SHT_DYNSYM)
			check_exports(&section[i], (const char *)image + section[section[i].sh_link].sh_offset);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segment(i)->p_type == PT_DYNAMIC)
			check_dynamic(at_address(segment(i)->p_vaddr));
	return 0;
}
