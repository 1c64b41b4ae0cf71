#include "heap/guarded.h"

#include "heap/zeros.h"
#include "platform/maps.h"
#include "platform/report.h"
#include "slabs/trailer.h"

/* A quarter of the kernel's mappings, two for each guard. */
#define MAPPINGS_PART 8u

/* What waits may hold this much memory, and this much address space or an eighth of what lives. */
#define WAITING_RESIDENT_PAGES ((size_t)512)
#define WAITING_PAGES ((size_t)16384)

#define FRINGE ((size_t)16)

struct waiting {
	struct ebbi_guarded_block block;
	bool purged; /* pages given back, not overwritten */
	bool fenced; /* inaccessible as a whole */
	bool aged;
};

static struct {
	size_t limit;                                 /* set at boot */
	size_t unit_bytes;                            /* set at boot: a page of the kernel */
	size_t guards;                                /* relaxed */
	uint64_t refused;                             /* relaxed */
	struct waiting waiting[EBBI_GUARDED_WAITING]; /* oldest first; with what follows guarded by large.lock */
	unsigned count;
	size_t pages;
	size_t resident_pages;
} guarded;

void ebbi_guarded_init(void)
{
	guarded.limit = ebbi_maps_limit() / MAPPINGS_PART;
	guarded.unit_bytes = ebbi_heap.store.meta.page_bytes;
}

struct ebbi_guarded_figures ebbi_guarded_count(void)
{
	struct ebbi_guarded_figures figures = {.refused = ebbi_load_relaxed(&guarded.refused)};
	size_t guards = ebbi_load_relaxed(&guarded.guards);

	ebbi_lock_acquire(&ebbi_heap.large.lock);
	figures.waiting_pages = guarded.pages;
	for (unsigned i = 0; i < guarded.count; i++) {
		const struct waiting *waiting = &guarded.waiting[i];

		guards -= ebbi_min_size(guards, waiting->block.guarded && !waiting->block.soft);
		figures.held_pages += waiting->purged ? 0 : waiting->block.room >> EBBI_PAGE_SHIFT;
	}
	ebbi_lock_release(&ebbi_heap.large.lock);
	figures.guard_pages = guards * (guarded.unit_bytes >> EBBI_PAGE_SHIFT);
	return figures;
}

static uintptr_t last_page(uintptr_t base, size_t pages)
{
	return base + ((pages - 1) << EBBI_PAGE_SHIFT);
}

/* The entry of a guard: bytes of the block (47), soft (1), where it starts in units of 16 bytes (8). */
static void entry_write(const struct ebbi_guarded_block *block)
{
	size_t offset = ((uintptr_t)block->start - block->base) / EBBI_ALIGNMENT;

	ebbi_pagemap_set(last_page(block->base, block->pages),
			 ebbi_entry_run(EBBI_KIND_GUARD, block->bytes << 9 | (size_t)block->soft << 8 | offset));
}

struct ebbi_guarded_block ebbi_guarded_find(uintptr_t base, uint64_t entry)
{
	struct ebbi_guarded_block block = {.base = base, .pages = ebbi_entry_run_pages(entry)};
	uint64_t guard = ebbi_pagemap_get(last_page(base, block.pages));
	size_t field = (size_t)(guard >> 8);

	block.room = block.pages << EBBI_PAGE_SHIFT;
	block.start = (char *)base;
	block.guarded = block.pages > 1 && ebbi_entry_kind(guard) == EBBI_KIND_GUARD;
	if (block.guarded) {
		block.room -= guarded.unit_bytes;
		block.start += (field & 0xff) * EBBI_ALIGNMENT;
		block.soft = (field >> 8 & 1) != 0;
		block.bytes = field >> 9;
	} else {
		size_t gap = 0;

		(void)ebbi_trailer_read(block.start + block.room, block.room, &gap);
		block.bytes = block.room - EBBI_TRAILER_BYTES - ebbi_min_size(gap, block.room - EBBI_TRAILER_BYTES);
	}
	return block;
}

