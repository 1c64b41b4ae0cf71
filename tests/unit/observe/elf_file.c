/* ELF files: our own, made-up ones, and every kind of lie in the headers. */
#include "observe/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "check.h"

struct memory {
	const unsigned char *bytes;
	size_t size;
};

static int read_memory(void *context, uint64_t offset, void *ret_bytes, size_t size)
{
	const struct memory *memory = context;

	if (offset > memory->size || memory->size - offset < size)
		return -EINVAL;
	memcpy(ret_bytes, memory->bytes + offset, size);
	return 0;
}

/* One loaded segment, an interpreter, a build id, and a dynamic symbol table with two symbols. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[3];
	char strings[32];
	char interpreter[32];
	struct {
		Elf64_Nhdr head;
		char name[4];
		unsigned char id[4];
	} note;
};

static void make(struct file *file)
{
	*file = (struct file){0};
	memcpy(file->header.e_ident, ELFMAG, SELFMAG);
	file->header.e_ident[EI_CLASS] = ELFCLASS64;
	file->header.e_ident[EI_DATA] = ELFDATA2LSB;
	file->header.e_machine = EM_X86_64;
	file->header.e_phoff = offsetof(struct file, segments);
	file->header.e_phentsize = sizeof(Elf64_Phdr);
	file->header.e_phnum = 4;
	file->header.e_shoff = offsetof(struct file, sections);
	file->header.e_shentsize = sizeof(Elf64_Shdr);
	file->header.e_shnum = 3;
	file->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof(*file)};
	file->segments[1] = (Elf64_Phdr){.p_type = PT_INTERP,
					 .p_offset = offsetof(struct file, interpreter),
					 .p_filesz = sizeof(file->interpreter)};
	file->segments[2] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = offsetof(struct file, note), .p_filesz = sizeof(file->note)};
	file->segments[3] = (Elf64_Phdr){.p_type = PT_DYNAMIC};
	file->sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
					 .sh_offset = offsetof(struct file, symbols),
					 .sh_size = sizeof(file->symbols),
					 .sh_link = 2};
	file->sections[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, strings), .sh_size = sizeof(file->strings)};
	file->symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = SHN_UNDEF, .st_value = 7};
	file->symbols[2] = (Elf64_Sym){.st_name = 7, .st_shndx = 1, .st_value = 0x10400, .st_size = 16};
	memcpy(file->strings, "\0wants\0shares", 14);
	strcpy(file->interpreter, "/lib/ld.so");
	file->note.head = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID};
	memcpy(file->note.name, "GNU", 4);
	memcpy(file->note.id, "\xde\xad\xbe\xef", 4);
}

static struct elf_reader reader_of(struct memory *memory)
{
	return (struct elf_reader){.read = read_memory, .context = memory};
}

TEST(whole_file)
{
	struct file file;
	struct memory memory = {(unsigned char *)&file, sizeof(file)};
	struct elf_reader reader = reader_of(&memory);
	struct elf_info info;
	struct elf_symbol symbol;

	make(&file);
	REQUIRE(ebbi_elf_read(&reader, &info) == 0);
	CHECK(info.is_64 && info.dynamic);
	CHECK_EQ(info.machine, EM_X86_64);
	CHECK_STR_EQ(info.interpreter, "/lib/ld.so");
	CHECK_STR_EQ(info.build_id, "deadbeef");
	CHECK_EQ(info.load_address, 0x10000u);
	REQUIRE(ebbi_elf_symbol(&reader, "shares", &symbol) == 0);
	CHECK_EQ(symbol.address, 0x10400u);
	CHECK_EQ(symbol.size_bytes, 16u);
	CHECK_EQ(ebbi_elf_symbol(&reader, "wants", &symbol), -ENOENT); /* undefined */
	CHECK_EQ(ebbi_elf_symbol(&reader, "share", &symbol), -ENOENT);
	CHECK_EQ(ebbi_elf_symbol(&reader, "absent", &symbol), -ENOENT);
}

/* Flips every byte to three values, cuts at every length: an answer, whichever, and no fault. */
TEST(every_byte_may_lie)
{
	static const unsigned char values[] = {0x00, 0x7f, 0xff};
	struct file file;
	struct elf_info info;
	struct elf_symbol symbol;

	for (size_t i = 0; i < sizeof(file) * 3; i++) {
		struct memory memory = {(unsigned char *)&file, sizeof(file)};
		struct elf_reader reader = reader_of(&memory);

		make(&file);
		((unsigned char *)&file)[i / 3] = values[i % 3];
		(void)ebbi_elf_read(&reader, &info);
		(void)ebbi_elf_symbol(&reader, "shares", &symbol);
	}
	make(&file);
	for (size_t length = 0; length < sizeof(file); length++) {
		struct memory memory = {(unsigned char *)&file, length};
		struct elf_reader reader = reader_of(&memory);

		if (ebbi_elf_symbol(&reader, "shares", &symbol) == 0)
			CHECK_GE(length, offsetof(struct file, strings));
		(void)ebbi_elf_read(&reader, &info);
	}
	CHECK(1);
}

TEST(no_elf)
{
	struct memory memory = {(const unsigned char *)"#!/bin/sh\nexit\n    ", 19};
	struct elf_reader reader = reader_of(&memory);
	struct elf_info info;
	struct elf_symbol symbol;

	CHECK_EQ(ebbi_elf_read(&reader, &info), -ENOEXEC);
	CHECK_EQ(ebbi_elf_symbol(&reader, "x", &symbol), -ENOEXEC);
	memory.size = 3;
	CHECK_EQ(ebbi_elf_read(&reader, &info), -ENOEXEC);
}

TEST(ourselves)
{
	struct elf_info info;

	REQUIRE(ebbi_elf_read_path("/proc/self/exe", &info) == 0);
	CHECK(info.is_64 && info.dynamic);
	CHECK(info.interpreter[0] == '/');
	CHECK_EQ(ebbi_elf_read_path("/nowhere", &info), -ENOENT);
	CHECK_EQ(ebbi_elf_read_path("/dev/null", &info), -ENOEXEC);
}

int main(void)
{
	RUN(whole_file);
	RUN(every_byte_may_lie);
	RUN(no_elf);
	RUN(ourselves);
	return check_report();
}
