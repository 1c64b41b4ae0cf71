#include "pages/pages.h"

#include <errno.h>

#include "pages/grow.h"
#include "pages/huge.h"
#include "pages/runbins.h"
#include "platform/report.h"

#define CHECK_EVERY 1024u

/* A purged run of this many pages may hold a whole page of page map entries, which is given back then. */
#define FORGET_LEAST_PAGES 512u

#define PAGE_ADDRESS(base, index) ((base) + ((uintptr_t)(index) << EBBI_PAGE_SHIFT))

void ebbi_pages_init(struct ebbi_pages *pages, const struct ebbi_vm *vm, size_t page_bytes,
		     enum ebbi_huge_advice advice)
{
	pages->vm = vm;
	pages->unit_pages = page_bytes >> EBBI_PAGE_SHIFT;
	pages->advice = advice;
	if (advice == EBBI_HUGE_ADVICE_ON || advice == EBBI_HUGE_ADVICE_SYSTEM)
		ebbi_pagemap_keep_small();
	pages->room_pages = EBBI_ROOM_WITHOUT_END;
	pages->next_region_bytes = 0;
	pages->next_commit_bytes = 0;
	ebbi_lock_init(&pages->purge_lock, EBBI_RANK_PURGE);
	ebbi_lock_init(&pages->grow_lock, EBBI_RANK_GROW);
	ebbi_lock_init(&pages->lock, EBBI_RANK_PAGES);
}

size_t ebbi_pages_round(const struct ebbi_pages *pages, size_t count)
{
	return ebbi_round_up(count, pages->unit_pages);
}

/* Take [base, base + count) out of the free run of `have` pages at `run`, which holds it; `insert` puts the rest. */
static void carve_locked(struct ebbi_pages *pages, uintptr_t run, size_t have, uintptr_t base, size_t count,
			 void (*insert)(struct ebbi_pages *, uintptr_t, size_t))
{
	size_t before = (base - run) >> EBBI_PAGE_SHIFT;
	size_t behind = have - before - count;

	ebbi_run_remove_locked(pages, run, have);
	if (before > 0)
		insert(pages, run, before);
	if (behind > 0)
		insert(pages, PAGE_ADDRESS(base, count), behind);
	pages->dirty_pages -= ebbi_pagemap_bits_count(EBBI_PAGE_RESIDENT, base, count);
	ebbi_counter_add(&pages->live_pages, count);
}

static bool take_locked(struct ebbi_pages *pages, size_t count, size_t align_pages, uintptr_t *ret_base)
{
	size_t align_bytes = align_pages << EBBI_PAGE_SHIFT;
	size_t wanted = align_pages > pages->unit_pages ? count + align_pages - pages->unit_pages : count;
	size_t have;
	uintptr_t run;

	if (ebbi_run_find_locked(&pages->dirty, wanted, &run, &have) ||
	    ebbi_run_find_locked(&pages->looking, wanted, &run, &have)) {
		*ret_base = ebbi_round_up(run, align_bytes);
		carve_locked(pages, run, have, *ret_base, count, ebbi_run_insert_locked);
		return true;
	}
	if (ebbi_run_find_locked(&pages->clean, wanted, &run, &have)) {
		*ret_base = ebbi_round_up(run, align_bytes);
		carve_locked(pages, run, have, *ret_base, count, ebbi_run_insert_clean_locked);
		return true;
	}
	if (pages->wild_end - pages->wild_start >= wanted << EBBI_PAGE_SHIFT) {
		uintptr_t base = ebbi_round_up(pages->wild_start, align_bytes);
		uintptr_t skipped = pages->wild_start;

		pages->wild_start = PAGE_ADDRESS(base, count);
		if (base > skipped)
			ebbi_run_insert_merged_locked(pages, skipped, (base - skipped) >> EBBI_PAGE_SHIFT);
		ebbi_counter_add(&pages->live_pages, count);
		*ret_base = base;
		return true;
	}
	return false;
}

/* In paranoid builds now and then: it walks over all free runs. No lock is held. */
static void check_sometimes(struct ebbi_pages *pages)
{
	if (ebbi_fetch_add_relaxed(&pages->takes, 1u) % CHECK_EVERY == 0)
		ebbi_pages_check(pages);
}

