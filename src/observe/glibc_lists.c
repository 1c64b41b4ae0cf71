/* What glibc's heap does not say chunk by chunk: fastbins, which are lists, and blocks in mappings of their own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/glibc_walk.h"

#define PAGE_MASK (~(uint64_t)(PAGE_BYTES - 1))
#define SLOTS 256u
#define NODES_BETWEEN_CLOCKS 4096u
#define IS_MAPPED 2u
/* Where a mapping does not begin with a block: how large one must be, and how long it is looked for. */
#define MAPPED_LEAST (128u << 10)
#define STRANGE_PAGES_MOST 16384u

/* Pages that lists go through, in no order. */
struct page_cache {
	struct page_source *source;
	uint64_t page[SLOTS];
	char bytes[SLOTS][PAGE_BYTES];
};

/* How lists are written: as they are, or (since 2.32) each link mixed with where it stands. */
enum links { LINKS_UNKNOWN, LINKS_PLAIN, LINKS_MIXED };

struct list_walk {
	struct glibc_search *search;
	struct page_cache *cache;
	enum links links;
	uint64_t steps;
};

static int read_cached(struct page_cache *cache, uint64_t address, void *ret_bytes, size_t size)
{
	uint64_t page = address & PAGE_MASK, state;
	size_t slot = (size_t)(page / PAGE_BYTES) % SLOTS;

	if (address - page + size > PAGE_BYTES)
		return -EFAULT;
	if (cache->page[slot] != page) {
		int error = cache->source->states(cache->source->context, page, &state, 1);

		cache->page[slot] = 0;
		if (error == 0 && !(state >> 63))
			error = -ENODATA;
		if (error == 0)
			error = cache->source->read(cache->source->context, page, cache->bytes[slot], PAGE_BYTES);
		if (error != 0)
			return error;
		cache->page[slot] = page;
	}
	memcpy(ret_bytes, cache->bytes[slot] + (address - page), size);
	return 0;
}

/* Whether a chunk of that size begins there; *ret_piece is what it lies in. */
static bool is_chunk(struct list_walk *walk, uint64_t at, uint64_t size, struct glibc_piece **ret_piece)
{
	struct glibc_piece *piece = ebbi_glibc_piece_at(walk->search, at);
	uint64_t head;

	if ((at & 15) != 0 || !piece || piece->end - at < size || read_cached(walk->cache, at + 8, &head, 8) != 0)
		return false;
	*ret_piece = piece;
	return (head & ~(uint64_t)7) == size;
}

/* Marks the chunk; false when it was marked before: the list bites its tail. */
static bool mark(struct glibc_piece *piece, uint64_t at, int *ret_error)
{
	uint64_t bit = (at - piece->first) / 16;

	if (!piece->fast)
		piece->fast = calloc(1, (size_t)((piece->end - piece->first) / 128 + 1));
	if (!piece->fast) {
		*ret_error = -ENOMEM;
		return false;
	}
	if (piece->fast[bit / 8] >> bit % 8 & 1)
		return false;
	piece->fast[bit / 8] |= (uint8_t)(1u << bit % 8);
	return true;
}

/* The link behind a chunk. 0 ends the list; false: it leads nowhere. */
static bool next_of(struct list_walk *walk, uint64_t at, uint64_t size, uint64_t *ret_next)
{
	struct glibc_piece *piece;
	uint64_t link, mixed;

	if (read_cached(walk->cache, at + 16, &link, 8) != 0)
		return false;
	mixed = link ^ (at + 16) >> 12;
	if (walk->links != LINKS_PLAIN && (mixed == 0 || is_chunk(walk, mixed, size, &piece))) {
		walk->links = LINKS_MIXED;
		*ret_next = mixed;
		return true;
	}
	if (walk->links != LINKS_MIXED && (link == 0 || is_chunk(walk, link, size, &piece))) {
		walk->links = LINKS_PLAIN;
		*ret_next = link;
		return true;
	}
	return false;
}

static bool follow(struct list_walk *walk, uint64_t at, uint64_t size, int *ret_error)
{
	while (at != 0) {
		struct glibc_piece *piece;

		if (!is_chunk(walk, at, size, &piece) || !mark(piece, at, ret_error) || !next_of(walk, at, size, &at))
			return false;
		if (++walk->steps % NODES_BETWEEN_CLOCKS == 0 && ebbi_glibc_late(walk->search))
			return false;
	}
	return true;
}

int ebbi_glibc_fastbins(struct glibc_search *search, bool *ret_known)
{
	struct list_walk walk = {.search = search, .cache = calloc(1, sizeof(*walk.cache))};
	int error = 0;

	if (!walk.cache)
		return -ENOMEM;
	walk.cache->source = &search->window.source;
	*ret_known = true;
	for (size_t i = 0; i < search->state_count && error == 0; i++) {
		for (size_t bin = 0; bin < GLIBC_FASTBINS && error == 0; bin++)
			*ret_known &= follow(&walk, search->states[i].fastbins[bin], 32 + 16 * (uint64_t)bin, &error);
	}
	free(walk.cache);
	return error;
}

/* --- Blocks in mappings of their own -------------------------------------------------------------- */

/* A block that begins at this page, or 0. */
static uint64_t mapped_at(struct glibc_search *search, uint64_t at, uint64_t end, uint64_t least)
{
	uint64_t chunk[2], size;

	if (ebbi_window_read(&search->window, at, chunk, sizeof(chunk)) != 0)
		return 0;
	size = chunk[1] & ~(uint64_t)7;
	if (chunk[0] != 0 || (chunk[1] & 7) != IS_MAPPED || size % PAGE_BYTES != 0 || size < least || size > end - at)
		return 0;
	return size;
}

static int mapped_in(struct glibc_search *search, const struct glibc_range *range, struct glibc_heap *heap)
{
	uint64_t least = 2 * (uint64_t)PAGE_BYTES;
	unsigned strange = 0;

	for (uint64_t at = range->start; at < range->end && strange < STRANGE_PAGES_MOST;) {
		const struct glibc_piece *piece = ebbi_glibc_piece_at(search, at + PAGE_BYTES);
		uint64_t size = piece ? 0 : mapped_at(search, at, range->end, least), resident;
		int error;

		if (piece) {
			at = piece->end;
			continue;
		}
		if (size == 0) {
			strange++;
			least = MAPPED_LEAST;
			at += PAGE_BYTES;
			continue;
		}
		error = ebbi_window_resident(&search->window, at, at + size, &resident);
		if (error != 0)
			return error;
		heap->mapped_chunks++;
		heap->mapped_bytes += size;
		heap->mapped_resident_bytes += resident;
		least = 2 * (uint64_t)PAGE_BYTES;
		at += size;
	}
	return 0;
}

int ebbi_glibc_mapped(struct glibc_search *search, struct glibc_heap *heap)
{
	int error = 0;

	ebbi_window_refresh(&search->window);
	for (size_t i = 0; i < search->range_count && error == 0 && !ebbi_glibc_late(search); i++) {
		if (!search->ranges[i].brk && !search->ranges[i].data)
			error = mapped_in(search, &search->ranges[i], heap);
	}
	return error;
}
