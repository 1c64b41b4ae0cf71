#include "pages/grow.h"

#include <errno.h>

#include "pages/release.h"
#include "pages/runbins.h"

#define REGION_ALIGN ((size_t)2 << 20) /* a huge page, so that the system may use them */
#define REGION_FIRST ((size_t)64 << 20)
#define REGION_LAST ((size_t)1 << 30)
#define REGION_LEAST ((size_t)1 << 20)
#define REGION_UNIT ((size_t)64 << 10) /* the largest page of a kernel */
#define COMMIT_FIRST ((size_t)1 << 20)
#define COMMIT_LAST ((size_t)32 << 20)

/* Where address space is limited, a region may take this part of the limit. */
#define REGION_LIMIT_PART 16u

static size_t first_region_bytes(void)
{
	size_t limit = ebbi_vm_address_limit_bytes();
	size_t part;

	if (limit == SIZE_MAX)
		return REGION_FIRST;
	part = ebbi_round_down(limit / REGION_LIMIT_PART, REGION_ALIGN);
	return ebbi_max_size(2 * REGION_ALIGN, ebbi_min_size(part, REGION_FIRST));
}

static int reserve_region(struct ebbi_pages *pages, size_t least, uintptr_t *ret_base, size_t *ret_bytes)
{
	size_t bytes = ebbi_max_size(pages->next_region_bytes, ebbi_round_up(least, REGION_ALIGN));
	size_t bottom = ebbi_max_size(least, REGION_LEAST);
	size_t page_bytes = pages->unit_pages << EBBI_PAGE_SHIFT;
	size_t align = REGION_ALIGN;
	void *base;
	int error;

	/* Halve the wish down to the need; where even that is hard to get, do not ask for alignment. */
	while (!ebbi_pages_leftover_take(pages, bottom, &base, &bytes) &&
	       (error = pages->vm->reserve(bytes, align, &base)) != 0) {
		if (align == page_bytes)
			return error;
		if (bytes <= bottom)
			align = page_bytes;
		else
			bytes = ebbi_max_size(bottom, ebbi_round_down(bytes / 2, REGION_UNIT));
		if (bytes <= REGION_ALIGN)
			align = ebbi_min_size(align, REGION_UNIT);
	}
	error = ebbi_pagemap_cover(pages->vm, (uintptr_t)base, bytes >> EBBI_PAGE_SHIFT);
	if (error != 0) {
		ebbi_pages_unmap_unused(pages, base, bytes);
		return error;
	}
	/* For the region as a whole, before a part of it is committed: parts with other advice would not merge. */
	if (pages->advice == EBBI_HUGE_ADVICE_ON || pages->advice == EBBI_HUGE_ADVICE_OFF)
		(void)pages->vm->advise_huge(base, bytes, pages->advice == EBBI_HUGE_ADVICE_ON);
	/* With pages of 16 or 64 KiB a huge one is 32 or 512 MiB: larger than a region may be. */
	else if (pages->advice == EBBI_HUGE_ADVICE_SYSTEM && pages->unit_pages > 1)
		(void)pages->vm->advise_huge(base, bytes, 0);
	*ret_base = (uintptr_t)base;
	*ret_bytes = bytes;
	return 0;
}

/*
 * The old region's uncommitted rest is too short for what is wanted, but not for others: commit it; where that
 * is refused, or the rest is long, it goes back. Only growers move these, and grow_lock is held.
 */
static void close_region(struct ebbi_pages *pages)
{
	uintptr_t base = pages->wild_end;
	size_t rest = pages->region_end - base;

	if (rest == 0)
		return;
	if (rest > COMMIT_LAST || pages->vm->commit((void *)base, rest) != 0) {
		ebbi_pages_unmap_tail(pages, base, rest);
		rest = 0;
	}
	ebbi_lock_acquire(&pages->lock);
	pages->wild_end += rest;
	pages->region_end = pages->wild_end;
	ebbi_lock_release(&pages->lock);
}

/* Put what is left of the old region where runs are found, and start the next one. */
static int start_region(struct ebbi_pages *pages, size_t least)
{
	uintptr_t base;
	uintptr_t rest;
	size_t bytes;
	int error;

	/* The limit may have been set, or lifted, since the last region. */
	if (pages->next_region_bytes == 0 || ebbi_vm_address_limit_bytes() != SIZE_MAX)
		pages->next_region_bytes = first_region_bytes();
	error = reserve_region(pages, least, &base, &bytes);
	if (error != 0)
		return error;
	if (pages->next_region_bytes < REGION_LAST && ebbi_vm_address_limit_bytes() == SIZE_MAX)
		pages->next_region_bytes *= 2;
	close_region(pages);
	ebbi_lock_acquire(&pages->lock);
	rest = pages->wild_end - pages->wild_start;
	if (rest > 0)
		ebbi_run_insert_merged_locked(pages, pages->wild_start, rest >> EBBI_PAGE_SHIFT);
	pages->wild_start = base;
	pages->wild_end = base;
	pages->region_end = base + bytes;
	pages->mapped_bytes += bytes;
	pages->map_calls++;
	ebbi_lock_release(&pages->lock);
	return 0;
}

/* Commit at least `least` bytes behind the wilderness; the region has room for them. */
static int commit_step(struct ebbi_pages *pages, uintptr_t start, size_t least, size_t room)
{
	size_t bytes;
	int error;

	if (pages->next_commit_bytes == 0)
		pages->next_commit_bytes = COMMIT_FIRST;
	bytes = ebbi_min_size(ebbi_max_size(pages->next_commit_bytes, least), room);
	error = pages->vm->commit((void *)start, bytes);
	if (error != 0 && bytes > least) {
		bytes = least;
		error = pages->vm->commit((void *)start, bytes);
	}
	if (error != 0)
		return error;
	if (pages->next_commit_bytes < COMMIT_LAST)
		pages->next_commit_bytes *= 2;
	ebbi_lock_acquire(&pages->lock);
	pages->wild_end += bytes;
	pages->map_calls++;
	ebbi_lock_release(&pages->lock);
	return 0;
}

int ebbi_pages_grow(struct ebbi_pages *pages, size_t count)
{
	size_t wanted = ebbi_pages_round(pages, count) << EBBI_PAGE_SHIFT;
	uintptr_t end;
	size_t have;
	size_t room;
	int error = 0;

	if (wanted < count)
		return -ENOMEM;
	ebbi_lock_acquire(&pages->grow_lock);
	ebbi_lock_acquire(&pages->lock);
	have = pages->wild_end - pages->wild_start;
	room = pages->region_end - pages->wild_end;
	ebbi_lock_release(&pages->lock);
	if (have < wanted && have + room < wanted) {
		error = start_region(pages, wanted);
		have = 0;
		room = pages->region_end - pages->wild_end; /* only growers move these, and grow_lock is held */
	}
	end = pages->wild_end;
	if (error == 0 && have < wanted)
		error = commit_step(pages, end, ebbi_min_size(wanted - have, room), room);
	ebbi_lock_release(&pages->grow_lock);
	return error;
}