int ebbi_pages_alloc(struct ebbi_pages *pages, size_t count, size_t align_pages, uintptr_t *ret_base)
{
	if (EBBI_PARANOID)
		check_sometimes(pages);
	/* Another thread may take what this one grew by: a bounded number of times. */
	for (unsigned attempt = 0; attempt < 16; attempt++) {
		int error;
		bool taken;

		ebbi_lock_acquire(&pages->lock);
		taken = take_locked(pages, count, align_pages, ret_base);
		ebbi_lock_release(&pages->lock);
		if (taken)
			return 0;
		error = ebbi_pages_grow(pages, count + align_pages);
		if (error != 0)
			return error;
	}
	return -ENOMEM;
}

void ebbi_pages_free(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	ebbi_lock_acquire(&pages->lock);
	ebbi_pagemap_bits_set(EBBI_PAGE_RESIDENT, base, count);
	ebbi_pagemap_bits_clear(EBBI_PAGE_AGED, base, count);
	ebbi_pagemap_bits_clear(EBBI_PAGE_PURGED, base, count);
	ebbi_pagemap_set(base, 0);
	ebbi_pagemap_set(PAGE_ADDRESS(base, count - 1), 0);
	pages->dirty_pages += count;
	ebbi_counter_sub(&pages->live_pages, count);
	ebbi_run_insert_merged_locked(pages, base, count);
	ebbi_lock_release(&pages->lock);
}

void ebbi_pages_put_back(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	ebbi_lock_acquire(&pages->lock);
	ebbi_pagemap_set(base, 0);
	ebbi_pagemap_set(PAGE_ADDRESS(base, count - 1), 0);
	pages->dirty_pages += ebbi_pagemap_bits_count(EBBI_PAGE_RESIDENT, base, count);
	ebbi_counter_sub(&pages->live_pages, count);
	ebbi_run_insert_merged_locked(pages, base, count);
	ebbi_lock_release(&pages->lock);
}

void ebbi_pages_free_known(struct ebbi_pages *pages, uintptr_t base, unsigned count, uint64_t resident, uint64_t aged,
			   uint64_t purged)
{
	ebbi_lock_acquire(&pages->lock);
	ebbi_pagemap_bits_store(EBBI_PAGE_RESIDENT, base, count, resident);
	ebbi_pagemap_bits_store(EBBI_PAGE_AGED, base, count, aged);
	ebbi_pagemap_bits_store(EBBI_PAGE_PURGED, base, count, purged);
	ebbi_pagemap_clear(base, count);
	pages->dirty_pages += ebbi_bit_count(resident);
	ebbi_counter_sub(&pages->live_pages, count);
	ebbi_run_insert_merged_locked(pages, base, count);
	ebbi_lock_release(&pages->lock);
}

bool ebbi_pages_extend_try(struct ebbi_pages *pages, uintptr_t base, size_t count, size_t more)
{
	uintptr_t end = PAGE_ADDRESS(base, count);
	uint64_t behind;
	bool done = false;

	ebbi_lock_acquire(&pages->lock);
	behind = ebbi_pagemap_get(end);
	if (ebbi_entry_kind(behind) == EBBI_KIND_FREE && ebbi_entry_run_pages(behind) >= more) {
		carve_locked(pages, end, ebbi_entry_run_pages(behind), end, more, ebbi_run_insert_locked);
		done = true;
	} else if (end == pages->wild_start && pages->wild_end - end >= more << EBBI_PAGE_SHIFT) {
		pages->wild_start += (uintptr_t)more << EBBI_PAGE_SHIFT;
		ebbi_counter_add(&pages->live_pages, more);
		done = true;
	}
	ebbi_lock_release(&pages->lock);
	return done;
}

size_t ebbi_pages_dirty(struct ebbi_pages *pages)
{
	size_t dirty;

	ebbi_lock_acquire(&pages->lock);
	dirty = pages->dirty_pages;
	ebbi_lock_release(&pages->lock);
	return dirty;
}

