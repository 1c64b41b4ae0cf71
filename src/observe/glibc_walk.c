/* Chunk after chunk through a piece of glibc's heap. */
#include "observe/glibc_walk.h"

#include <errno.h>
#include <string.h>

#define PREV_INUSE 1u
#define IS_MAPPED 2u
#define NON_MAIN 4u
#define SIZE_MASK (~(uint64_t)7)
#define LEAST_CHUNK 32u
#define FENCE 16u
#define FENCES_MOST 64u
#define ROOM_MOST ((uint64_t)1 << 46)
/* sizeof(struct malloc_chunk), which malloc_trim leaves alone at the head of a free chunk. */
#define TRIM_HEAD 48u
/* A torn walk goes back so many checkpoints, then further. */
#define CHECKPOINTS 16u
#define CHECKPOINT_CHUNKS 512u
#define RETRIES_MOST 32u
#define CHUNKS_BETWEEN_CLOCKS 65536u
/* struct tcache_perthread_struct, glibc 2.30 to 2.41. */
#define CACHE_CHUNK 0x290u
#define CACHE_BINS 64u
#define CACHE_MOST 65535u

struct chunk {
	uint64_t previous_size;
	uint64_t head;
};

/* What was counted up to a chunk. */
struct tally {
	uint64_t at;
	struct chunk chunk;
	uint64_t run; /* where a run of free chunks began; 0: not in one */
	uint64_t live, chunks, free, fast, trimmable, pinned, cached, caches;
};

struct walker {
	struct glibc_search *search;
	const struct glibc_piece *piece;
	struct tally now;
	struct tally kept[CHECKPOINTS];
	unsigned kept_count; /* all that were ever kept; the ring has the last ones */
	unsigned retries;    /* since it last came further than before */
	uint64_t furthest;
	uint64_t all_retries;
	uint64_t arena_top; /* where its arena says that the top begins; 0: not known */
	uint64_t top;       /* where it was found; 0: not reached */
	uint64_t top_end;
	uint64_t top_free; /* where the free run that it ends begins */
};

enum step { STEP_ON, STEP_TORN, STEP_TOP, STEP_END };

static bool is_fast(const struct glibc_piece *piece, uint64_t at)
{
	uint64_t bit = (at - (piece->first & ~(uint64_t)15)) / 16;

	return piece->fast && (piece->fast[bit / 8] >> bit % 8 & 1);
}

