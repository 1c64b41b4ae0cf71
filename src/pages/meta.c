#include "pages/meta.h"

#include <errno.h>
#include <string.h>

#include "pages/release.h"
#include "platform/report.h"

#define AREA_CHUNK_BYTES ((size_t)1 << 20)

#define ALL_UNITS UINT64_MAX

/* Blocks are moved where that gives back one page of so many, of more than so few. */
#define SPARSE_PART 8u
#define SPARSE_LEAST_PAGES 4u

/* Units that a chunk's own fields take of its first page. */
#define HEADER_UNITS ((unsigned)((sizeof(struct ebbi_meta_chunk) + EBBI_META_UNIT - 1) / EBBI_META_UNIT))

_Static_assert(EBBI_META_UNIT * 64 == EBBI_PAGE_BYTES, "a word of the bitmap is a page");
_Static_assert(sizeof(struct ebbi_meta_chunk) <= EBBI_PAGE_BYTES / 2, "the first page has room for blocks");

void ebbi_meta_init(struct ebbi_meta *meta, const struct ebbi_vm *vm, size_t page_bytes)
{
	meta->vm = vm;
	meta->page_bytes = page_bytes;
	ebbi_lock_init(&meta->lock, EBBI_RANK_META);
}

/* Where a chunk lies: its first page is never used. */
struct chunk_space {
	uintptr_t base;
	size_t bytes;
	bool guarded; /* a mapping of its own; otherwise a run of the heap's pages */
};

/*
 * Of the pages that the program's blocks come from, without inaccessible ones: a mapping between guards costs the
 * process two or three mappings, and where it may have no more, or no address space, this is what can still
 * be had.
 */
static int chunk_from_pages(struct ebbi_meta *meta, size_t align_bytes, struct chunk_space *space)
{
	struct ebbi_pages *pages = meta->pages;
	size_t count = space->bytes >> EBBI_PAGE_SHIFT;
	uintptr_t at;
	uintptr_t start;
	size_t length;

	if (pages == NULL)
		return -ENOMEM;
	if (ebbi_pages_alloc(pages, count, align_bytes >> EBBI_PAGE_SHIFT, &space->base) != 0)
		return -ENOMEM;
	ebbi_lock_acquire(&pages->lock);
	ebbi_counter_sub(&pages->live_pages, count); /* ours, not the program's */
	ebbi_lock_release(&pages->lock);
	at = space->base;
	while (ebbi_pagemap_bits_next(EBBI_PAGE_RESIDENT, &at, &count, &start, &length))
		memset((void *)start, 0, length << EBBI_PAGE_SHIFT);
	space->guarded = false;
	ebbi_fetch_add_relaxed(&meta->unguarded_chunks, 1u);
	return 0;
}

/* Reserved or in part committed, and never used. */
static void unmap(struct ebbi_meta *meta, uintptr_t base, size_t bytes)
{
	if (meta->pages != NULL)
		ebbi_pages_unmap_unused(meta->pages, (void *)base, bytes);
	else
		(void)meta->vm->unmap((void *)base, bytes);
}

/* Map [base + a page, base + bytes) between two inaccessible pages, base a multiple of `align_bytes`. */
static int chunk_map(struct ebbi_meta *meta, size_t bytes, size_t align_bytes, struct chunk_space *ret_space)
{
	size_t guard = meta->page_bytes;
	void *base;

	*ret_space = (struct chunk_space){.bytes = bytes, .guarded = true};
	if (meta->vm->reserve(bytes + guard, align_bytes, &base) != 0)
		return chunk_from_pages(meta, align_bytes, ret_space);
	if (meta->vm->commit((char *)base + guard, bytes - guard) != 0) {
		unmap(meta, (uintptr_t)base, bytes + guard);
		return chunk_from_pages(meta, align_bytes, ret_space);
	}
	ret_space->base = (uintptr_t)base;
	return 0;
}

/* Another thread's chunk came first. */
static void chunk_unmap(struct ebbi_meta *meta, const struct chunk_space *space)
{
	struct ebbi_pages *pages = meta->pages;
	size_t count = space->bytes >> EBBI_PAGE_SHIFT;

	if (space->guarded) {
		unmap(meta, space->base, space->bytes + meta->page_bytes);
		return;
	}
	ebbi_lock_acquire(&pages->lock);
	ebbi_counter_add(&pages->live_pages, count);
	ebbi_lock_release(&pages->lock);
	ebbi_pages_free(pages, space->base, count);
	ebbi_fetch_sub_relaxed(&meta->unguarded_chunks, 1u);
}

