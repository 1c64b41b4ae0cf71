#include "accounts/modules.h"

#include <string.h>

#include "base/bits.h"

/* Files that allocate for whoever called them, by how their names begin. */
static const char *const plumbing[] = {
	"libc.so",       "libc-2.",    "libstdc++.so", "libgcc_s.so", "ld-linux",
	"libpthread.so", "libc++.so.", "libc++abi.so", "libebb.so",   "ld-2.",
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

void ebbi_module_shown_name(const char *path, char *ret_name, size_t size)
{
	const char *name = file_name(path);
	size_t length = strlen(name);

	for (const char *end = strstr(name, ".so"); end != NULL; end = strstr(end + 1, ".so")) {
		if (end != name && (end[3] == '\0' || end[3] == '.')) {
			length = (size_t)(end - name);
			break;
		}
	}
	length = ebbi_min_size(length, size - 1);
	memcpy(ret_name, name, length);
	ret_name[length] = '\0';
}

/* Two files that are loaded at the same place one after the other hardly have the same index of functions. */
static uint64_t print_of(const struct ebbi_object *object)
{
	uint64_t words[4];

	if (object->eh_frame == NULL || (uint64_t)object->eh_frame + sizeof(words) > object->end)
		return 0;
	memcpy(words, object->eh_frame, sizeof(words));
	return ebbi_hash(words[0] ^ ebbi_hash(words[1] ^ ebbi_hash(words[2] ^ ebbi_hash(words[3]))));
}

static uint16_t *head_of(uint64_t start)
{
	return &ebbi_tables.module_heads[ebbi_hash(start) >> 8 & 63];
}

static bool is_same(const struct ebbi_object *object, uint64_t print, uint32_t module)
{
	const struct ebb_profile_module *known = &ebbi_tables.modules[module];
	const struct ebbi_module_more *more = &ebbi_tables.modules_more[module];

	if (known->start != object->start || known->end != object->end || more->print != print)
		return false;
	if (object->name[0] == '\0')
		return more->is_program;
	return strncmp(known->path, object->name, sizeof(known->path) - 1) == 0;
}

static uint32_t find(const struct ebbi_object *object, uint64_t print)
{
	uint32_t module = ebbi_load_acquire(head_of(object->start)); /* partner: add_locked */

	while (module != 0 && !is_same(object, print, module))
		module = ebbi_tables.modules_more[module].older;
	return module;
}

static uint8_t owner_locked(const char *path)
{
	struct ebbi_tables *tables = &ebbi_tables;
	char name[EBBI_OWNER_NAME];
	uint32_t owner;

	ebbi_module_shown_name(path, name, sizeof(name));
	for (owner = 1; owner < tables->owners_used; owner++)
		if (strcmp(tables->owners[owner].name, name) == 0)
			return (uint8_t)owner;
	if (owner >= EBBI_OWNER_OTHERS)
		return EBBI_OWNER_OTHERS;
	memcpy(tables->owners[owner].name, name, sizeof(name));
	ebbi_store_release(&tables->owners_used, owner + 1);
	return (uint8_t)owner;
}

static enum ebbi_module_kind kind_of(const struct ebbi_object *object, const char *path)
{
	const char *name = file_name(path);
	uint64_t own = (uint64_t)&kind_of;

	if (object->name[0] == '\0')
		return EBBI_MODULE_ORDINARY; /* also when this library was linked into it */
	if (own >= object->start && own < object->end)
		return EBBI_MODULE_OWN;
	for (unsigned i = 0; i < sizeof(plumbing) / sizeof(plumbing[0]); i++)
		if (strncmp(name, plumbing[i], strlen(plumbing[i])) == 0)
			return EBBI_MODULE_PLUMBING;
	return EBBI_MODULE_ORDINARY;
}

static uint32_t add_locked(const struct ebbi_object *object, uint64_t print)
{
	struct ebbi_tables *tables = &ebbi_tables;
	uint32_t number = ebb_shared_profile.modules;
	struct ebb_profile_module *module = &tables->modules[number];
	uint16_t *head = head_of(object->start);

	if (number == EBBI_MODULES_MOST)
		return 0;
	module->start = object->start;
	module->end = object->end;
	module->bias = object->bias;
	module->build_id_bytes = (uint8_t)ebbi_object_build_id(object, module->build_id, sizeof(module->build_id));
	if (object->name[0] == '\0')
		ebbi_object_program_path(module->path, sizeof(module->path));
	else
		strncpy(module->path, object->name, sizeof(module->path) - 1);
	tables->modules_more[number] = (struct ebbi_module_more){
		.print = print,
		.older = *head,
		.owner = owner_locked(module->path),
		.kind = (uint8_t)kind_of(object, module->path),
		.is_program = object->name[0] == '\0',
	};
	ebbi_store_release(&ebb_shared_profile.modules, number + 1);
	ebbi_store_release(head, (uint16_t)number);
	return number;
}

uint32_t ebbi_module_number(const struct ebbi_object *object)
{
	uint64_t print = print_of(object);
	uint32_t module = find(object, print);

	if (EBBI_LIKELY(module != 0) || !ebbi_tables_lock_try())
		return module;
	module = find(object, print);
	if (module == 0)
		module = add_locked(object, print);
	ebbi_tables_unlock();
	return module;
}
