#include "platform/objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/bits.h"
#include "platform/syscall.h"

#if defined(__GLIBC__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

bool ebbi_objects_known(void)
{
	return true;
}

/*
 * A program may be mapped with gaps (node is: its linker put the code on huge pages), and then the table has the one segment
 * that was asked for. What unwinding reads, and the headers, lie in others.
 */
static void whole_program(struct ebbi_object *object)
{
	const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long count = segments != NULL ? getauxval(AT_PHNUM) : 0;
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned long i = 0; i < count; i++) {
		uint64_t at = object->bias + segments[i].p_vaddr;

		if (segments[i].p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + segments[i].p_memsz > end ? at + segments[i].p_memsz : end;
	}
	if (start < object->start && end >= object->end) {
		object->start = start;
		object->end = end;
	}
}

bool ebbi_object_find(uint64_t address, struct ebbi_object *ret_object)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) != 0)
		return false;
	ret_object->start = (uint64_t)found.dlfo_map_start;
	ret_object->end = (uint64_t)found.dlfo_map_end;
	ret_object->eh_frame = found.dlfo_eh_frame;
	ret_object->bias = 0;
	ret_object->name = "";
	if (found.dlfo_link_map != NULL) {
		ret_object->bias = found.dlfo_link_map->l_addr;
		if (found.dlfo_link_map->l_name != NULL)
			ret_object->name = found.dlfo_link_map->l_name;
	}
	if (ret_object->name[0] == '\0')
		whole_program(ret_object);
	return true;
}

#else

bool ebbi_objects_known(void)
{
	return false;
}

bool ebbi_object_find(uint64_t address, struct ebbi_object *ret_object)
{
	(void)address;
	(void)ret_object;
	return false;
}

#endif

/* Of one segment of notes. */
static unsigned id_in_notes(const uint8_t *at, const uint8_t *end, uint8_t *ret_id, unsigned most)
{
	while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name = ebbi_round_up(note->n_namesz, 4);
		const uint8_t *description = at + sizeof(*note) + name;

		if ((size_t)(end - at) < sizeof(*note) + name + ebbi_round_up(note->n_descsz, 4))
			return 0;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(at + sizeof(*note), "GNU", 4) == 0 && note->n_descsz <= most) {
			memcpy(ret_id, description, note->n_descsz);
			return note->n_descsz;
		}
		at = description + ebbi_round_up(note->n_descsz, 4);
	}
	return 0;
}

/* The loader maps a file's first page, with its headers, where the object begins. */
unsigned ebbi_object_build_id(const struct ebbi_object *object, uint8_t *ret_id, unsigned most)
{
	const uint8_t *image = (const uint8_t *)object->start;
	const ElfW(Ehdr) *header = (const void *)image;
	const ElfW(Phdr) * segments;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(*segments) ||
	    header->e_phoff + header->e_phnum * sizeof(*segments) > 4096)
		return 0;
	segments = (const void *)(image + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		uint64_t start = object->bias + segments[i].p_vaddr;
		uint64_t end = start + segments[i].p_memsz;
		unsigned length;

		if (segments[i].p_type != PT_NOTE || start < object->start || end > object->end || start > end)
			continue;
		length = id_in_notes((const uint8_t *)start, (const uint8_t *)end, ret_id, most);
		if (length != 0)
			return length;
	}
	return 0;
}

void ebbi_object_program_path(char *ret_path, size_t size)
{
	long length = ebbi_syscall4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)ret_path, (long)size - 1);

	ret_path[length > 0 ? length : 0] = '\0';
}