/* Bytes around a guarded block that carry the pattern. */
static size_t behind(const struct ebbi_guarded_block *block)
{
	return block->soft ? FRINGE
			   : ebbi_min_size(block->base + block->room - (uintptr_t)block->start - block->bytes, FRINGE);
}

static size_t before(const struct ebbi_guarded_block *block)
{
	return ebbi_min_size((uintptr_t)block->start - block->base, FRINGE);
}

static void fringe_write(const struct ebbi_guarded_block *block)
{
	int byte = (int)(ebbi_trailer_secret.pattern & 0xff);

	memset(block->start + block->bytes, byte, behind(block));
	memset(block->start - before(block), byte, before(block));
}

static void fringe_check(const char *what, const struct ebbi_guarded_block *block)
{
	char byte = (char)(ebbi_trailer_secret.pattern & 0xff);

	for (size_t i = 0; i < behind(block); i++)
		if (block->start[block->bytes + i] != byte)
			ebbi_report_overflow(what, block->start, block->bytes, block->bytes + i);
	for (size_t i = 1; i <= before(block); i++)
		if (*(block->start - i) != byte)
			ebbi_report_underflow(what, block->start, block->bytes);
}

struct ebbi_guarded_block ebbi_guarded_judge(const char *what, const void *pointer, uint64_t entry)
{
	struct ebbi_guarded_block block =
		ebbi_guarded_find(ebbi_round_down((uintptr_t)pointer, EBBI_PAGE_BYTES), entry);
	size_t gap;

	if (EBBI_UNLIKELY(block.start != pointer))
		ebbi_report_inside_block(what, pointer, block.bytes, block.start);
	if (block.guarded)
		fringe_check(what, &block);
	else if (EBBI_UNLIKELY(!ebbi_trailer_read(block.start + block.room, block.room, &gap)))
		ebbi_report_overflow_end(what, pointer, block.room);
	return block;
}

/* One more guard; false when there are as many as there may be. */
static bool guard_allowed(void)
{
	if (ebbi_fetch_add_relaxed(&guarded.guards, 1) < guarded.limit)
		return true;
	ebbi_fetch_sub_relaxed(&guarded.guards, 1);
	return false;
}

/* Make the last page of the block inaccessible, or call it soft, and write down what the block is. */
static void guard_raise(struct ebbi_guarded_block *block)
{
	const struct ebbi_vm *vm = ebbi_heap.store.pages.vm;

	block->soft = true;
	if (guard_allowed()) {
		block->soft = vm->guard((void *)(block->base + block->room), guarded.unit_bytes) != 0;
		if (block->soft)
			ebbi_fetch_sub_relaxed(&guarded.guards, 1);
	}
	if (block->soft)
		ebbi_fetch_add_relaxed(&guarded.refused, 1);
	entry_write(block);
	fringe_write(block);
}

/* False: the kernel cannot join the mappings again, and the block stays as it is. */
static bool guard_lower(const struct ebbi_guarded_block *block, bool fenced)
{
	const struct ebbi_vm *vm = ebbi_heap.store.pages.vm;

	if (!block->soft) {
		uintptr_t from = fenced ? block->base : block->base + block->room;

		if (vm->commit((void *)from, block->base + block->room + guarded.unit_bytes - from) != 0)
			return false;
		ebbi_fetch_sub_relaxed(&guarded.guards, 1);
	} else {
		memset((void *)(block->base + block->room), 0, guarded.unit_bytes);
	}
	ebbi_pagemap_set(last_page(block->base, block->pages), 0);
	return true;
}

