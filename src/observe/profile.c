#include "observe/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/shared.h"
#include "observe/text.h"

#define SYMBOL "ebb_shared_profile"
#define SYMBOL_OF_OLD "ebb_shared_snapshot"
/* Far above what libebb makes room for; a count beyond them is damage. */
#define MAX_NODES (1u << 22)
#define MAX_SITES (1u << 18)
#define MAX_MODULES (1u << 14)
#define MAX_TABLE_BYTES (256ull << 20)
/* Entries longer than we know them are read in portions of this. */
#define PORTION_BYTES 65536

struct table {
	uint64_t at;
	uint32_t count;
	uint32_t entry_bytes; /* in the process */
	size_t known_bytes;   /* here */
	uint32_t most;
};

static int read_portion(const struct profile_reader *reader, const struct table *table, size_t first, size_t count,
			char *buffer, char *entries)
{
	uint64_t address = table->at + (uint64_t)first * table->entry_bytes;
	int error = reader->read(reader->context, address, buffer, count * table->entry_bytes);

	for (size_t i = 0; i < count && error == 0; i++)
		memcpy(entries + (first + i) * table->known_bytes, buffer + i * table->entry_bytes, table->known_bytes);
	return error;
}

static bool plausible(const struct table *table)
{
	uint64_t bytes = (uint64_t)table->count * table->entry_bytes;
	uint64_t end;

	return table->count <= table->most && table->entry_bytes >= table->known_bytes && bytes <= MAX_TABLE_BYTES &&
	       !__builtin_add_overflow(table->at, bytes, &end);
}

/* A table as an array of entries of the length known here; at least one entry, of zeros. */
static int read_table(const struct profile_reader *reader, const struct table *table, void **ret_entries)
{
	char *entries, *buffer;
	size_t per_portion;
	int error = 0;

	if (table->count > 0 && !plausible(table))
		return -EPROTO;
	per_portion = table->count > 0 ? 1 + PORTION_BYTES / table->entry_bytes : 0;
	entries = calloc((size_t)table->count + 1, table->known_bytes);
	buffer = malloc(per_portion * table->entry_bytes + 1);
	if (!entries || !buffer)
		error = -ENOMEM;
	for (size_t first = 0; first < table->count && error == 0; first += per_portion) {
		size_t left = table->count - first;

		error = read_portion(reader, table, first, left < per_portion ? left : per_portion, buffer, entries);
	}
	free(buffer);
	if (error != 0)
		free(entries);
	else
		*ret_entries = entries;
	return error;
}

/* --- Checks ------------------------------------------------------------------------------ */

/* Parents come before their children; what does not hold to that hangs on the root, and so does what is too deep. */
static int check_nodes(struct profile *profile)
{
	uint16_t *depths = calloc(profile->node_count, sizeof(*depths));

	if (!depths)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->node_count; i++) {
		struct ebb_profile_node *node = &profile->nodes[i];

		if (node->parent >= i || depths[node->parent] >= PROFILE_DEPTH)
			node->parent = 0;
		if (node->module >= profile->module_count)
			node->module = 0;
		depths[i] = i == 0 ? 0 : (uint16_t)(depths[node->parent] + 1);
	}
	free(depths);
	return 0;
}

static void check_sites(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->site_count; i++) {
		struct ebb_profile_site *site = &profile->sites[i];

		if (site->node >= profile->node_count)
			site->node = 0;
		if (site->owner >= profile->module_count)
			site->owner = 0;
		/* A free that is counted while its allocation is not yet makes a figure below 0, for a moment. */
		if (site->live_bytes > INT64_MAX || site->live_objects > INT64_MAX)
			site->live_bytes = site->live_objects = 0;
		if (site->total_bytes > INT64_MAX || site->total_objects > INT64_MAX)
			site->total_bytes = site->total_objects = 0;
	}
}

static void check_modules(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->module_count; i++) {
		struct ebb_profile_module *module = &profile->modules[i];

		module->path[sizeof(module->path) - 1] = 0;
		ebbi_text_clean(module->path);
		if (module->build_id_bytes > sizeof(module->build_id))
			module->build_id_bytes = 0;
	}
}

/* --- All of it --------------------------------------------------------------------------- */

