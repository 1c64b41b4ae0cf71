#include "pages/release.h"

#include "pages/runbins.h"

/* Runs of fewer pages (256 KiB) are left: a hole each would cost more mappings than it frees memory. */
#define RELEASE_LEAST_PAGES 64u

_Static_assert(RELEASE_LEAST_PAGES == EBBI_RUN_BINS_EXACT, "the bins from here up hold runs worth a hole");

/* A free run on its way out: in no bin, its entries and bits 0 before its addresses may be another's. */
struct leaving {
	uintptr_t base;
	size_t count;
	size_t resident;
};

static bool unmap_try(struct ebbi_pages *pages, uintptr_t base, size_t bytes)
{
	bool done = pages->vm->unmap((void *)base, bytes) == 0;

	if (!done) {
		ebbi_lock_acquire(&pages->lock);
		ebbi_counter_add(&pages->unmap_refused, 1u);
		ebbi_lock_release(&pages->lock);
	}
	return done;
}

/* Mapped, and counted so. */
static void remember_locked(struct ebbi_pages *pages, uintptr_t base, size_t bytes)
{
	if (pages->leftover_count < EBBI_LEFTOVERS_MOST)
		pages->leftovers[pages->leftover_count++] = (struct ebbi_leftover){base, bytes};
	else
		pages->lost_bytes += bytes;
}

/* What could not be unmapped serves again, emptied if the kernel does that at least. */
static void keep(struct ebbi_pages *pages, uintptr_t base, size_t count, size_t mapped_bytes)
{
	bool emptied = ebbi_pages_purge_stretch(pages, base, count);

	ebbi_lock_acquire(&pages->lock);
	if (emptied) {
		ebbi_pagemap_bits_set(EBBI_PAGE_PURGED, base, count);
	} else {
		ebbi_pagemap_bits_set(EBBI_PAGE_RESIDENT, base, count);
		pages->dirty_pages += count;
	}
	pages->mapped_bytes += mapped_bytes;
	ebbi_run_insert_merged_locked(pages, base, count);
	ebbi_lock_release(&pages->lock);
}

static void count_unmapped(struct ebbi_pages *pages, size_t resident_pages, size_t mapped_bytes)
{
	ebbi_lock_acquire(&pages->lock);
	ebbi_counter_add(&pages->unmap_calls, 1u);
	ebbi_counter_add(&pages->purged_pages, resident_pages);
	pages->mapped_bytes -= mapped_bytes;
	ebbi_lock_release(&pages->lock);
}

void ebbi_pages_dissolve(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	size_t bytes = count << EBBI_PAGE_SHIFT;

	if (unmap_try(pages, base, bytes))
		count_unmapped(pages, count, 0);
	else
		keep(pages, base, count, bytes);
}

void ebbi_pages_unmap_unused(struct ebbi_pages *pages, void *base, size_t bytes)
{
	if (unmap_try(pages, (uintptr_t)base, bytes))
		return;
	ebbi_lock_acquire(&pages->lock);
	pages->mapped_bytes += bytes;
	remember_locked(pages, (uintptr_t)base, bytes);
	ebbi_lock_release(&pages->lock);
}

void ebbi_pages_unmap_tail(struct ebbi_pages *pages, uintptr_t base, size_t bytes)
{
	bool done = unmap_try(pages, base, bytes);

	ebbi_lock_acquire(&pages->lock);
	if (done)
		pages->mapped_bytes -= bytes;
	else
		remember_locked(pages, base, bytes);
	ebbi_lock_release(&pages->lock);
}

bool ebbi_pages_leftover_take(struct ebbi_pages *pages, size_t least_bytes, void **ret_base, size_t *ret_bytes)
{
	bool found = false;

	ebbi_lock_acquire(&pages->lock);
	for (unsigned i = 0; i < pages->leftover_count && !found; i++) {
		if (pages->leftovers[i].bytes < least_bytes)
			continue;
		*ret_base = (void *)pages->leftovers[i].base;
		*ret_bytes = pages->leftovers[i].bytes;
		pages->mapped_bytes -= *ret_bytes;
		pages->leftovers[i] = pages->leftovers[--pages->leftover_count];
		found = true;
	}
	ebbi_lock_release(&pages->lock);
	return found;
}

/* purge_lock is held. */
static void retry_leftovers(struct ebbi_pages *pages)
{
	struct ebbi_leftover leftovers[EBBI_LEFTOVERS_MOST];
	unsigned count;

	ebbi_lock_acquire(&pages->lock);
	count = pages->leftover_count;
	for (unsigned i = 0; i < count; i++)
		leftovers[i] = pages->leftovers[i];
	pages->leftover_count = 0;
	ebbi_lock_release(&pages->lock);
	for (unsigned i = 0; i < count; i++)
		ebbi_pages_unmap_tail(pages, leftovers[i].base, leftovers[i].bytes);
}

