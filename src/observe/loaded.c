#include "observe/loaded.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "observe/procread.h"
#include "observe/shared.h"

#define HEADERS_MOST 64
#define DYNAMIC_MOST 128
#define AUXILIARY_MOST 64

struct finder {
	struct loaded *loaded;
	bool executable[LOADED_MOST];
};

static int see_mapping(void *context, const struct proc_map *map)
{
	struct finder *finder = context;
	struct loaded *loaded = finder->loaded;
	char path[sizeof(loaded->all[0].path)];
	size_t at = loaded->count;

	if (map->inode == 0 || map->path.at == map->path.end || *map->path.at != '/')
		return 0;
	ebbi_text_copy(&map->path, path, sizeof(path));
	/* Mappings of one object lie side by side; the one before is the usual case. */
	while (at > 0 && strcmp(loaded->all[at - 1].path, path) != 0)
		at--;
	if (at == 0 && loaded->count == LOADED_MOST) {
		loaded->left_out++;
		return 0;
	}
	if (at == 0) {
		struct loaded_object *object = &loaded->all[loaded->count];

		*object = (struct loaded_object){.start = map->start, .deleted = map->deleted};
		memcpy(object->path, path, sizeof(path));
		at = ++loaded->count;
	}
	loaded->all[at - 1].end = map->end;
	finder->executable[at - 1] |= map->executable;
	return 0;
}

/* Data files are no objects. */
static void keep_executable(struct finder *finder)
{
	struct loaded *loaded = finder->loaded;
	size_t kept = 0;

	for (size_t i = 0; i < loaded->count; i++) {
		if (!finder->executable[i])
			continue;
		if (kept != i)
			loaded->all[kept] = loaded->all[i];
		kept++;
	}
	loaded->count = kept;
}

/* --- The loader's list ---------------------------------------------------------------------- */

static struct loaded_object *object_at(struct loaded *loaded, uint64_t address)
{
	for (size_t i = 0; i < loaded->count; i++) {
		if (address >= loaded->all[i].start && address < loaded->all[i].end)
			return &loaded->all[i];
	}
	return NULL;
}

static bool read_auxiliary(pid_t pid, uint64_t *ret_headers, uint64_t *ret_count)
{
	Elf64_auxv_t all[AUXILIARY_MOST];
	ssize_t length = ebbi_proc_read(pid, "auxv", (char *)all, sizeof(all));

	*ret_headers = *ret_count = 0;
	for (ssize_t i = 0; length > 0 && (size_t)(i + 1) * sizeof(all[0]) <= (size_t)length; i++) {
		if (all[i].a_type == AT_PHDR)
			*ret_headers = all[i].a_un.a_val;
		if (all[i].a_type == AT_PHNUM)
			*ret_count = all[i].a_un.a_val;
	}
	return *ret_headers != 0 && *ret_count > 0 && *ret_count <= HEADERS_MOST;
}

/* Where the loader says what it loaded; 0 when the program has no such place. */
static uint64_t debug_address(pid_t pid, uint64_t headers_at, uint64_t count)
{
	Elf64_Phdr headers[HEADERS_MOST];
	Elf64_Dyn dynamic[DYNAMIC_MOST];
	uint64_t bias = 0, dynamic_at = 0, room = 0;

	if (ebbi_shared_read(pid, headers_at, headers, count * sizeof(headers[0])) != 0)
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = headers_at - headers[i].p_vaddr;
		if (headers[i].p_type != PT_DYNAMIC)
			continue;
		dynamic_at = headers[i].p_vaddr;
		room = headers[i].p_memsz / sizeof(dynamic[0]);
	}
	if (dynamic_at == 0)
		return 0;
	room = room < DYNAMIC_MOST ? room : DYNAMIC_MOST;
	if (ebbi_shared_read(pid, dynamic_at + bias, dynamic, room * sizeof(dynamic[0])) != 0)
		return 0;
	for (uint64_t i = 0; i < room && dynamic[i].d_tag != DT_NULL; i++) {
		if (dynamic[i].d_tag == DT_DEBUG)
			return dynamic[i].d_un.d_ptr;
	}
	return 0;
}

/* Moves each object of the list behind those before it. */
static void put_in_order(pid_t pid, struct loaded *loaded, uint64_t debug)
{
	struct r_debug head;
	struct link_map entry;
	size_t placed = 0;

	if (debug == 0 || ebbi_shared_read(pid, debug, &head, sizeof(head)) != 0)
		return;
	entry.l_next = head.r_map;
	for (size_t steps = 0; entry.l_next && steps < 2 * (size_t)LOADED_MOST; steps++) {
		struct loaded_object *object, moved;

		if (ebbi_shared_read(pid, (uintptr_t)entry.l_next, &entry, sizeof(entry)) != 0)
			return;
		object = object_at(loaded, (uintptr_t)entry.l_ld);
		if (!object || object->placed)
			continue;
		moved = *object;
		moved.placed = true;
		memmove(&loaded->all[placed + 1], &loaded->all[placed],
			(size_t)(object - &loaded->all[placed]) * sizeof(moved));
		loaded->all[placed++] = moved;
	}
	loaded->ordered = placed > 0;
}

int ebbi_loaded(pid_t pid, struct loaded *ret_loaded)
{
	struct finder finder = {.loaded = ret_loaded};
	struct loaded_object *program;
	uint64_t headers, count;
	int error;

	memset(ret_loaded, 0, sizeof(*ret_loaded));
	error = ebbi_proc_maps(pid, see_mapping, &finder);
	if (error != 0)
		return error;
	keep_executable(&finder);
	if (!read_auxiliary(pid, &headers, &count))
		return 0;
	program = object_at(ret_loaded, headers);
	if (program)
		program->program = true;
	put_in_order(pid, ret_loaded, debug_address(pid, headers, count));
	return 0;
}

int ebbi_loaded_open(pid_t pid, const struct loaded_object *object)
{
	char path[sizeof(object->path) + 32];
	int fd;

	if (object->program)
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	else if (object->deleted)
		return -ESTALE;
	else
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, object->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
