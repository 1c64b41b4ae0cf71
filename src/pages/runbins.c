#include "pages/runbins.h"

/* How many runs of the request's own bin are looked at before the next bin, where all fit. */
#define FIND_BOUND 16u

unsigned ebbi_run_bin(size_t count)
{
	unsigned doubling;
	unsigned bin;

	if (count <= EBBI_RUN_BINS_EXACT)
		return (unsigned)count - 1;
	doubling = ebbi_bit_highest(count); /* at least 6 */
	bin = EBBI_RUN_BINS_EXACT + (doubling - 6) * 8 + (unsigned)(count >> (doubling - 3) & 7);
	return bin < EBBI_RUN_BINS ? bin : EBBI_RUN_BINS - 1;
}

static bool is_dirty(uintptr_t base, size_t count)
{
	uintptr_t start;
	size_t length;

	return ebbi_pagemap_bits_next(EBBI_PAGE_RESIDENT, &base, &count, &start, &length);
}

void ebbi_run_insert_locked(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	struct ebbi_run_bins *bins = is_dirty(base, count) ? &pages->dirty : &pages->clean;
	struct ebbi_run_links *links = ebbi_pagemap_links(base);
	unsigned bin = ebbi_run_bin(count);

	links->prev = 0;
	links->next = bins->first[bin];
	if (links->next != 0)
		ebbi_pagemap_links(links->next)->prev = base;
	bins->first[bin] = base;
	bins->nonempty[bin / 64] |= (uint64_t)1 << bin % 64;
	ebbi_pagemap_set(base, ebbi_entry_run(EBBI_KIND_FREE, count));
	ebbi_pagemap_set(base + ((uintptr_t)(count - 1) << EBBI_PAGE_SHIFT), ebbi_entry_run(EBBI_KIND_FREE, count));
}

void ebbi_run_remove_locked(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	struct ebbi_run_links *links = ebbi_pagemap_links(base);
	unsigned bin = ebbi_run_bin(count);

	if (links->prev != 0) {
		ebbi_pagemap_links(links->prev)->next = links->next;
	} else {
		struct ebbi_run_bins *bins = pages->dirty.first[bin] == base ? &pages->dirty : &pages->clean;

		bins->first[bin] = links->next;
		if (links->next == 0)
			bins->nonempty[bin / 64] &= ~((uint64_t)1 << bin % 64);
	}
	if (links->next != 0)
		ebbi_pagemap_links(links->next)->prev = links->prev;
	ebbi_pagemap_set(base, 0);
	ebbi_pagemap_set(base + ((uintptr_t)(count - 1) << EBBI_PAGE_SHIFT), 0);
}

void ebbi_run_insert_merged_locked(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	uint64_t before = ebbi_pagemap_get(base - EBBI_PAGE_BYTES);
	uint64_t behind = ebbi_pagemap_get(base + ((uintptr_t)count << EBBI_PAGE_SHIFT));

	if (ebbi_entry_kind(before) == EBBI_KIND_FREE) {
		size_t more = ebbi_entry_run_pages(before);

		base -= (uintptr_t)more << EBBI_PAGE_SHIFT;
		count += more;
		ebbi_run_remove_locked(pages, base, more);
	}
	if (ebbi_entry_kind(behind) == EBBI_KIND_FREE) {
		size_t more = ebbi_entry_run_pages(behind);

		ebbi_run_remove_locked(pages, base + ((uintptr_t)count << EBBI_PAGE_SHIFT), more);
		count += more;
	}
	ebbi_run_insert_locked(pages, base, count);
}

/* The smallest of the first FIND_BOUND runs of `bin` with at least `count` pages. */
static bool find_in_bin(const struct ebbi_run_bins *bins, unsigned bin, size_t count, uintptr_t *ret_base,
			size_t *ret_count)
{
	uintptr_t run = bins->first[bin];
	size_t best = SIZE_MAX;
	uintptr_t best_run = 0;

	for (unsigned looked = 0; run != 0 && looked < FIND_BOUND; looked++) {
		size_t have = ebbi_entry_run_pages(ebbi_pagemap_get(run));

		if (have >= count && have < best) {
			best = have;
			best_run = run;
		}
		run = ebbi_pagemap_links(run)->next;
	}
	if (best_run == 0)
		return false;
	*ret_base = best_run;
	*ret_count = best;
	return true;
}

bool ebbi_run_find_locked(const struct ebbi_run_bins *bins, size_t count, uintptr_t *ret_base, size_t *ret_count)
{
	unsigned bin = ebbi_run_bin(count);
	uint64_t mask = UINT64_MAX << bin % 64;

	for (unsigned word = bin / 64; word < EBBI_RUN_BIN_WORDS; word++, mask = UINT64_MAX) {
		uint64_t nonempty = bins->nonempty[word] & mask;

		for (; nonempty != 0; nonempty &= nonempty - 1) {
			unsigned candidate = word * 64 + ebbi_bit_lowest(nonempty);

			if (find_in_bin(bins, candidate, count, ret_base, ret_count))
				return true;
		}
	}
	return false;
}

void ebbi_run_age_locked(uintptr_t base, size_t count)
{
	uintptr_t start;
	size_t length;

	while (ebbi_pagemap_bits_next(EBBI_PAGE_RESIDENT, &base, &count, &start, &length))
		ebbi_pagemap_bits_set(EBBI_PAGE_AGED, start, length);
}
