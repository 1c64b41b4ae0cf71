/* Where glibc's arenas and their pieces of address space lie. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "observe/glibc_walk.h"

/* struct malloc_state, glibc 2.27 to 2.41. */
#define STATE_BYTES 0x898
#define STATE_FASTBINS 16
#define STATE_BINS 112
#define STATE_BIN_COUNT 127
#define STATE_NEXT 2160
#define STATE_SYSTEM 2184
#define STATE_SYSTEM_MOST 2192
/*
 * Empty bins of a real arena, which point to 16 bytes before themselves, as nothing else does: at rest nearly all of them; where
 * blocks of all sizes were freed and sorted, a dozen of the largest.
 */
#define EMPTY_BINS_LEAST 2
/* struct malloc_state is looked for in so much of a program's data. */
#define DATA_MOST (32u << 20)
#define PIECES_MOST 65536
/* The record of a thread's cache is the first block that a thread takes (glibc 2.30 to 2.41). */
#define CACHE_CHUNK 0x290
#define FIRST_BLOCK_WITHIN (256u << 10)

struct heap_info {
	uint64_t arena;
	uint64_t previous;
	uint64_t size;
	uint64_t usable;
};

static uint64_t word(const char *bytes, size_t offset)
{
	uint64_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

uint64_t ebbi_glibc_clock(int clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool ebbi_glibc_late(const struct glibc_search *search)
{
	return ebbi_glibc_clock(CLOCK_THREAD_CPUTIME_ID) > search->busy_until_ns ||
	       ebbi_glibc_clock(CLOCK_MONOTONIC) > search->until_ns;
}

static const struct glibc_range *range_at(const struct glibc_search *search, uint64_t address)
{
	size_t low = 0, high = search->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < search->range_count && search->ranges[low].start <= address ? &search->ranges[low] : NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct glibc_piece *left = a, *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

struct glibc_piece *ebbi_glibc_piece_at(const struct glibc_search *search, uint64_t address)
{
	size_t low = 0, high = search->piece_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->pieces[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < search->piece_count && search->pieces[low].first <= address ? &search->pieces[low] : NULL;
}

/* Whether these bytes, which lie at `address`, are an arena: its bins point to themselves or to chunks. */
static bool parse_state(const struct glibc_search *search, const char *bytes, uint64_t address,
			struct glibc_state *ret_state)
{
	uint64_t top = word(bytes, GLIBC_STATE_TOP), next = word(bytes, STATE_NEXT), system = word(bytes, STATE_SYSTEM);
	size_t empty = 0;

	if ((top & 15) != 0 || (next & 7) != 0 || !range_at(search, top) || !range_at(search, next) || system == 0 ||
	    system > word(bytes, STATE_SYSTEM_MOST))
		return false;
	for (size_t i = 0; i < STATE_BIN_COUNT; i++) {
		uint64_t self = address + STATE_BINS + 16 * i - 16;
		uint64_t forward = word(bytes, STATE_BINS + 16 * i), backward = word(bytes, STATE_BINS + 16 * i + 8);

		if ((forward == self) != (backward == self) || ((forward | backward) & 7) != 0)
			return false;
		if (forward != self && (!range_at(search, forward) || !range_at(search, backward)))
			return false;
		empty += forward == self;
	}
	if (empty < EMPTY_BINS_LEAST)
		return false;
	ret_state->address = address;
	ret_state->top = top;
	ret_state->next = next;
	for (size_t i = 0; i < GLIBC_FASTBINS; i++)
		ret_state->fastbins[i] = word(bytes, STATE_FASTBINS + 8 * i);
	return true;
}

static const struct glibc_state *state_of(const struct glibc_search *search, uint64_t address)
{
	for (size_t i = 0; i < search->state_count; i++) {
		if (search->states[i].address == address)
			return &search->states[i];
	}
	return NULL;
}

static int add_state(struct glibc_search *search, const struct glibc_state *state)
{
	struct glibc_state *more;

	if (state_of(search, state->address))
		return 0;
	if ((search->state_count & (search->state_count - 1)) == 0) {
		size_t room = search->state_count ? 2 * search->state_count : 1;

		more = realloc(search->states, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		search->states = more;
	}
	search->states[search->state_count++] = *state;
	return 0;
}

static int add_piece(struct glibc_search *search, const struct glibc_piece *piece)
{
	struct glibc_piece *more;

	if (search->piece_count == PIECES_MOST)
		return 0;
	if ((search->piece_count & (search->piece_count - 1)) == 0) {
		size_t room = search->piece_count ? 2 * search->piece_count : 1;

		more = realloc(search->pieces, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		search->pieces = more;
	}
	search->pieces[search->piece_count++] = *piece;
	return 0;
}

/* --- Arenas of threads ---------------------------------------------------------------------- */

/* The heap_info at a multiple of 64 MiB, when there is one that makes sense. */
static int read_heap_info(struct glibc_search *search, uint64_t address, const struct glibc_range *range,
			  struct heap_info *ret_info)
{
	int error = ebbi_window_read(&search->window, address, ret_info, sizeof(*ret_info));
	uint64_t own = ret_info->arena - address;

	if (error != 0)
		return error;
	if (ret_info->size < PAGE_BYTES || ret_info->size > ret_info->usable || ret_info->usable > GLIBC_HEAP_BYTES ||
	    ret_info->size > range->end - address || ((ret_info->size | ret_info->usable) & (PAGE_BYTES - 1)) != 0)
		return -ENOENT;
	/* The first heap of an arena holds its state, behind 32 bytes, or 48 since 2.35. Later ones name the one before. */
	if (ret_info->previous == 0 ? own != 0x20 && own != 0x30
				    : (ret_info->previous % GLIBC_HEAP_BYTES) != 0 || own < GLIBC_HEAP_BYTES)
		return -ENOENT;
	return range_at(search, ret_info->arena) ? 0 : -ENOENT;
}

static int find_heap(struct glibc_search *search, uint64_t address, const struct glibc_range *range)
{
	struct heap_info info;
	struct glibc_state state;
	char bytes[STATE_BYTES];
	int error = read_heap_info(search, address, range, &info);
	uint64_t head = (info.arena % GLIBC_HEAP_BYTES);

	if (error == 0)
		error = ebbi_window_read(&search->window, info.arena, bytes, sizeof(bytes));
	if (error != 0)
		return error == -ENOENT || error == -ENODATA || error == -EFAULT ? 0 : error;
	if (!parse_state(search, bytes, info.arena, &state))
		return 0;
	error = add_state(search, &state);
	if (error != 0)
		return error;
	return add_piece(search, &(struct glibc_piece){
					 .arena = info.arena,
					 .first = info.previous == 0 ? (info.arena + STATE_BYTES + 15) & ~(uint64_t)15
								     : address + head,
					 .end = address + info.size,
				 });
}

static int find_heaps(struct glibc_search *search)
{
	int error = 0;

	for (size_t i = 0; i < search->range_count && error == 0; i++) {
		const struct glibc_range *range = &search->ranges[i];
		uint64_t address = (range->start + GLIBC_HEAP_BYTES - 1) & ~(GLIBC_HEAP_BYTES - 1);

		for (; !range->brk && error == 0 && address < range->end; address += GLIBC_HEAP_BYTES)
			error = find_heap(search, address, range);
	}
	return error;
}

/* --- The main arena -------------------------------------------------------------------------- */

/* Its state lies in data of the C library: the only place there whose bins point to themselves. */
static int find_main_in(struct glibc_search *search, const struct glibc_range *range, const struct glibc_range *brk,
			struct glibc_state *ret_state)
{
	size_t size = range->end - range->start < DATA_MOST ? (size_t)(range->end - range->start) : DATA_MOST;
	char *bytes = malloc(size);
	int error = bytes ? ebbi_window_copy(&search->window, range->start, bytes, size) : -ENOMEM;
	bool found = false;

	for (size_t at = 0; error == 0 && !found && at + STATE_BYTES <= size; at += 8) {
		uint64_t top = word(bytes, at + GLIBC_STATE_TOP);

		if (top < brk->start || top >= brk->end)
			continue;
		found = parse_state(search, bytes + at, range->start + at, ret_state);
	}
	free(bytes);
	return error == 0 && !found ? -ENOENT : error;
}

/*
 * Where malloc began: at the start of [heap], unless somebody took memory there before (a static program's threads'
 * data): then at the record of the first thread's cache. A wrong guess does not survive the walk.
 */
static int find_first(struct glibc_search *search, const struct glibc_range *brk, uint64_t *ret_first)
{
	uint64_t limit = brk->end - brk->start < FIRST_BLOCK_WITHIN ? brk->end : brk->start + FIRST_BLOCK_WITHIN;

	*ret_first = brk->start;
	for (uint64_t at = brk->start; at + 16 <= limit; at += 16) {
		uint64_t chunk[2];
		int error = ebbi_window_read(&search->window, at, chunk, sizeof(chunk));

		if (error == -ENODATA || error == -EFAULT)
			return 0;
		if (error != 0)
			return error;
		if (chunk[0] == 0 && chunk[1] == (CACHE_CHUNK | 1)) {
			*ret_first = at;
			return 0;
		}
	}
	return 0;
}

static int find_main(struct glibc_search *search)
{
	const struct glibc_range *brk = NULL;
	struct glibc_piece piece = {.main = true};
	struct glibc_state state = {0};
	int error = -ENOENT;

	for (size_t i = 0; i < search->range_count && !brk; i++)
		brk = search->ranges[i].brk ? &search->ranges[i] : NULL;
	if (!brk)
		return 0;
	for (size_t i = 0; i < search->range_count && error == -ENOENT; i++) {
		if (search->ranges[i].data)
			error = find_main_in(search, &search->ranges[i], brk, &state);
	}
	if (error == 0)
		error = add_state(search, &state);
	if (error != 0)
		return error == -ENOENT ? 0 : error; /* nobody's heap, or another allocator's */
	piece.arena = state.address;
	piece.end = brk->end;
	error = find_first(search, brk, &piece.first);
	return error == 0 ? add_piece(search, &piece) : error;
}

int ebbi_glibc_find(struct glibc_search *search)
{
	int error = find_main(search);

	if (error == 0)
		error = find_heaps(search);
	if (error == 0 && search->piece_count > 0)
		qsort(search->pieces, search->piece_count, sizeof(search->pieces[0]), by_address);
	return error;
}

void ebbi_glibc_search_free(struct glibc_search *search)
{
	for (size_t i = 0; i < search->piece_count; i++)
		free(search->pieces[i].fast);
	free(search->pieces);
	free(search->states);
	free(search->ranges);
	ebbi_window_close(&search->window);
	*search = (struct glibc_search){0};
}