static uint64_t page_up(uint64_t address)
{
	return (address + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* A run of free chunks ends at `end`: what malloc_trim would return of it, and what it could not. */
static int end_run(struct walker *walker, uint64_t end)
{
	struct tally *now = &walker->now;
	uint64_t low = page_up(now->run + TRIM_HEAD), high = end & ~(uint64_t)(PAGE_BYTES - 1), resident = 0;
	int error = 0;

	if (high > low)
		error = ebbi_window_resident(&walker->search->window, low, high, &resident);
	now->trimmable += resident;
	now->pinned += end - now->run - (high > low ? high - low : 0);
	now->run = 0;
	return error;
}

/* --- Thread caches ---------------------------------------------------------------------------- */

/* The record of a thread's cache: a count for each size, and a list exactly where the count is not 0. */
static bool is_cache(const struct walker *walker, const char *bytes, uint64_t *ret_cached)
{
	uint16_t counts[CACHE_BINS];
	uint64_t lists[CACHE_BINS], cached = 0;

	memcpy(counts, bytes + 16, sizeof(counts));
	memcpy(lists, bytes + 16 + sizeof(counts), sizeof(lists));
	for (size_t i = 0; i < CACHE_BINS; i++) {
		if ((counts[i] == 0) != (lists[i] == 0) || (lists[i] & 15) != 0)
			return false;
		if (lists[i] != 0 && !ebbi_glibc_piece_at(walker->search, lists[i]))
			return false;
		cached += counts[i] * (LEAST_CHUNK + 16 * (uint64_t)i);
	}
	*ret_cached = cached;
	return true;
}

static int see_cache(struct walker *walker)
{
	char bytes[CACHE_CHUNK];
	uint64_t cached;
	int error = ebbi_window_read(&walker->search->window, walker->now.at, bytes, sizeof(bytes));

	if (error == 0 && is_cache(walker, bytes, &cached)) {
		walker->now.cached += cached;
		walker->now.caches++;
	}
	return error == -ENODATA ? 0 : error;
}

/* --- Steps ------------------------------------------------------------------------------------ */

static bool is_sane(const struct walker *walker, const struct chunk *chunk)
{
	uint64_t size = chunk->head & SIZE_MASK, room = walker->piece->end - walker->now.at;

	return (size & 15) == 0 && size >= LEAST_CHUNK && size <= room && !(chunk->head & IS_MAPPED) &&
	       !(walker->piece->main && (chunk->head & NON_MAIN));
}

static int count_chunk(struct walker *walker, uint64_t size, bool in_use)
{
	struct tally *now = &walker->now;
	bool fast = in_use && is_fast(walker->piece, now->at);

	if (!in_use || fast) {
		now->free += size;
		now->fast += fast ? size : 0;
		if (now->run == 0)
			now->run = now->at;
		return 0;
	}
	now->live += size;
	now->chunks++;
	if (now->run != 0) {
		int error = end_run(walker, now->at);

		if (error != 0)
			return error;
	}
	return size == CACHE_CHUNK ? see_cache(walker) : 0;
}

static void ask_for_top(struct walker *walker)
{
	const struct page_source *source = &walker->search->window.source;

	if (walker->piece->arena == 0 ||
	    source->read(source->context, walker->piece->arena + GLIBC_STATE_TOP, &walker->arena_top, 8) != 0)
		walker->arena_top = 0;
}

/* The last chunk: it ends the piece, or the arena says so: the heap may have grown or shrunk since it was found. */
static bool is_top(struct walker *walker, uint64_t size)
{
	uint64_t room = walker->piece->end - walker->now.at;

	if (size != room && walker->now.at != walker->arena_top)
		return false;
	ask_for_top(walker);
	return size == room || (walker->now.at == walker->arena_top && size < ROOM_MOST && size >= LEAST_CHUNK &&
				(walker->now.at + size) % PAGE_BYTES == 0);
}

/* The piece was longer than this when we came to its end: what is new there is left out. */
static bool has_grown(struct walker *walker)
{
	uint64_t size = walker->now.chunk.head & SIZE_MASK, room = walker->piece->end - walker->now.at;

	if ((size & 15) != 0 || size <= room || size >= ROOM_MOST)
		return false;
	ask_for_top(walker);
	return walker->arena_top >= walker->now.at + size &&
	       (walker->piece->main || walker->arena_top - walker->now.at < GLIBC_HEAP_BYTES);
}

/* From this chunk to the next one, or to where the piece ends. */
static int step(struct walker *walker, enum step *ret_step)
{
	const struct glibc_piece *piece = walker->piece;
	struct tally *now = &walker->now;
	uint64_t size = now->chunk.head & SIZE_MASK;
	struct chunk next;
	bool in_use;
	int error;

	*ret_step = STEP_TORN;
	/* The end of a heap that is not the last one of its arena, and of [heap] where somebody else moved its end. */
	if (size == FENCE || (size == 0 && piece->end - now->at <= FENCE)) {
		*ret_step = STEP_END;
		return 0;
	}
	if (!(now->chunk.head & IS_MAPPED) && is_top(walker, size)) {
		*ret_step = STEP_TOP;
		return 0;
	}
	if (!is_sane(walker, &now->chunk)) {
		if (has_grown(walker))
			*ret_step = STEP_END;
		return 0;
	}
	error = ebbi_window_read(&walker->search->window, now->at + size, &next, sizeof(next));
	if (error != 0)
		return error;
	in_use = next.head & PREV_INUSE;
	if (!in_use && next.previous_size != size)
		return 0;
	if (in_use && !piece->main && !(now->chunk.head & NON_MAIN) && !is_fast(piece, now->at))
		return 0;
	error = count_chunk(walker, size, in_use);
	if (error != 0)
		return error;
	now->at += size;
	now->chunk = next;
	*ret_step = STEP_ON;
	return 0;
}

static void keep(struct walker *walker)
{
	walker->kept[walker->kept_count++ % CHECKPOINTS] = walker->now;
}

/* Back to an earlier chunk, which is read anew; false when that was tried often enough. */
static bool go_back(struct walker *walker)
{
	unsigned back, have = walker->kept_count < CHECKPOINTS ? walker->kept_count : CHECKPOINTS;

	if (walker->now.at > walker->furthest) {
		walker->furthest = walker->now.at;
		walker->retries = 0;
	}
	if (walker->retries++ == RETRIES_MOST || have == 0 || ebbi_glibc_late(walker->search))
		return false;
	walker->all_retries++;
	/* One, two, ... checkpoints back: the older ones are surer. */
	back = 1 + (walker->retries - 1) % have;
	walker->kept_count -= back - 1;
	walker->now = walker->kept[(walker->kept_count - 1) % CHECKPOINTS];
	ebbi_window_refresh(&walker->search->window);
	ask_for_top(walker);
	return ebbi_window_read(&walker->search->window, walker->now.at, &walker->now.chunk, sizeof(struct chunk)) == 0;
}

static int walk(struct walker *walker)
{
	int error = ebbi_window_read(&walker->search->window, walker->now.at, &walker->now.chunk, sizeof(struct chunk));
	enum step did = STEP_ON;

	keep(walker);
	for (uint64_t steps = 1; error == 0; steps++) {
		error = step(walker, &did);
		/* A page that is gone is a torn walk, too: a trim, or a chunk that was made of several. */
		if (error == -ENODATA || error == -EFAULT || (error == 0 && did == STEP_TORN)) {
			error = 0;
			if (!go_back(walker))
				break;
			continue;
		}
		if (error != 0 || did == STEP_TOP || did == STEP_END)
			break;
		if (steps % CHECKPOINT_CHUNKS == 0)
			keep(walker);
		if (steps % CHUNKS_BETWEEN_CLOCKS == 1 && ebbi_glibc_late(walker->search))
			break;
	}
	if (error == -ENODATA || error == -EFAULT)
		error = 0;
	if (error == 0 && did == STEP_TOP) {
		walker->top = walker->now.at;
		walker->top_free = walker->now.run ? walker->now.run : walker->now.at;
		walker->top_end = walker->now.at + (walker->now.chunk.head & SIZE_MASK);
	}
	return error;
}

/* The top and what is free before it: one piece, once fastbins are merged. */
static int count_top(struct walker *walker, struct glibc_arena *arena)
{
	uint64_t size = walker->top_end - walker->top_free, whole, resident = 0;
	int error = 0;

	arena->top_bytes += walker->top_end - walker->top;
	if (walker->piece->main) {
		/* systrim keeps the least chunk and a byte. */
		whole = size > LEAST_CHUNK + 1 ? (size - LEAST_CHUNK - 1) & ~(uint64_t)(PAGE_BYTES - 1) : 0;
	} else {
		whole = (walker->top_end & ~(uint64_t)(PAGE_BYTES - 1)) - page_up(walker->top_free + TRIM_HEAD);
		whole = page_up(walker->top_free + TRIM_HEAD) < walker->top_end ? whole : 0;
	}
	if (whole > 0)
		error = ebbi_window_resident(&walker->search->window, walker->top_end - whole, walker->top_end,
					     &resident);
	if (walker->piece->main)
		arena->trimmable_bytes += resident;
	else
		arena->top_kept_bytes += resident;
	arena->pinned_bytes +=
		walker->top - walker->top_free < size - whole ? walker->top - walker->top_free : size - whole;
	walker->now.run = 0;
	return error;
}

int ebbi_glibc_walk(struct glibc_search *search, const struct glibc_piece *piece, struct glibc_arena *arena,
		    struct glibc_heap *heap)
{
	struct walker walker = {.search = search, .piece = piece, .now = {.at = piece->first}};
	uint64_t resident = 0;
	int error;

	ebbi_window_refresh(&search->window);
	ask_for_top(&walker);
	error = walk(&walker);
	if (error == 0 && walker.top != 0)
		error = count_top(&walker, arena);
	if (error == 0 && walker.now.run != 0)
		error = end_run(&walker, walker.now.at);
	if (error == 0)
		error = ebbi_window_resident(&search->window, piece->first & ~(uint64_t)(PAGE_BYTES - 1), piece->end,
					     &resident);
	if (error != 0)
		return error;
	arena->heaps++;
	arena->system_bytes += piece->end - piece->first;
	arena->resident_bytes += resident;
	arena->live_bytes += walker.now.live;
	arena->live_chunks += walker.now.chunks;
	arena->free_bytes += walker.now.free;
	arena->fast_bytes += walker.now.fast;
	arena->trimmable_bytes += walker.now.trimmable;
	arena->pinned_bytes += walker.now.pinned;
	/* Fences, with what is too small to be a chunk before them, end a piece; nothing else is behind them. */
	if (walker.top == 0 && piece->end - walker.now.at > FENCES_MOST)
		arena->not_walked_bytes += piece->end - walker.now.at;
	heap->cached_bytes += walker.now.cached;
	heap->caches += walker.now.caches;
	heap->retries += walker.all_retries;
	return 0;
}