void ebbi_pages_count_purge(struct ebbi_pages *pages, size_t count, bool done)
{
	ebbi_lock_acquire(&pages->lock);
	if (done) {
		ebbi_counter_add(&pages->purge_calls, 1u);
		ebbi_counter_add(&pages->purged_pages, count);
	} else {
		ebbi_counter_add(&pages->purge_refused, 1u);
		ebbi_counter_add(&pages->refused_pages, count);
	}
	ebbi_lock_release(&pages->lock);
}

bool ebbi_pages_purge_stretch(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	bool done;

	if (pages->purge_off)
		return false;
	ebbi_huge_break(pages, base, count);
	done = pages->vm->purge((void *)base, count << EBBI_PAGE_SHIFT) == 0;
	ebbi_pages_count_purge(pages, count, done);
	return done;
}

/* A free run on its way through a purge: in no bin, its ends marked so that neighbours keep off. */
struct purging {
	uintptr_t base;
	size_t count;
};

/*
 * How much is done before locks are given up for a moment, whatever the heap's size: runs looked at under
 * `lock`, which malloc wants; resident pages a batch gives back under `purge_lock`, for which fork waits.
 */
#define LOOKS_MOST 64u
#define BATCH_PAGES_MOST ((size_t)16384)

/* One look at the dirty runs, bin by bin. */
struct looking {
	bool everything;
	bool more;  /* there are bins left */
	bool begun; /* with this bin: its runs are in pages->looking */
	unsigned bin;
	unsigned collected;
	struct purging batch[EBBI_PURGE_BATCH];
};

/* A run that is to be looked at: into the batch, or aged and back into the dirty bins. Returns pages that go. */
static size_t look_locked(struct ebbi_pages *pages, struct looking *looking, uintptr_t run)
{
	size_t count = ebbi_entry_run_pages(ebbi_pagemap_get(run));
	size_t going;

	ebbi_run_remove_locked(pages, run, count);
	if (looking->everything)
		ebbi_pagemap_bits_set(EBBI_PAGE_AGED, run, count);
	going = ebbi_pagemap_bits_count(EBBI_PAGE_AGED, run, count);
	if (going == 0) {
		ebbi_run_age_locked(run, count);
		ebbi_run_insert_locked(pages, run, count);
		return 0;
	}
	ebbi_pagemap_set(run, ebbi_entry_run(EBBI_KIND_PURGING, count));
	ebbi_pagemap_set(PAGE_ADDRESS(run, count - 1), ebbi_entry_run(EBBI_KIND_PURGING, count));
	looking->batch[looking->collected++] = (struct purging){run, count};
	return going;
}

/*
 * Go on with the look until a batch is full. Whoever else looks at the same time (malloc_trim) works on the
 * same bins, and each run is looked at by one of the two.
 */
static void collect_locked(struct ebbi_pages *pages, struct looking *looking)
{
	size_t going = 0;
	unsigned looked = 0;

	looking->collected = 0;
	for (; looking->bin < EBBI_RUN_BINS; looking->bin++, looking->begun = false) {
		do {
			uintptr_t run;

			while ((run = pages->looking.first[looking->bin]) != 0) {
				if (looking->collected == EBBI_PURGE_BATCH || going >= BATCH_PAGES_MOST ||
				    looked++ == LOOKS_MOST)
					return;
				going += look_locked(pages, looking, run);
			}
			if (looking->begun)
				break;
			ebbi_run_look_locked(pages, looking->bin);
			looking->begun = true;
		} while (true);
	}
	looking->more = false;
}

/* Give back the aged resident pages of one run; the pages not purged are aged. No lock is held. */
static size_t purge_run(struct ebbi_pages *pages, const struct purging *run)
{
	uintptr_t base = run->base;
	size_t left = run->count;
	uintptr_t start;
	size_t length;
	size_t purged = 0;

	while (ebbi_pagemap_bits_next(EBBI_PAGE_AGED, &base, &left, &start, &length)) {
		uintptr_t at = start;
		size_t rest = length;

		/* Aged pages that are not resident cost nothing to purge along, but count as nothing. */
		while (ebbi_pagemap_bits_next(EBBI_PAGE_RESIDENT, &at, &rest, &start, &length)) {
			if (!ebbi_pages_purge_stretch(pages, start, length))
				continue;
			ebbi_lock_acquire(&pages->lock);
			ebbi_pagemap_bits_clear(EBBI_PAGE_RESIDENT, start, length);
			ebbi_pagemap_bits_set(EBBI_PAGE_PURGED, start, length);
			pages->dirty_pages -= length;
			ebbi_lock_release(&pages->lock);
			purged += length;
		}
	}
	if (purged > 0 && run->count >= FORGET_LEAST_PAGES)
		ebbi_pagemap_forget(pages->vm, pages->unit_pages << EBBI_PAGE_SHIFT, PAGE_ADDRESS(run->base, 1),
				    run->count - 2);
	return purged;
}