/* The 4 KiB page in which a chunk's fields lie: the first behind the guard. */
static unsigned header_word(const struct ebbi_meta *meta)
{
	return (unsigned)(meta->page_bytes >> EBBI_PAGE_SHIFT);
}

static uintptr_t chunk_base(const struct ebbi_meta_chunk *chunk)
{
	return ebbi_round_down((uintptr_t)chunk, EBBI_META_CHUNK_BYTES);
}

/* The most free units in a row, up to EBBI_META_UNITS_MOST. */
static unsigned longest_row(uint64_t units)
{
	unsigned length = 0;

	for (; units != 0 && length < EBBI_META_UNITS_MOST; length++)
		units &= units << 1;
	return length;
}

static void note_life_locked(struct ebbi_meta *meta, struct ebbi_meta_chunk *chunk, unsigned word, unsigned longest,
			     enum ebbi_meta_life life)
{
	struct ebbi_meta_chunk **first = meta->first[life];
	uint64_t *room = chunk->room[life];
	uint64_t bit = (uint64_t)1 << word;

	for (unsigned units = 1; units <= EBBI_META_UNITS_MOST; units++) {
		if (units > longest) {
			room[units] &= ~bit;
			continue;
		}
		room[units] |= bit;
		if (first[units] == NULL || first[units]->number > chunk->number)
			first[units] = chunk;
	}
}

/* The word has changed. A page without a block is for either kind. */
static void note_room_locked(struct ebbi_meta *meta, struct ebbi_meta_chunk *chunk, unsigned word)
{
	unsigned longest = longest_row(chunk->free[word]);
	bool lasting = (chunk->lasting >> word & 1) != 0;
	bool unused = chunk->free[word] == ALL_UNITS;

	note_life_locked(meta, chunk, word, unused || !lasting ? longest : 0, EBBI_META_BRIEF);
	note_life_locked(meta, chunk, word, unused || lasting ? longest : 0, EBBI_META_LASTING);
}

/* Behind all others. */
static void chunk_add_locked(struct ebbi_meta *meta, struct ebbi_meta_chunk *chunk)
{
	unsigned header = header_word(meta);

	if (meta->youngest != NULL) {
		chunk->number = meta->youngest->number + 1;
		meta->youngest->next = chunk;
	} else {
		meta->oldest = chunk;
	}
	meta->youngest = chunk;
	meta->mapped_bytes += EBBI_META_CHUNK_BYTES - meta->page_bytes;
	chunk->resident = (uint64_t)1 << header;
	chunk->lasting = chunk->resident; /* the chunk's own fields are */
	for (unsigned word = header; word < EBBI_META_WORDS; word++) {
		chunk->free[word] = word == header ? ALL_UNITS << HEADER_UNITS : ALL_UNITS;
		note_room_locked(meta, chunk, word);
	}
}

/* The oldest chunk with room, NULL when none has. */
static struct ebbi_meta_chunk *find_locked(struct ebbi_meta *meta, unsigned units, enum ebbi_meta_life life)
{
	struct ebbi_meta_chunk *chunk = meta->first[life][units];

	while (chunk != NULL && chunk->room[life][units] == 0)
		chunk = chunk->next;
	meta->first[life][units] = chunk;
	return chunk;
}

static void count_locked(struct ebbi_meta *meta, const struct ebbi_meta_chunk *chunk, unsigned word, size_t bytes)
{
	bool brief = (chunk->lasting >> word & 1) == 0;

	meta->used_bytes += bytes;
	meta->brief_bytes += brief ? bytes : 0;
}

