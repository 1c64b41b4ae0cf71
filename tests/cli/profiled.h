/*
 * profiled.h: a process whose heap profile is known: it fills the tables of ebb/profile.h itself, with its real stacks.
 *
 * record(bytes, objects) notes the stack it is called from. Include it in one file of a program only.
 */
#ifndef TESTS_CLI_PROFILED_H
#define TESTS_CLI_PROFILED_H

#include <ebb/profile.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM 256

#ifdef __cplusplus
extern "C" {
#endif

static struct ebb_profile_node nodes[ROOM] = {{0, 0, 0}};
static struct ebb_profile_site sites[ROOM];
static struct ebb_profile_module modules[ROOM];

__attribute__((visibility("default"), used)) struct ebb_shared_profile ebb_shared_profile;

#ifdef __cplusplus
}
#endif

static void note_build_id(struct ebb_profile_module *module, uintptr_t at, size_t bytes)
{
	for (size_t offset = 0; offset + sizeof(ElfW(Nhdr)) < bytes;) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(at + offset);
		size_t name_bytes = (note->n_namesz + 3u) & ~3u;

		if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof(module->build_id)) {
			module->build_id_bytes = (uint8_t)note->n_descsz;
			memcpy(module->build_id, (const char *)(note + 1) + name_bytes, note->n_descsz);
		}
		offset += sizeof(*note) + name_bytes + ((note->n_descsz + 3u) & ~3u);
	}
}

static int note_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct ebb_profile_module *module = &modules[ebb_shared_profile.modules];

	(void)size;
	(void)context;
	for (uint32_t i = 1; i < ebb_shared_profile.modules; i++) {
		if (modules[i].bias == info->dlpi_addr && strcmp(modules[i].path, info->dlpi_name) == 0)
			return 0;
	}
	memset(module, 0, sizeof(*module));
	module->bias = info->dlpi_addr;
	module->start = UINT64_MAX;
	snprintf(module->path, sizeof(module->path), "%s", info->dlpi_name);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_NOTE)
			note_build_id(module, at, segment->p_memsz);
		if (segment->p_type == PT_LOAD && at < module->start)
			module->start = at;
		if (segment->p_type == PT_LOAD && at + segment->p_memsz > module->end)
			module->end = at + segment->p_memsz;
	}
	ebb_shared_profile.modules++;
	return 0;
}

static uint32_t module_of(uint64_t address)
{
	for (uint32_t i = 1; i < ebb_shared_profile.modules; i++) {
		if (address >= modules[i].start && address < modules[i].end)
			return i;
	}
	return 0;
}

static void begin(uint64_t interval_bytes)
{
	ebb_shared_profile.magic = EBB_PROFILE_MAGIC;
	ebb_shared_profile.version = EBB_PROFILE_VERSION;
	ebb_shared_profile.size_bytes = sizeof(ebb_shared_profile);
	ebb_shared_profile.interval_bytes = interval_bytes;
	ebb_shared_profile.nodes_at = (uintptr_t)nodes;
	ebb_shared_profile.sites_at = (uintptr_t)sites;
	ebb_shared_profile.modules_at = (uintptr_t)modules;
	ebb_shared_profile.node_bytes = sizeof(nodes[0]);
	ebb_shared_profile.site_bytes = sizeof(sites[0]);
	ebb_shared_profile.module_bytes = sizeof(modules[0]);
	ebb_shared_profile.nodes = 1;
	ebb_shared_profile.modules = 1;
}

__attribute__((noinline)) static void record(uint64_t bytes, uint64_t objects)
{
	void *stack[64];
	int depth = backtrace(stack, 64);
	uint32_t node = 0;

	dl_iterate_phdr(note_module, NULL);
	/* Without this function itself. */
	for (int i = depth - 1; i > 0; i--) {
		uint32_t number = ebb_shared_profile.nodes++;

		nodes[number].address = (uintptr_t)stack[i];
		nodes[number].parent = node;
		nodes[number].module = module_of((uintptr_t)stack[i]);
		node = number;
	}
	sites[ebb_shared_profile.sites].node = node;
	sites[ebb_shared_profile.sites].live_bytes = bytes;
	sites[ebb_shared_profile.sites].live_objects = objects;
	sites[ebb_shared_profile.sites].total_bytes = 2 * bytes;
	sites[ebb_shared_profile.sites].total_objects = 2 * objects;
	ebb_shared_profile.sites++;
}

static void wait_for_the_end(void)
{
	puts("ready");
	fflush(stdout);
	/* Whoever started it closes its standard input. */
	while (getchar() != EOF)
		;
}

#endif
