/*
 * The reader of heap profiles, and what is made of them: an input is the memory of a process, from address 4096 on, with
 * the shared struct first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/stacks.h"
#include "report/heap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define START 4096

struct memory {
	const uint8_t *bytes;
	size_t size;
};

static int read_memory(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	const struct memory *memory = context;

	if (address < START || address - START > memory->size || memory->size - (address - START) < size)
		return -EFAULT;
	memcpy(ret_bytes, memory->bytes + (address - START), size);
	return 0;
}

/* What the header promises. */
static void check(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->node_count; i++) {
		uint32_t depth = 0;

		for (uint32_t node = i; node != 0; node = profile->nodes[node].parent) {
			if (profile->nodes[node].parent >= node || depth++ == PROFILE_DEPTH)
				__builtin_trap();
		}
		if (profile->nodes[i].module >= profile->module_count)
			__builtin_trap();
	}
	for (uint32_t i = 0; i < profile->site_count; i++) {
		if (profile->sites[i].node >= profile->node_count || profile->sites[i].owner >= profile->module_count)
			__builtin_trap();
	}
	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (!memchr(profile->modules[i].path, 0, sizeof(profile->modules[i].path)) ||
		    profile->modules[i].build_id_bytes > EBB_PROFILE_BUILD_ID)
			__builtin_trap();
	}
}

static void write_everything(const struct heap *heap)
{
	struct heap_text text = {.columns = 80, .all = true};
	char *written = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&written, &length);
	json_t *document = ebbi_heap_json(heap);
	uint8_t *packed = NULL;

	ebbi_heap_text(stream, heap, &text);
	ebbi_heap_folded(stream, heap);
	ebbi_heap_svg(stream, heap);
	fclose(stream);
	free(written);
	if (!document || ebbi_heap_pprof(heap->stacks, &heap->about, &packed, &length) != 0)
		__builtin_trap();
	json_decref(document);
	free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct memory memory = {bytes, size};
	struct profile_reader reader = {.read = read_memory, .context = &memory};
	struct heap_about about = {.pid = 1, .command = "fuzz", .program = "/bin/fuzz"};
	struct profile profile;
	struct stacks stacks;
	struct heap heap;
	uint32_t version;

	if (ebbi_profile_load(&reader, START, &profile, &version) != 0)
		return 0;
	check(&profile);
	if (ebbi_stacks_make(&profile, NULL, &stacks) != 0)
		return 0;
	if (ebbi_heap_make(&stacks, &about, &heap) == 0) {
		write_everything(&heap);
		ebbi_heap_free(&heap);
	}
	ebbi_stacks_free(&stacks);
	return 0;
}