/* `bytes` in a run or mapping of their own. */
static void *place(uintptr_t base, size_t bytes, size_t spare, size_t align_bytes)
{
	struct ebbi_guarded_block block = {.base = base, .start = (char *)base, .bytes = bytes};
	size_t offset;

	block.pages = ebbi_entry_run_pages(ebbi_pagemap_get(base));
	block.room = block.pages << EBBI_PAGE_SHIFT;
	if (bytes < EBBI_GUARDED_LEAST) {
		ebbi_trailer_write_zeroed(block.start + block.room, block.room - EBBI_TRAILER_BYTES - bytes);
		return block.start;
	}
	block.room -= guarded.unit_bytes;
	block.guarded = true;
	offset = ebbi_round_down(block.room - bytes, align_bytes);
	if (spare == 0 && offset < EBBI_PAGE_BYTES)
		block.start += offset;
	guard_raise(&block);
	return block.start;
}

void *ebbi_guarded_alloc(size_t bytes, size_t spare, size_t align_bytes, enum ebbi_content content)
{
	size_t total = bytes + EBBI_TRAILER_BYTES;
	void *base;

	if (bytes > (size_t)PTRDIFF_MAX)
		return NULL;
	if (bytes >= EBBI_GUARDED_LEAST)
		total = ebbi_round_up(bytes + spare, guarded.unit_bytes) + guarded.unit_bytes;
	if (ebbi_large_alloc(&ebbi_heap.large, total, align_bytes, content, &base) != 0)
		return NULL;
	return place((uintptr_t)base, bytes, spare, align_bytes);
}

/* It waited long enough. No lock is held. */
static void release(const struct waiting *waiting)
{
	const struct ebbi_guarded_block *block = &waiting->block;
	uint64_t entry = ebbi_pagemap_get(block->base);
	bool is_run = ebbi_entry_kind(entry) == EBBI_KIND_WAITING_RUN;

	if (!waiting->fenced && !waiting->purged &&
	    EBBI_UNLIKELY(!ebbi_zeros_hold((const void *)block->base, block->room)))
		ebbi_report_use_after_free_block(block->start,
						 block->base + ebbi_zeros_end((const void *)block->base, block->room),
						 block->bytes);
	if (block->guarded && !guard_lower(block, waiting->fenced))
		return; /* unusable from now on, but nobody's: no line to lose over it */
	/* A mapping is not retained: that is what NESTED says. */
	ebbi_large_free(&ebbi_heap.large, (void *)block->base,
			ebbi_entry_run(is_run ? EBBI_KIND_RUN : EBBI_KIND_NESTED, block->pages));
}

/* Take the oldest off the list; large.lock is held. */
static struct waiting shift_locked(void)
{
	struct waiting oldest = guarded.waiting[0];

	guarded.count--;
	memmove(guarded.waiting, guarded.waiting + 1, guarded.count * sizeof(oldest));
	guarded.pages -= oldest.block.pages;
	guarded.resident_pages -= oldest.purged ? 0 : oldest.block.pages;
	return oldest;
}

static bool too_much_locked(void)
{
	size_t live = ebbi_load_relaxed(&ebbi_heap.large.mapping_pages) + ebbi_load_relaxed(&ebbi_heap.large.run_pages);

	return guarded.count == EBBI_GUARDED_WAITING || guarded.resident_pages > WAITING_RESIDENT_PAGES ||
	       guarded.pages > ebbi_max_size(WAITING_PAGES, live / 8);
}

static void wait_for_reuse(const struct waiting *waiting)
{
	struct waiting leaving[EBBI_GUARDED_WAITING];
	unsigned count = 0;

	ebbi_lock_acquire(&ebbi_heap.large.lock);
	while (guarded.count > 0 && too_much_locked())
		leaving[count++] = shift_locked();
	guarded.waiting[guarded.count++] = *waiting;
	guarded.pages += waiting->block.pages;
	guarded.resident_pages += waiting->purged ? 0 : waiting->block.pages;
	ebbi_lock_release(&ebbi_heap.large.lock);
	for (unsigned i = 0; i < count; i++)
		release(&leaving[i]);
}

/*
 * Nobody may touch the freed block until it is reused. What is fenced already ends in a guard, so that no mapping is
 * added. Others are looked at before they are reused.
 */