static void *take_locked(struct ebbi_meta *meta, unsigned units, enum ebbi_meta_life life)
{
	struct ebbi_meta_chunk *chunk = find_locked(meta, units, life);
	uint64_t starts;
	uint64_t bit;
	unsigned word;
	unsigned unit;

	if (chunk == NULL)
		return NULL;
	word = ebbi_bit_lowest(chunk->room[life][units]);
	bit = (uint64_t)1 << word;
	starts = chunk->free[word];
	for (unsigned i = 1; i < units; i++)
		starts &= chunk->free[word] >> i;
	unit = ebbi_bit_lowest(starts);
	if (chunk->free[word] == ALL_UNITS) {
		meta->idle_pages -= (chunk->resident & bit) != 0;
		meta->brief_pages += life == EBBI_META_BRIEF;
		chunk->lasting = life == EBBI_META_LASTING ? chunk->lasting | bit : chunk->lasting & ~bit;
	}
	chunk->resident |= bit;
	chunk->free[word] &= ~ebbi_bit_range(unit, units);
	note_room_locked(meta, chunk, word);
	count_locked(meta, chunk, word, units * EBBI_META_UNIT);
	return (char *)chunk_base(chunk) + word * EBBI_PAGE_BYTES + unit * EBBI_META_UNIT;
}

void *ebbi_meta_alloc(struct ebbi_meta *meta, size_t bytes, enum ebbi_meta_life life)
{
	unsigned units = (unsigned)ebbi_divide_up(bytes, EBBI_META_UNIT);
	struct chunk_space space;
	void *block;

	ebbi_lock_acquire(&meta->lock);
	block = take_locked(meta, units, life);
	ebbi_lock_release(&meta->lock);
	if (block == NULL) {
		if (chunk_map(meta, EBBI_META_CHUNK_BYTES, EBBI_META_CHUNK_BYTES, &space) != 0)
			return NULL;
		/* Many threads that start at once find no room at once: only the first one's chunk is kept. */
		ebbi_lock_acquire(&meta->lock);
		block = take_locked(meta, units, life);
		if (block == NULL) {
			chunk_add_locked(meta, (struct ebbi_meta_chunk *)(space.base + meta->page_bytes));
			block = take_locked(meta, units, life);
			space.base = 0;
		}
		ebbi_lock_release(&meta->lock);
		if (space.base != 0)
			chunk_unmap(meta, &space);
	}
	return memset(block, 0, units * EBBI_META_UNIT);
}

/* Of a block, and in *ret_word its page there. */
static struct ebbi_meta_chunk *chunk_of(const struct ebbi_meta *meta, const void *block, unsigned *ret_word)
{
	uintptr_t base = ebbi_round_down((uintptr_t)block, EBBI_META_CHUNK_BYTES);

	*ret_word = (unsigned)(((uintptr_t)block - base) >> EBBI_PAGE_SHIFT);
	return (struct ebbi_meta_chunk *)(base + meta->page_bytes);
}

static bool is_sparse_locked(const struct ebbi_meta *meta)
{
	size_t page_bytes = meta->brief_pages * EBBI_PAGE_BYTES;

	return meta->brief_pages > SPARSE_LEAST_PAGES && meta->brief_bytes < page_bytes - page_bytes / SPARSE_PART;
}

bool ebbi_meta_is_sparse(struct ebbi_meta *meta)
{
	bool is_sparse;

	ebbi_lock_acquire(&meta->lock);
	is_sparse = is_sparse_locked(meta);
	ebbi_lock_release(&meta->lock);
	return is_sparse;
}

void *ebbi_meta_alloc_lower(struct ebbi_meta *meta, const void *block, size_t bytes)
{
	unsigned units = (unsigned)ebbi_divide_up(bytes, EBBI_META_UNIT);
	unsigned word;
	const struct ebbi_meta_chunk *chunk = chunk_of(meta, block, &word);
	const struct ebbi_meta_chunk *found = NULL;
	void *lower = NULL;

	ebbi_lock_acquire(&meta->lock);
	if (is_sparse_locked(meta))
		found = find_locked(meta, units, EBBI_META_BRIEF);
	if (found != NULL && (found->number < chunk->number ||
			      (found == chunk && ebbi_bit_lowest(found->room[EBBI_META_BRIEF][units]) < word)))
		lower = take_locked(meta, units, EBBI_META_BRIEF);
	ebbi_lock_release(&meta->lock);
	return lower;
}