size_t ebbi_pages_purge(struct ebbi_pages *pages, bool everything, size_t *ret_left)
{
	struct looking looking = {.everything = everything, .more = true};
	size_t purged = 0;

	while (looking.more) {
		ebbi_lock_acquire(&pages->purge_lock);
		ebbi_lock_acquire(&pages->lock);
		collect_locked(pages, &looking);
		ebbi_lock_release(&pages->lock);
		for (unsigned i = 0; i < looking.collected; i++)
			purged += purge_run(pages, &looking.batch[i]);
		ebbi_lock_acquire(&pages->lock);
		for (unsigned i = 0; i < looking.collected; i++) {
			const struct purging *run = &looking.batch[i];

			ebbi_pagemap_set(run->base, 0);
			ebbi_pagemap_set(PAGE_ADDRESS(run->base, run->count - 1), 0);
			ebbi_pagemap_bits_clear(EBBI_PAGE_AGED, run->base, run->count);
			ebbi_run_age_locked(run->base, run->count);
			ebbi_run_insert_merged_locked(pages, run->base, run->count);
		}
		*ret_left = pages->dirty_pages;
		ebbi_lock_release(&pages->lock);
		ebbi_lock_release(&pages->purge_lock);
		if (EBBI_PARANOID)
			ebbi_pages_check(pages);
	}
	return purged;
}

static void check_bins(struct ebbi_pages *pages, struct ebbi_run_bins *bins, bool dirty, size_t *resident)
{
	for (unsigned bin = 0; bin < EBBI_RUN_BINS; bin++) {
		uintptr_t previous = 0;

		if ((bins->first[bin] != 0) != ((bins->nonempty[bin / 64] >> bin % 64 & 1) != 0))
			ebbi_report_internal("a run bin's bit does not match its list");
		for (uintptr_t run = bins->first[bin]; run != 0; run = ebbi_run_next_locked(run)) {
			uint64_t entry = ebbi_pagemap_get(run);
			size_t count = ebbi_entry_run_pages(entry);
			size_t here = ebbi_pagemap_bits_count(EBBI_PAGE_RESIDENT, run, count);

			if (ebbi_entry_kind(entry) != EBBI_KIND_FREE || ebbi_run_bin(count) != bin)
				ebbi_report_internal("a free run is in the wrong bin");
			if (ebbi_pagemap_get(PAGE_ADDRESS(run, count - 1)) != entry)
				ebbi_report_internal("the ends of a free run differ");
			if (!ebbi_run_ends_leaf(PAGE_ADDRESS(run, count)) &&
			    ebbi_entry_kind(ebbi_pagemap_get(PAGE_ADDRESS(run, count))) == EBBI_KIND_FREE)
				ebbi_report_internal("two free runs touch");
			if (ebbi_run_prev_locked(run) != previous || (here > 0) != dirty)
				ebbi_report_internal("a free run is linked wrongly or in the wrong set");
			*resident += here;
			previous = run;
		}
	}
	(void)pages;
}

void ebbi_pages_check(struct ebbi_pages *pages)
{
	size_t resident = 0;

	ebbi_lock_acquire(&pages->lock);
	check_bins(pages, &pages->dirty, /* dirty= */ true, &resident);
	check_bins(pages, &pages->looking, /* dirty= */ true, &resident);
	check_bins(pages, &pages->clean, /* dirty= */ false, &resident);
	/* Runs that are being purged are in no bin, so fewer may be found than counted. */
	if (resident > pages->dirty_pages)
		ebbi_report_internal("free runs hold more resident pages than were counted");
	ebbi_lock_release(&pages->lock);
}