static int read_header(const struct profile_reader *reader, uint64_t address, struct ebb_shared_profile *ret_shared,
		       uint32_t *ret_version)
{
	uint32_t start[4]; /* magic, version, size, reserved: the same in every version */
	int error = reader->read(reader->context, address, start, sizeof(start));

	if (error != 0)
		return error;
	*ret_version = start[0] == EBB_PROFILE_MAGIC ? start[1] : 0;
	if (*ret_version != EBB_PROFILE_VERSION || start[2] < sizeof(*ret_shared))
		return -EPROTO;
	return reader->read(reader->context, address, ret_shared, sizeof(*ret_shared));
}

int ebbi_profile_load(const struct profile_reader *reader, uint64_t address, struct profile *ret_profile,
		      uint32_t *ret_version)
{
	struct ebb_shared_profile shared;
	struct profile profile = {0};
	int error = read_header(reader, address, &shared, ret_version);

	if (error != 0)
		return error;
	profile.interval_bytes = shared.interval_bytes;
	profile.samples_dropped = shared.samples_dropped;
	struct table sites = {shared.sites_at, shared.sites, shared.site_bytes, sizeof(*profile.sites), MAX_SITES};

	error = read_table(reader, &sites, (void **)&profile.sites);
	/* A site names a node and a node a module that were there before it: so their counts are read after it. */
	if (error == 0)
		error = read_header(reader, address, &shared, ret_version);
	struct table nodes = {shared.nodes_at, shared.nodes, shared.node_bytes, sizeof(*profile.nodes), MAX_NODES};

	if (error == 0)
		error = read_table(reader, &nodes, (void **)&profile.nodes);
	if (error == 0)
		error = read_header(reader, address, &shared, ret_version);
	struct table modules = {shared.modules_at, shared.modules, shared.module_bytes, sizeof(*profile.modules),
				MAX_MODULES};

	if (error == 0)
		error = read_table(reader, &modules, (void **)&profile.modules);
	profile.site_count = sites.count;
	profile.node_count = nodes.count ? nodes.count : 1;
	profile.module_count = modules.count ? modules.count : 1;
	if (error == 0)
		error = check_nodes(&profile);
	if (error != 0) {
		ebbi_profile_free(&profile);
		return error;
	}
	check_sites(&profile);
	check_modules(&profile);
	*ret_profile = profile;
	return 0;
}

void ebbi_profile_free(struct profile *profile)
{
	free(profile->nodes);
	free(profile->sites);
	free(profile->modules);
	*profile = (struct profile){0};
}

/* --- Of a process ------------------------------------------------------------------------ */

static int read_process(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	return ebbi_shared_read(*(pid_t *)context, address, ret_bytes, size);
}

/* The program's path, "" when it cannot be told. */
static void program_path(pid_t pid, char *ret_path)
{
	static const char deleted[] = " (deleted)";
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, ret_path, PATH_MAX - 1);
	ret_path[length > 0 ? length : 0] = 0;
	if (length >= (ssize_t)sizeof(deleted) && strcmp(ret_path + length - (sizeof(deleted) - 1), deleted) == 0)
		ret_path[length - (ssize_t)(sizeof(deleted) - 1)] = 0;
}

/* Of the preloaded library, or else of the program that libebb.a was linked into. */
static int find(pid_t pid, const char *symbol, uint64_t *ret_address)
{
	char program[PATH_MAX];
	int error = ebbi_shared_find(pid, "libebb.so", symbol, ret_address);

	if (error != -ENOENT)
		return error;
	program_path(pid, program);
	if (!program[0])
		return error;
	return ebbi_shared_find(pid, strrchr(program, '/') ? strrchr(program, '/') + 1 : program, symbol, ret_address);
}

int ebbi_profile_read(pid_t pid, struct profile *ret_profile, uint32_t *ret_version)
{
	struct profile_reader reader = {.read = read_process, .context = &pid};
	char program[PATH_MAX];
	uint64_t address;
	int error;

	*ret_version = 0;
	error = find(pid, SYMBOL, &address);
	if (error == -ENOENT && find(pid, SYMBOL_OF_OLD, &address) == 0)
		return -ENOTSUP;
	if (error != 0)
		return error;
	error = ebbi_profile_load(&reader, address, ret_profile, ret_version);
	if (error != 0)
		return error;
	/* The loader has no name for the program itself. */
	program_path(pid, program);
	ebbi_text_clean(program);
	for (uint32_t i = 1; i < ret_profile->module_count; i++) {
		struct ebb_profile_module *module = &ret_profile->modules[i];

		if (!module->path[0])
			snprintf(module->path, sizeof(module->path), "%.*s", (int)sizeof(module->path) - 1, program);
	}
	return 0;
}