void ebbi_meta_free(struct ebbi_meta *meta, void *block, size_t bytes)
{
	unsigned units = (unsigned)ebbi_divide_up(bytes, EBBI_META_UNIT);
	unsigned word;
	struct ebbi_meta_chunk *chunk = chunk_of(meta, block, &word);
	unsigned unit = (unsigned)(((uintptr_t)block & (EBBI_PAGE_BYTES - 1)) / EBBI_META_UNIT);

	ebbi_lock_acquire(&meta->lock);
	if ((chunk->free[word] & ebbi_bit_range(unit, units)) != 0)
		ebbi_report_internal("a descriptor is freed twice");
	chunk->free[word] |= ebbi_bit_range(unit, units);
	count_locked(meta, chunk, word, 0 - units * EBBI_META_UNIT);
	if (chunk->free[word] == ALL_UNITS) {
		meta->idle_pages++;
		meta->brief_pages -= (chunk->lasting >> word & 1) == 0;
	}
	note_room_locked(meta, chunk, word);
	ebbi_lock_release(&meta->lock);
}

/* The words of those pages of the kernel that are wholly free and not wholly given back. */
static uint64_t idle_words_locked(const struct ebbi_meta *meta, const struct ebbi_meta_chunk *chunk)
{
	unsigned unit_words = header_word(meta);
	uint64_t idle = 0;
	uint64_t whole = 0;

	for (unsigned word = 0; word < EBBI_META_WORDS; word++)
		idle |= (uint64_t)(chunk->free[word] == ALL_UNITS) << word;
	for (unsigned word = 0; word < EBBI_META_WORDS; word += unit_words) {
		uint64_t unit = ebbi_bit_range(word, unit_words);

		if ((idle & unit) == unit && (chunk->resident & unit) != 0)
			whole |= unit;
	}
	return whole;
}

/* Give back the pages of `words`, which were withdrawn. Returns those that the kernel took. No lock is held. */
static uint64_t purge_words(struct ebbi_meta *meta, uintptr_t base, uint64_t words)
{
	uint64_t done = 0;

	while (words != 0) {
		unsigned first = ebbi_bit_lowest(words);
		uint64_t behind = ~(words >> first);
		unsigned count = behind == 0 ? EBBI_META_WORDS - first : ebbi_bit_lowest(behind);
		uint64_t stretch = ebbi_bit_range(first, count);

		words &= ~stretch;
		if (meta->vm->purge((void *)(base + first * EBBI_PAGE_BYTES), count * EBBI_PAGE_BYTES) == 0)
			done |= stretch;
	}
	return done;
}

/* Into circulation (ALL_UNITS) or out of it (0). */
static void set_words_locked(struct ebbi_meta *meta, struct ebbi_meta_chunk *chunk, uint64_t words, uint64_t units)
{
	for (; words != 0; words &= words - 1) {
		chunk->free[ebbi_bit_lowest(words)] = units;
		note_room_locked(meta, chunk, ebbi_bit_lowest(words));
	}
}

/* One chunk; returns the pages given back. */
static size_t purge_chunk(struct ebbi_meta *meta, struct ebbi_meta_chunk *chunk, size_t *ret_refused)
{
	uint64_t going;
	uint64_t resident;
	uint64_t done;

	ebbi_lock_acquire(&meta->lock);
	going = idle_words_locked(meta, chunk);
	resident = going & chunk->resident;
	set_words_locked(meta, chunk, going, 0);
	meta->idle_pages -= ebbi_bit_count(resident);
	ebbi_lock_release(&meta->lock);
	if (going == 0)
		return 0;
	done = purge_words(meta, chunk_base(chunk), going);
	ebbi_lock_acquire(&meta->lock);
	set_words_locked(meta, chunk, going, ALL_UNITS);
	chunk->resident &= ~done;
	meta->idle_pages += ebbi_bit_count(resident & ~done);
	ebbi_lock_release(&meta->lock);
	*ret_refused += ebbi_bit_count(resident & ~done);
	return ebbi_bit_count(resident & done);
}

size_t ebbi_meta_purge(struct ebbi_meta *meta, size_t *ret_refused)
{
	struct ebbi_meta_chunk *chunk;
	size_t purged = 0;
	bool idle;

	*ret_refused = 0;
	ebbi_lock_acquire(&meta->lock);
	idle = meta->idle_pages > 0;
	chunk = meta->oldest;
	ebbi_lock_release(&meta->lock);
	while (idle && chunk != NULL) {
		purged += purge_chunk(meta, chunk, ret_refused);
		ebbi_lock_acquire(&meta->lock);
		chunk = chunk->next;
		ebbi_lock_release(&meta->lock);
	}
	if (EBBI_PARANOID)
		ebbi_meta_check(meta);
	return purged;
}

