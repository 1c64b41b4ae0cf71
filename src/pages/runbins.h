/*
 * runbins.h: free runs sorted by size.
 *
 * Owns: the three sets of bins of struct ebbi_pages and the links and end entries of the runs in
 * them. Sizes up to 64 pages have a bin each, larger ones eight bins a doubling. Never: calls the
 * kernel. Threading: the caller holds pages->lock. Errors: none.
 */
#ifndef EBBI_PAGES_RUNBINS_H
#define EBBI_PAGES_RUNBINS_H

#include "pages/pages.h"

/* The bin for a run of `count` pages (at least 1). */
unsigned ebbi_run_bin(size_t count);

/* Into the dirty bins when a page is resident, else into the clean ones; marks both ends FREE. */
void ebbi_run_insert_locked(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* The same for one that is known to have no resident page. */
void ebbi_run_insert_clean_locked(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* Runs on either side of this address are not merged. */
static inline bool ebbi_run_ends_leaf(uintptr_t address)
{
	return (address & (((uintptr_t)1 << EBBI_LEAF_SHIFT) - 1)) == 0;
}

/* All dirty runs of a bin to the bin of those that are to be looked at, which is empty. */
void ebbi_run_look_locked(struct ebbi_pages *pages, unsigned bin);

/* As insert, after merging with free neighbours. */
void ebbi_run_insert_merged_locked(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* The neighbours of a run in its bin, 0 at the ends. */
uintptr_t ebbi_run_next_locked(uintptr_t run);
uintptr_t ebbi_run_prev_locked(uintptr_t run);

/* Out of its bin; both ends' entries are cleared. */
void ebbi_run_remove_locked(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* A run of at least `count` pages: best fit up to the width of a bin. Leaves it where it is. */
bool ebbi_run_find_locked(const struct ebbi_run_bins *bins, size_t count, uintptr_t *ret_base, size_t *ret_count);

/* Mark the resident pages of a run aged. */
void ebbi_run_age_locked(uintptr_t base, size_t count);

#endif
