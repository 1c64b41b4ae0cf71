#include "observe/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than any real file has; ends the loops over files that lie. */
#define MAX_PROGRAM_HEADERS 256
#define MAX_SECTIONS 4096
#define MAX_SYMBOLS (1u << 20)
#define MAX_NOTE_BYTES 4096
#define MAX_LISTED (4u << 20)
#define MAX_NAMES (64u << 20)
#define MAX_DATA (64u << 20)
#define PIECE_BYTES (1u << 20)
#define OVERLAP 64

static int read_at(const struct elf_reader *reader, uint64_t offset, void *ret_bytes, size_t size)
{
	uint64_t end;

	if (__builtin_add_overflow(offset, size, &end) || end > INT64_MAX)
		return -EINVAL;
	return reader->read(reader->context, offset, ret_bytes, size);
}

int ebbi_elf_read_fd(void *context, uint64_t offset, void *ret_bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(*(int *)context, (char *)ret_bytes + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EINVAL;
		done += (size_t)got;
	}
	return 0;
}

static int read_header(const struct elf_reader *reader, Elf64_Ehdr *ret_header, bool *ret_is_64)
{
	unsigned char ident[EI_NIDENT];
	int error = read_at(reader, 0, ident, sizeof(ident));

	if (error == -EINVAL || (error == 0 && memcmp(ident, ELFMAG, SELFMAG) != 0))
		return -ENOEXEC;
	if (error != 0)
		return error;
	*ret_is_64 = ident[EI_CLASS] == ELFCLASS64;
	if (ident[EI_CLASS] == ELFCLASS32)
		return 0;
	if (!*ret_is_64 || ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	return read_at(reader, 0, ret_header, sizeof(*ret_header));
}

static int read_interpreter(const struct elf_reader *reader, const Elf64_Phdr *segment, struct elf_info *info)
{
	size_t size = sizeof(info->interpreter) - 1;

	if (segment->p_filesz < size)
		size = segment->p_filesz;
	return read_at(reader, segment->p_offset, info->interpreter, size);
}

/* Looks for the build id among the notes; a note that is not understood ends the search. */
static int read_notes(const struct elf_reader *reader, const Elf64_Phdr *segment, struct elf_info *info)
{
	unsigned char notes[MAX_NOTE_BYTES];
	size_t size = segment->p_filesz < sizeof(notes) ? segment->p_filesz : sizeof(notes);
	int error = read_at(reader, segment->p_offset, notes, size);
	size_t at = 0;

	while (error == 0 && size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, value, next;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		value = name + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3);
		next = value + (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
		if (next > size)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
			for (uint32_t i = 0; i < note.n_descsz && i < 32; i++)
				snprintf(info->build_id + 2 * i, 3, "%02x", notes[value + i]);
			break;
		}
		at = next;
	}
	return error;
}

static int read_segment(const struct elf_reader *reader, const Elf64_Phdr *segment, struct elf_info *info)
{
	switch (segment->p_type) {
	case PT_DYNAMIC:
		info->dynamic = true;
		return 0;
	case PT_INTERP:
		return read_interpreter(reader, segment, info);
	case PT_NOTE:
		return info->build_id[0] ? 0 : read_notes(reader, segment, info);
	case PT_LOAD:
		if (segment->p_offset == 0)
			info->load_address = segment->p_vaddr;
		return 0;
	default:
		return 0;
	}
}

int ebbi_elf_read(const struct elf_reader *reader, struct elf_info *ret_info)
{
	struct elf_info info = {0};
	Elf64_Ehdr header = {0};
	int error = read_header(reader, &header, &info.is_64);

	if (error == 0 && info.is_64) {
		info.machine = header.e_machine;
		if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > MAX_PROGRAM_HEADERS)
			return -EINVAL;
		for (unsigned i = 0; error == 0 && i < header.e_phnum; i++) {
			Elf64_Phdr segment;
			uint64_t offset;

			if (__builtin_add_overflow(header.e_phoff, i * sizeof(segment), &offset))
				return -EINVAL;
			error = read_at(reader, offset, &segment, sizeof(segment));
			if (error == 0)
				error = read_segment(reader, &segment, &info);
		}
	}
	if (error == 0)
		*ret_info = info;
	return error;
}