static void *area_locked(struct ebbi_meta *meta, size_t bytes)
{
	uintptr_t area = meta->areas_next;

	if (meta->areas_end - area < bytes)
		return NULL;
	meta->areas_next += bytes;
	return (void *)area;
}

void *ebbi_meta_area(struct ebbi_meta *meta, size_t bytes)
{
	size_t rounded = ebbi_round_up(bytes, meta->page_bytes);
	size_t chunk_bytes = AREA_CHUNK_BYTES + meta->page_bytes;
	struct chunk_space space;
	void *area;

	ebbi_lock_acquire(&meta->lock);
	area = area_locked(meta, rounded);
	ebbi_lock_release(&meta->lock);
	if (area != NULL || chunk_map(meta, chunk_bytes, meta->page_bytes, &space) != 0)
		return area;
	ebbi_lock_acquire(&meta->lock);
	area = area_locked(meta, rounded);
	if (area == NULL) {
		meta->areas_next = space.base + meta->page_bytes;
		meta->areas_end = space.base + chunk_bytes;
		meta->mapped_bytes += AREA_CHUNK_BYTES;
		area = area_locked(meta, rounded);
		space.base = 0;
	}
	ebbi_lock_release(&meta->lock);
	if (space.base != 0)
		chunk_unmap(meta, &space);
	return area;
}

static void check_word(const struct ebbi_meta *meta, const struct ebbi_meta_chunk *chunk, unsigned word)
{
	uint64_t units = chunk->free[word];
	unsigned longest = longest_row(units);
	unsigned lasting = (chunk->lasting >> word & 1) != 0 ? EBBI_META_LASTING : EBBI_META_BRIEF;

	if (units != 0 && word < header_word(meta))
		ebbi_report_internal("a metadata chunk's guard is free memory");
	if (units != 0 && units != ALL_UNITS && (chunk->resident >> word & 1) == 0)
		ebbi_report_internal("a used page of metadata is not counted as resident");
	for (unsigned life = 0; life < EBBI_META_LIVES; life++) {
		for (unsigned i = 1; i <= EBBI_META_UNITS_MOST; i++) {
			bool room = i <= longest && (units == ALL_UNITS || life == lasting);

			if ((chunk->room[life][i] >> word & 1) != room)
				ebbi_report_internal("a metadata chunk's room is marked wrongly");
			if (room && (meta->first[life][i] == NULL || meta->first[life][i]->number > chunk->number))
				ebbi_report_internal("a metadata chunk with room is passed over");
		}
	}
}

void ebbi_meta_check(struct ebbi_meta *meta)
{
	size_t idle = 0;
	size_t brief = 0;
	size_t free_units = 0;
	size_t units = 0;
	unsigned number = 0;

	ebbi_lock_acquire(&meta->lock);
	for (struct ebbi_meta_chunk *chunk = meta->oldest; chunk != NULL; chunk = chunk->next) {
		if (chunk->number != number++)
			ebbi_report_internal("metadata chunks are numbered wrongly");
		for (unsigned word = 0; word < EBBI_META_WORDS; word++) {
			check_word(meta, chunk, word);
			idle += chunk->free[word] == ALL_UNITS && (chunk->resident >> word & 1) != 0;
			free_units += ebbi_bit_count(chunk->free[word]);
			brief += word >= header_word(meta) && chunk->free[word] != ALL_UNITS &&
				 (chunk->lasting >> word & 1) == 0;
		}
		units += (EBBI_META_WORDS - header_word(meta)) * 64 - HEADER_UNITS;
	}
	/* Pages on their way back to the kernel are not free for the moment: then fewer units are found. */
	if (idle != meta->idle_pages || brief < meta->brief_pages || meta->brief_bytes > meta->used_bytes ||
	    free_units * EBBI_META_UNIT + meta->used_bytes > units * EBBI_META_UNIT)
		ebbi_report_internal("metadata is counted wrongly");
	ebbi_lock_release(&meta->lock);
}