/* All that lies behind the last run that was taken; the next one who grows starts a region. */
static size_t release_wilderness(struct ebbi_pages *pages)
{
	uintptr_t base;
	uintptr_t wild_end;
	uintptr_t region_end;
	bool done = true;

	ebbi_lock_acquire(&pages->grow_lock);
	ebbi_lock_acquire(&pages->lock);
	base = pages->wild_start;
	wild_end = pages->wild_end;
	region_end = pages->region_end;
	pages->wild_start = pages->wild_end = pages->region_end = 0;
	ebbi_lock_release(&pages->lock);
	if (region_end > base)
		done = unmap_try(pages, base, region_end - base);
	ebbi_lock_acquire(&pages->lock);
	if (done)
		pages->mapped_bytes -= region_end - base;
	else if (region_end > wild_end)
		remember_locked(pages, wild_end, region_end - wild_end);
	if (!done && wild_end > base)
		ebbi_run_insert_merged_locked(pages, base, (wild_end - base) >> EBBI_PAGE_SHIFT);
	ebbi_lock_release(&pages->lock);
	ebbi_lock_release(&pages->grow_lock);
	return done ? (region_end - base) >> EBBI_PAGE_SHIFT : 0;
}

static void leave_locked(struct ebbi_pages *pages, struct ebbi_run_bins *bins, unsigned bin, struct leaving *ret_run)
{
	uintptr_t base = bins->first[bin];
	size_t count = ebbi_entry_run_pages(ebbi_pagemap_get(base));

	*ret_run = (struct leaving){base, count, ebbi_pagemap_bits_count(EBBI_PAGE_RESIDENT, base, count)};
	ebbi_run_remove_locked(pages, base, count);
	pages->dirty_pages -= ret_run->resident;
	ebbi_pagemap_bits_clear(EBBI_PAGE_RESIDENT, base, count);
	ebbi_pagemap_bits_clear(EBBI_PAGE_AGED, base, count);
	ebbi_pagemap_bits_clear(EBBI_PAGE_PURGED, base, count);
}

/* The longest runs first. */
static unsigned collect_locked(struct ebbi_pages *pages, struct leaving batch[EBBI_PURGE_BATCH], size_t most)
{
	unsigned collected = 0;

	for (unsigned bin = EBBI_RUN_BINS; bin-- > RELEASE_LEAST_PAGES - 1;) {
		while (pages->clean.first[bin] != 0 && collected < most)
			leave_locked(pages, &pages->clean, bin, &batch[collected++]);
		while (pages->dirty.first[bin] != 0 && collected < most)
			leave_locked(pages, &pages->dirty, bin, &batch[collected++]);
		while (pages->looking.first[bin] != 0 && collected < most)
			leave_locked(pages, &pages->looking, bin, &batch[collected++]);
	}
	return collected;
}

/* Each hole may cost one more mapping. */
static size_t holes_to_spare(const struct ebbi_pages *pages)
{
	return pages->vm->maps_left() / 2;
}

size_t ebbi_pages_release(struct ebbi_pages *pages)
{
	struct leaving batch[EBBI_PURGE_BATCH];
	size_t holes = holes_to_spare(pages);
	size_t released;
	unsigned collected;
	bool refused = false;

	ebbi_lock_acquire(&pages->purge_lock);
	retry_leftovers(pages);
	released = release_wilderness(pages);
	ebbi_lock_release(&pages->purge_lock);
	do {
		ebbi_lock_acquire(&pages->purge_lock);
		ebbi_lock_acquire(&pages->lock);
		collected = collect_locked(pages, batch, ebbi_min_size(holes, EBBI_PURGE_BATCH));
		ebbi_lock_release(&pages->lock);
		for (unsigned i = 0; i < collected; i++) {
			size_t bytes = batch[i].count << EBBI_PAGE_SHIFT;

			if (refused || !unmap_try(pages, batch[i].base, bytes)) {
				refused = true;
				keep(pages, batch[i].base, batch[i].count, 0);
				continue;
			}
			count_unmapped(pages, batch[i].resident, bytes);
			released += batch[i].count;
		}
		holes -= collected;
		ebbi_lock_release(&pages->purge_lock);
	} while (collected == EBBI_PURGE_BATCH && !refused);
	return released;
}