static int read_section(const struct elf_reader *reader, const Elf64_Ehdr *header, unsigned index,
			Elf64_Shdr *ret_section)
{
	uint64_t offset;

	if (index >= header->e_shnum ||
	    __builtin_add_overflow(header->e_shoff, (uint64_t)index * sizeof(*ret_section), &offset))
		return -EINVAL;
	return read_at(reader, offset, ret_section, sizeof(*ret_section));
}

/* Whether the string at `offset` of the string section is `name`. */
static bool name_is(const struct elf_reader *reader, const Elf64_Shdr *strings, uint32_t offset, const char *name)
{
	char found[64];
	size_t size = strlen(name) + 1;
	uint64_t at;

	if (size > sizeof(found) || offset > strings->sh_size || strings->sh_size - offset < size)
		return false;
	if (__builtin_add_overflow(strings->sh_offset, offset, &at))
		return false;
	return read_at(reader, at, found, size) == 0 && memcmp(found, name, size) == 0;
}

static int search(const struct elf_reader *reader, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
		  const char *name, struct elf_symbol *ret_symbol)
{
	Elf64_Sym batch[64];
	uint64_t count = symbols->sh_size / sizeof(batch[0]);

	if (count > MAX_SYMBOLS)
		return -EINVAL;
	for (uint64_t at = 0; at < count; at += 64) {
		uint64_t batch_count = count - at < 64 ? count - at : 64;
		uint64_t offset;

		if (__builtin_add_overflow(symbols->sh_offset, at * sizeof(batch[0]), &offset))
			return -EINVAL;
		int error = read_at(reader, offset, batch, batch_count * sizeof(batch[0]));

		if (error != 0)
			return error;
		for (uint64_t i = 0; i < batch_count; i++) {
			if (batch[i].st_shndx == SHN_UNDEF || !name_is(reader, strings, batch[i].st_name, name))
				continue;
			*ret_symbol = (struct elf_symbol){batch[i].st_value, batch[i].st_size};
			return 0;
		}
	}
	return -ENOENT;
}

/* Looks through the first symbol table of `type`; -ENOENT when there is none or it is not in it. */
static int search_table(const struct elf_reader *reader, const Elf64_Ehdr *header, uint32_t type, const char *name,
			struct elf_symbol *ret_symbol)
{
	Elf64_Shdr symbols, strings;
	int error;

	for (unsigned i = 0; i < header->e_shnum; i++) {
		error = read_section(reader, header, i, &symbols);
		if (error == 0 && symbols.sh_type != type)
			continue;
		if (error == 0)
			error = read_section(reader, header, symbols.sh_link, &strings);
		return error != 0 ? error : search(reader, &symbols, &strings, name, ret_symbol);
	}
	return -ENOENT;
}

/* The header of a file with sections that make sense. */
static int read_sections_header(const struct elf_reader *reader, Elf64_Ehdr *ret_header)
{
	bool is_64;
	int error = read_header(reader, ret_header, &is_64);

	if (error != 0)
		return error;
	if (!is_64)
		return -ENOEXEC;
	return ret_header->e_shnum > MAX_SECTIONS || ret_header->e_shentsize != sizeof(Elf64_Shdr) ? -EINVAL : 0;
}

int ebbi_elf_symbol(const struct elf_reader *reader, const char *name, struct elf_symbol *ret_symbol)
{
	Elf64_Ehdr header;
	int error = read_sections_header(reader, &header);

	if (error != 0)
		return error;
	error = search_table(reader, &header, SHT_DYNSYM, name, ret_symbol);
	/* The symbols for debuggers, when the file still has them: a program linked with libebb.a. */
	if (error == -ENOENT)
		error = search_table(reader, &header, SHT_SYMTAB, name, ret_symbol);
	return error;
}

/* --- Everything in it ------------------------------------------------------------------------ */

