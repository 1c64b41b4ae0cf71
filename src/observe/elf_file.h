/*
 * elf_file.h: what an ELF file says about itself: class, interpreter, build id, dynamic symbols.
 *
 * Owns: nothing; it reads through a function, so that tests and fuzzers may hand it memory.
 * Never: maps the file (its pages would count as ours), trusts an offset or a count; allocates, but for the names while
 * ebbi_elf_each_symbol goes through them, and for the buffer of ebbi_elf_each_data.
 * Threading: pure but for what the reader does.
 * Errors: -ENOEXEC when the file is no ELF file this reads, -ENOENT when the symbol is not there,
 * -EINVAL when the file contradicts itself, what the reader returned otherwise.
 */
#ifndef EBBI_OBSERVE_ELF_FILE_H
#define EBBI_OBSERVE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_reader {
	/* Exactly `size` bytes at `offset`; 0 or negative errno, -EINVAL beyond the end. */
	int (*read)(void *context, uint64_t offset, void *ret_bytes, size_t size);
	void *context;
};

struct elf_info {
	bool is_64;            /* the rest is filled for 64-bit files only */
	uint16_t machine;      /* EM_* */
	bool dynamic;          /* has a dynamic section */
	char interpreter[256]; /* "" when static, or a library */
	char build_id[65];     /* hexadecimal, "" when the file has none */
	uint64_t load_address; /* virtual address of the byte at file offset 0 */
};

int ebbi_elf_read(const struct elf_reader *reader, struct elf_info *ret_info);

/* The virtual address and size of a defined symbol: a dynamic one, or else one for debuggers. */
struct elf_symbol {
	uint64_t address;
	uint64_t size_bytes;
};
int ebbi_elf_symbol(const struct elf_reader *reader, const char *name, struct elf_symbol *ret_symbol);

/*
 * Calls `each` for every defined symbol, dynamic ones first, then those for debuggers; a non-zero result ends it and is
 * returned. *ret_all tells whether all were seen: tables beyond 64 MiB of names are stepped over.
 */
typedef int ebbi_elf_symbol_fn(void *context, const char *name, bool dynamic);
int ebbi_elf_each_symbol(const struct elf_reader *reader, ebbi_elf_symbol_fn *each, void *context, bool *ret_all);

/*
 * Calls `each` for the bytes of every section that is loaded and not code, a piece at a time; pieces of one section
 * overlap by 64 bytes, so that a short text lies whole in one of them. At most 64 MiB a file.
 */
typedef int ebbi_elf_data_fn(void *context, const char *bytes, size_t size);
int ebbi_elf_each_data(const struct elf_reader *reader, ebbi_elf_data_fn *each, void *context);

/* The same over a file descriptor; *context is the descriptor. */
int ebbi_elf_read_fd(void *context, uint64_t offset, void *ret_bytes, size_t size);

/* ebbi_elf_read of the file at `path`. */
int ebbi_elf_read_path(const char *path, struct elf_info *ret_info);

#endif
