/*
 * The walk through a heap of glibc, over bytes that may be anything: they stand for a [heap], for data of the C library
 * and for a thread's heap. Sums never exceed what there is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/glibc_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define BRK ((uint64_t)0x555500000000)
#define DATA ((uint64_t)0x7f0000000000)
#define HEAP ((uint64_t)0x7f1000000000)
#define MOST (8u * PAGE_BYTES)

struct memory {
	const uint8_t *bytes;
	size_t size;
};

/* Each of the three shows the input from another place on, and zeros behind it. */
static int read_memory(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	const struct memory *memory = context;
	uint64_t base = address >= HEAP ? HEAP : address >= DATA ? DATA : BRK;
	size_t at = (size_t)(address - base) + (base == DATA ? memory->size / 2 : 0);

	if (address < BRK || address - base + size > MOST)
		return -EFAULT;
	memset(ret_bytes, 0, size);
	if (at < memory->size)
		memcpy(ret_bytes, memory->bytes + at, memory->size - at < size ? memory->size - at : size);
	return 0;
}

static int read_states(void *context, uint64_t address, uint64_t *ret_states, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count; i++)
		ret_states[i] = (address / PAGE_BYTES + i) % 7 == 3 ? 0 : (uint64_t)1 << 63;
	return 0;
}

static void walk(struct glibc_search *search, const struct glibc_piece *piece)
{
	static struct glibc_heap heap;
	struct glibc_arena arena = {0};
	uint64_t room = piece->end - piece->first;

	memset(&heap, 0, sizeof(heap));
	if (ebbi_glibc_walk(search, piece, &arena, &heap) != 0)
		return;
	if (arena.live_bytes > room || arena.free_bytes > room || arena.fast_bytes > arena.free_bytes ||
	    arena.live_bytes + arena.free_bytes + arena.not_walked_bytes > room)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct memory memory = {bytes, size < MOST ? size : MOST};
	struct page_source source = {read_memory, read_states, &memory};
	struct glibc_range ranges[] = {
		{BRK, BRK + MOST, true, false},
		{DATA, DATA + MOST, false, true},
		{HEAP, HEAP + MOST, false, false},
	};
	struct glibc_search search = {.busy_until_ns = UINT64_MAX, .until_ns = UINT64_MAX, .range_count = 3};
	static struct glibc_heap heap;
	bool known;

	search.ranges = malloc(sizeof(ranges));
	if (!search.ranges || ebbi_window_open(&search.window, &source) != 0)
		abort();
	memcpy(search.ranges, ranges, sizeof(ranges));
	if (ebbi_glibc_find(&search) != 0 || ebbi_glibc_fastbins(&search, &known) != 0)
		abort();
	for (size_t i = 0; i < search.piece_count; i++)
		walk(&search, &search.pieces[i]);
	/* Whether or not an arena was found there. */
	walk(&search, &(struct glibc_piece){.first = BRK, .end = BRK + MOST, .main = true});
	walk(&search, &(struct glibc_piece){.first = HEAP + 0x8d0, .end = HEAP + MOST});
	memset(&heap, 0, sizeof(heap));
	if (ebbi_glibc_mapped(&search, &heap) != 0 || heap.mapped_bytes > MOST)
		abort();
	ebbi_glibc_search_free(&search);
	return 0;
}