static int each_of_table(const struct elf_reader *reader, const Elf64_Shdr *symbols, const char *names,
			 uint64_t names_size, ebbi_elf_symbol_fn *each, void *context)
{
	Elf64_Sym batch[512];
	uint64_t count = symbols->sh_size / sizeof(batch[0]);
	int result = 0;

	for (uint64_t at = 0; at < count && result == 0; at += 512) {
		uint64_t batch_count = count - at < 512 ? count - at : 512, offset;

		if (__builtin_add_overflow(symbols->sh_offset, at * sizeof(batch[0]), &offset))
			return -EINVAL;
		result = read_at(reader, offset, batch, batch_count * sizeof(batch[0]));
		for (uint64_t i = 0; i < batch_count && result == 0; i++) {
			if (batch[i].st_shndx != SHN_UNDEF && batch[i].st_name < names_size)
				result = each(context, names + batch[i].st_name, symbols->sh_type == SHT_DYNSYM);
		}
	}
	return result;
}

static int each_of_section(const struct elf_reader *reader, const Elf64_Ehdr *header, const Elf64_Shdr *symbols,
			   ebbi_elf_symbol_fn *each, void *context, bool *ret_all)
{
	Elf64_Shdr strings;
	char *names;
	int result = read_section(reader, header, symbols->sh_link, &strings);

	if (result != 0)
		return result;
	if (strings.sh_size > MAX_NAMES || symbols->sh_size / sizeof(Elf64_Sym) > MAX_LISTED) {
		*ret_all = false;
		return 0;
	}
	names = malloc(strings.sh_size + 1);
	if (!names)
		return -ENOMEM;
	result = read_at(reader, strings.sh_offset, names, strings.sh_size);
	names[strings.sh_size] = 0;
	if (result == 0)
		result = each_of_table(reader, symbols, names, strings.sh_size, each, context);
	free(names);
	return result;
}

int ebbi_elf_each_symbol(const struct elf_reader *reader, ebbi_elf_symbol_fn *each, void *context, bool *ret_all)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	Elf64_Ehdr header;
	int result = read_sections_header(reader, &header);

	*ret_all = true;
	for (size_t i = 0; i < 2 && result == 0; i++) {
		for (unsigned at = 0; at < header.e_shnum && result == 0; at++) {
			Elf64_Shdr symbols;

			result = read_section(reader, &header, at, &symbols);
			if (result != 0 || symbols.sh_type != types[i])
				continue;
			result = each_of_section(reader, &header, &symbols, each, context, ret_all);
			break;
		}
	}
	return result;
}

static int each_piece(const struct elf_reader *reader, const Elf64_Shdr *section, char *buffer, uint64_t most,
		      ebbi_elf_data_fn *each, void *context)
{
	uint64_t size = section->sh_size < most ? section->sh_size : most;
	int result = 0;

	for (uint64_t at = 0; at < size && result == 0; at += PIECE_BYTES - OVERLAP) {
		size_t piece = size - at < PIECE_BYTES ? (size_t)(size - at) : PIECE_BYTES;
		uint64_t offset;

		if (__builtin_add_overflow(section->sh_offset, at, &offset))
			return -EINVAL;
		result = read_at(reader, offset, buffer, piece);
		if (result == 0)
			result = each(context, buffer, piece);
	}
	return result;
}

int ebbi_elf_each_data(const struct elf_reader *reader, ebbi_elf_data_fn *each, void *context)
{
	Elf64_Ehdr header;
	uint64_t left = MAX_DATA;
	char *buffer = malloc(PIECE_BYTES);
	int result = buffer ? read_sections_header(reader, &header) : -ENOMEM;

	for (unsigned at = 0; result == 0 && at < header.e_shnum && left > 0; at++) {
		Elf64_Shdr section;

		result = read_section(reader, &header, at, &section);
		if (result != 0 || section.sh_type != SHT_PROGBITS ||
		    (section.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != SHF_ALLOC)
			continue;
		result = each_piece(reader, &section, buffer, left, each, context);
		left -= section.sh_size < left ? section.sh_size : left;
	}
	free(buffer);
	return result;
}

int ebbi_elf_read_path(const char *path, struct elf_info *ret_info)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_reader reader = {.read = ebbi_elf_read_fd, .context = &fd};
	int error;

	if (fd < 0)
		return -errno;
	error = ebbi_elf_read(&reader, ret_info);
	close(fd);
	return error;
}
