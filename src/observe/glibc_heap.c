#include "observe/glibc_heap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe/glibc_walk.h"
#include "observe/procread.h"
#include "observe/stopped.h"

/*
 * What a walk may cost, in CPU time: 2 GB in small chunks take a third of it. Lists come first and get a part. On a
 * machine that has no time for us it takes longer, but not for ever.
 */
#define BUSY_NS 1800000000u
#define LISTS_NS 900000000u
#define WALL_NS 8000000000u
#define RANGES_MOST (1u << 20)
/* Seven blocks of each of 64 sizes from 32 to 1040 bytes. */
#define CACHE_FULL (7u * 64u * (32u + 1040u) / 2u)

struct collector {
	struct glibc_search *search;
	char program[PATH_MAX];
	uint64_t data_end; /* of a mapping of the program's or the C library's data */
	int error;
};

static bool is_c_library(const struct text *path)
{
	const char *slash = memrchr(path->at, '/', ebbi_text_length(path));
	struct text name = *path;

	name.at = slash ? slash + 1 : name.at;
	return ebbi_text_skip(&name, "libc.so") || ebbi_text_skip(&name, "libc-2.");
}

static bool is_text(const struct text *text, const char *word)
{
	return ebbi_text_length(text) == strlen(word) && memcmp(text->at, word, strlen(word)) == 0;
}

static int collect(void *context, const struct proc_map *map)
{
	struct collector *collector = context;
	struct glibc_search *search = collector->search;
	struct glibc_range *range;
	bool file = map->inode != 0;
	bool ours = file && (is_c_library(&map->path) || is_text(&map->path, collector->program));

	if (!map->readable || !map->writable || map->shared || search->range_count == RANGES_MOST)
		return 0;
	if ((search->range_count & (search->range_count - 1)) == 0) {
		size_t room = search->range_count ? 2 * search->range_count : 1;
		struct glibc_range *more = realloc(search->ranges, room * sizeof(*more));

		if (!more) {
			collector->error = -ENOMEM;
			return 1;
		}
		search->ranges = more;
	}
	range = &search->ranges[search->range_count];
	*range = (struct glibc_range){.start = map->start, .end = map->end, .brk = is_text(&map->path, "[heap]")};
	/* Zeroed data stands behind the file's. */
	range->data = ours || (!file && !range->brk && map->start == collector->data_end);
	if (range->data)
		collector->data_end = map->end;
	/* A file of somebody else's, or the kernel's. */
	if (!range->data && !range->brk &&
	    (file || (map->path.at != map->path.end && !is_text(&map->path, "[stack]") && *map->path.at != '[')))
		return 0;
	search->range_count++;
	return 0;
}

static int collect_ranges(pid_t pid, struct glibc_search *search)
{
	struct collector collector = {.search = search};
	char link[64];
	ssize_t length;
	int error;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, collector.program, sizeof(collector.program) - 1);
	collector.program[length > 0 ? length : 0] = 0;
	error = ebbi_proc_maps(pid, collect, &collector);
	return collector.error != 0 ? collector.error : error;
}

/* --- Sums ------------------------------------------------------------------------------------ */

static struct glibc_arena *arena_for(struct glibc_heap *heap, const struct glibc_piece *piece)
{
	struct glibc_arena *arena;

	for (size_t i = 0; i < heap->arena_count && i < GLIBC_ARENAS; i++) {
		if (heap->arenas[i].address == piece->arena)
			return &heap->arenas[i];
	}
	if (heap->arena_count == GLIBC_ARENAS)
		return NULL;
	arena = &heap->arenas[heap->arena_count++];
	arena->main = piece->main;
	arena->address = piece->arena;
	return arena;
}

static void add(struct glibc_arena *sum, const struct glibc_arena *one)
{
	sum->heaps += one->heaps;
	sum->system_bytes += one->system_bytes;
	sum->resident_bytes += one->resident_bytes;
	sum->live_bytes += one->live_bytes;
	sum->live_chunks += one->live_chunks;
	sum->free_bytes += one->free_bytes;
	sum->fast_bytes += one->fast_bytes;
	sum->top_bytes += one->top_bytes;
	sum->trimmable_bytes += one->trimmable_bytes;
	sum->top_kept_bytes += one->top_kept_bytes;
	sum->pinned_bytes += one->pinned_bytes;
	sum->not_walked_bytes += one->not_walked_bytes;
}

static int walk_pieces(struct glibc_search *search, struct glibc_heap *heap)
{
	int error = 0;

	for (size_t i = 0; i < search->piece_count && error == 0; i++) {
		struct glibc_arena one = {0}, *arena = arena_for(heap, &search->pieces[i]);

		error = ebbi_glibc_walk(search, &search->pieces[i], &one, heap);
		add(&heap->total, &one);
		if (arena)
			add(arena, &one);
	}
	return error;
}

/* Threads whose cache has no record in the heap: it may be in a part not walked, or there is none. */
static void bound_caches(pid_t pid, struct glibc_heap *heap)
{
	struct proc_status status;
	uint64_t threads = 1;

	if (ebbi_proc_status(pid, &status) == 0)
		threads = status.threads;
	heap->caches_known = heap->caches >= threads;
	heap->cached_bound_bytes = heap->caches_known ? 0 : (threads - heap->caches) * CACHE_FULL;
}

static int look(pid_t pid, struct glibc_search *search, struct glibc_heap *heap)
{
	int error = collect_ranges(pid, search);

	if (error == 0)
		error = ebbi_glibc_find(search);
	if (error == 0 && search->piece_count == 0)
		error = -ENOENT;
	if (error == 0)
		error = ebbi_glibc_fastbins(search, &heap->fast_known);
	search->busy_until_ns += BUSY_NS - LISTS_NS;
	if (error == 0)
		error = walk_pieces(search, heap);
	if (error == 0)
		error = ebbi_glibc_mapped(search, heap);
	if (error == 0)
		bound_caches(pid, heap);
	return error;
}

int ebbi_glibc_heap(pid_t pid, bool stop, struct glibc_heap *ret_heap)
{
	struct glibc_search search = {0};
	struct process_source process;
	struct page_source source;
	struct stopped stopped = {0};
	uint64_t begin = ebbi_glibc_clock(CLOCK_MONOTONIC);
	int error = ebbi_process_source(pid, &process, &source);

	memset(ret_heap, 0, sizeof(*ret_heap));
	if (error != 0)
		return error;
	search.busy_until_ns = ebbi_glibc_clock(CLOCK_THREAD_CPUTIME_ID) + LISTS_NS;
	search.until_ns = begin + WALL_NS;
	error = ebbi_window_open(&search.window, &source);
	if (error == 0 && stop) {
		error = ebbi_stopped_begin(pid, &stopped);
		ret_heap->stopped = error == 0;
	}
	if (error == 0)
		error = look(pid, &search, ret_heap);
	ebbi_stopped_end(&stopped);
	ebbi_glibc_search_free(&search);
	ebbi_process_source_close(&process);
	ret_heap->took_ns = ebbi_glibc_clock(CLOCK_MONOTONIC) - begin;
	return error;
}
