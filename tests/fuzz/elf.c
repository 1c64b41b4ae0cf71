/* The reader of ELF files, and the search for allocators in them. */
#include <errno.h>
#include <string.h>

#include "observe/allocators.h"
#include "observe/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct memory {
	const uint8_t *bytes;
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct memory memory = {bytes, size};
	struct elf_reader reader = {.read = read_memory, .context = &memory};
	struct elf_info info;
	struct elf_symbol symbol;
	struct process_allocators allocators = {0};
	bool defines;

	if (ebbi_elf_read(&reader, &info) == 0 &&
	    (strlen(info.interpreter) >= sizeof(info.interpreter) || strlen(info.build_id) >= sizeof(info.build_id)))
		__builtin_trap();
	(void)ebbi_elf_symbol(&reader, "ebb_shared_snapshot", &symbol);
	for (int i = 0; i < 3; i++)
		(void)ebbi_allocators_in_file(&reader, "libjemalloc.so", i == 0, &allocators, &defines);
	if (allocators.count > ALLOCATORS_MOST)
		__builtin_trap();
	return 0;
}