static bool fence(const struct ebbi_guarded_block *block)
{
	const struct ebbi_vm *vm = ebbi_heap.store.pages.vm;

	return block->guarded && !block->soft && vm->guard((void *)block->base, block->room) == 0;
}

size_t ebbi_guarded_free(const struct ebbi_guarded_block *block)
{
	bool is_run = ebbi_entry_kind(ebbi_pagemap_get(block->base)) == EBBI_KIND_RUN;
	struct waiting waiting = {.block = *block};

	/* From here on a second free finds no block. */
	ebbi_pagemap_set(block->base,
			 ebbi_entry_run(is_run ? EBBI_KIND_WAITING_RUN : EBBI_KIND_WAITING_MAPPING, block->pages));
	/* To fault a page in anew costs several times what it costs to overwrite it. A mapping goes back in any case. */
	if (!is_run && !block->soft && ebbi_heap.config.purge)
		waiting.purged =
			ebbi_pages_purge_stretch(&ebbi_heap.store.pages, block->base, block->room >> EBBI_PAGE_SHIFT);
	if (!waiting.purged)
		memset((void *)block->base, 0, block->room);
	waiting.fenced = fence(block);
	wait_for_reuse(&waiting);
	return block->room;
}

/* The block keeps its place, and the room behind it suffices. */
static bool resize_in_room(const struct ebbi_guarded_block *block, size_t bytes)
{
	struct ebbi_guarded_block after = *block;
	size_t offset = (uintptr_t)block->start - block->base;
	size_t most = block->room - offset - (block->guarded ? 0 : EBBI_TRAILER_BYTES);

	if (bytes > most || bytes < most / 2)
		return false;
	after.bytes = bytes;
	if (!block->guarded) {
		if (most - bytes > EBBI_TRAILER_GAP_MOST)
			return false;
		ebbi_trailer_write(block->start + block->room, most - bytes);
		return true;
	}
	entry_write(&after);
	fringe_write(&after);
	return true;
}

void *ebbi_guarded_resize_try(const struct ebbi_guarded_block *block, size_t bytes)
{
	struct ebbi_guarded_block after = *block;
	size_t offset = (uintptr_t)block->start - block->base;
	size_t total = ebbi_round_up(offset + bytes, guarded.unit_bytes) + guarded.unit_bytes;
	void *base = (void *)block->base;
	bool done;

	if (resize_in_room(block, bytes))
		return block->start;
	/*
	 * Pages that became free in place would not be zeros: a block that shrinks is copied. So is a mapping, whose
	 * new last page the page map need not know.
	 */
	if (!block->guarded || bytes < EBBI_GUARDED_LEAST || total < block->pages << EBBI_PAGE_SHIFT ||
	    ebbi_entry_kind(ebbi_pagemap_get(block->base)) != EBBI_KIND_RUN || !guard_lower(block, /* fenced= */ false))
		return NULL;
	done = ebbi_large_resize_try(&ebbi_heap.large, (void *)block->base, ebbi_pagemap_get(block->base), total,
				     &base);
	if (done) {
		after.base = (uintptr_t)base;
		after.start = (char *)base + offset;
		after.bytes = bytes;
		after.pages = ebbi_entry_run_pages(ebbi_pagemap_get(after.base));
		after.room = (after.pages << EBBI_PAGE_SHIFT) - guarded.unit_bytes;
	}
	guard_raise(&after);
	return done ? after.start : NULL;
}

void ebbi_guarded_look(bool everything, size_t *ret_left)
{
	struct waiting leaving[EBBI_GUARDED_WAITING];
	unsigned count = 0;

	ebbi_lock_acquire(&ebbi_heap.large.lock);
	while (guarded.count > 0 && (everything || guarded.waiting[0].aged))
		leaving[count++] = shift_locked();
	for (unsigned i = 0; i < guarded.count; i++)
		guarded.waiting[i].aged = true;
	*ret_left += guarded.pages;
	ebbi_lock_release(&ebbi_heap.large.lock);
	for (unsigned i = 0; i < count; i++)
		release(&leaving[i]);
}
