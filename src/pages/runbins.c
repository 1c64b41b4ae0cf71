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
	return ebbi_pagemap_bits_any(EBBI_PAGE_RESIDENT, base, count);
}

/*
 * A run's links lie in the entries of its second and third page, which mean nothing otherwise; so they cost
 * no memory of their own. Runs too short for that have both in the one entry that stands at either end,
 * as distances.
 */
#define LINKED_INSIDE_LEAST (EBBI_ENTRY_FEW_MOST + 1)

enum link { LINK_NEXT, LINK_PREV };

#define NEXT_SHIFT 8u
#define PREV_SHIFT 36u
#define DISTANCE_BITS 28u
#define DISTANCE_MASK (((uint64_t)1 << DISTANCE_BITS) - 1)

static uintptr_t page_at(uintptr_t base, size_t index)
{
	return base + ((uintptr_t)index << EBBI_PAGE_SHIFT);
}

static int64_t distance(uintptr_t run, uintptr_t other)
{
	return other == 0 ? 0 : ((int64_t)other - (int64_t)run) / (int64_t)EBBI_PAGE_BYTES;
}

static bool is_near(int64_t pages)
{
	return pages >= -((int64_t)1 << (DISTANCE_BITS - 1)) && pages < (int64_t)1 << (DISTANCE_BITS - 1);
}

static uintptr_t few_get(uintptr_t run, uint64_t entry, enum link link)
{
	unsigned shift = link == LINK_NEXT ? NEXT_SHIFT : PREV_SHIFT;
	int64_t pages = (int64_t)((entry >> shift & DISTANCE_MASK) << (64 - DISTANCE_BITS)) >> (64 - DISTANCE_BITS);

	if ((entry & EBBI_ENTRY_FAR) != 0) {
		const struct ebbi_run_links *links = ebbi_pagemap_links(run);

		return link == LINK_NEXT ? links->next : links->prev;
	}
	return pages == 0 ? 0 : (uintptr_t)((int64_t)run + pages * (int64_t)EBBI_PAGE_BYTES);
}

/* Both ends of a run of few pages. */
static void few_set(uintptr_t run, size_t count, uintptr_t next, uintptr_t prev)
{
	int64_t to_next = distance(run, next);
	int64_t to_prev = distance(run, prev);
	uint64_t entry = ebbi_entry_run(EBBI_KIND_FREE, 0) | (uint64_t)count << EBBI_ENTRY_FEW_SHIFT;

	if (is_near(to_next) && is_near(to_prev)) {
		entry |= ((uint64_t)to_next & DISTANCE_MASK) << NEXT_SHIFT;
		entry |= ((uint64_t)to_prev & DISTANCE_MASK) << PREV_SHIFT;
	} else {
		entry |= EBBI_ENTRY_FAR;
		*ebbi_pagemap_links(run) = (struct ebbi_run_links){next, prev};
	}
	ebbi_pagemap_set(run, entry);
	ebbi_pagemap_set(page_at(run, count - 1), entry);
}

static uintptr_t link_get(uintptr_t run, enum link link)
{
	uint64_t entry = ebbi_pagemap_get(run);

	if (ebbi_entry_run_pages(entry) < LINKED_INSIDE_LEAST)
		return few_get(run, entry, link);
	return ebbi_entry_run_pages(ebbi_pagemap_get(page_at(run, 1u + link))) << EBBI_PAGE_SHIFT;
}

static void link_set(uintptr_t run, enum link link, uintptr_t value)
{
	uint64_t entry = ebbi_pagemap_get(run);
	size_t count = ebbi_entry_run_pages(entry);

	if (count >= LINKED_INSIDE_LEAST)
		ebbi_pagemap_set(page_at(run, 1u + link), ebbi_entry_run(EBBI_KIND_LINK, value >> EBBI_PAGE_SHIFT));
	else if (link == LINK_NEXT)
		few_set(run, count, value, few_get(run, entry, LINK_PREV));
	else
		few_set(run, count, few_get(run, entry, LINK_NEXT), value);
}

/* The run's ends, with its links. */
static void mark_free(uintptr_t base, size_t count, uintptr_t next, uintptr_t prev)
{
	if (count < LINKED_INSIDE_LEAST) {
		few_set(base, count, next, prev);
		return;
	}
	ebbi_pagemap_set(base, ebbi_entry_run(EBBI_KIND_FREE, count));
	ebbi_pagemap_set(page_at(base, count - 1), ebbi_entry_run(EBBI_KIND_FREE, count));
	link_set(base, LINK_NEXT, next);
	link_set(base, LINK_PREV, prev);
}

uintptr_t ebbi_run_next_locked(uintptr_t run)
{
	return link_get(run, LINK_NEXT);
}

uintptr_t ebbi_run_prev_locked(uintptr_t run)
{
	return link_get(run, LINK_PREV);
}

static void insert_into_locked(struct ebbi_run_bins *bins, uintptr_t base, size_t count)
{
	unsigned bin = ebbi_run_bin(count);
	uintptr_t next = bins->first[bin];

	mark_free(base, count, next, 0);
	if (next != 0)
		link_set(next, LINK_PREV, base);
	bins->first[bin] = base;
	bins->nonempty[bin / 64] |= (uint64_t)1 << bin % 64;
}

void ebbi_run_insert_locked(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	insert_into_locked(is_dirty(base, count) ? &pages->dirty : &pages->clean, base, count);
}

void ebbi_run_insert_clean_locked(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	insert_into_locked(&pages->clean, base, count);
}

void ebbi_run_look_locked(struct ebbi_pages *pages, unsigned bin)
{
	uint64_t bit = (uint64_t)1 << bin % 64;

	pages->looking.first[bin] = pages->dirty.first[bin];
	pages->dirty.first[bin] = 0;
	pages->looking.nonempty[bin / 64] |= pages->dirty.nonempty[bin / 64] & bit;
	pages->dirty.nonempty[bin / 64] &= ~bit;
}

void ebbi_run_remove_locked(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	unsigned bin = ebbi_run_bin(count);
	uintptr_t next = link_get(base, LINK_NEXT);
	uintptr_t prev = link_get(base, LINK_PREV);

	if (prev != 0) {
		link_set(prev, LINK_NEXT, next);
	} else {
		struct ebbi_run_bins *bins = &pages->clean;

		if (pages->dirty.first[bin] == base)
			bins = &pages->dirty;
		else if (pages->looking.first[bin] == base)
			bins = &pages->looking;
		bins->first[bin] = next;
		if (next == 0)
			bins->nonempty[bin / 64] &= ~((uint64_t)1 << bin % 64);
	}
	if (next != 0)
		link_set(next, LINK_PREV, prev);
	if (count >= LINKED_INSIDE_LEAST)
		ebbi_pagemap_clear(page_at(base, 1), 2);
	ebbi_pagemap_set(base, 0);
	ebbi_pagemap_set(page_at(base, count - 1), 0);
}

void ebbi_run_insert_merged_locked(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	uintptr_t end = page_at(base, count);
	uint64_t before = ebbi_pagemap_get(base - EBBI_PAGE_BYTES);
	uint64_t behind = ebbi_pagemap_get(end);

	if (ebbi_entry_kind(before) == EBBI_KIND_FREE && !ebbi_run_ends_leaf(base)) {
		size_t more = ebbi_entry_run_pages(before);

		base -= (uintptr_t)more << EBBI_PAGE_SHIFT;
		count += more;
		ebbi_run_remove_locked(pages, base, more);
	}
	if (ebbi_entry_kind(behind) == EBBI_KIND_FREE && !ebbi_run_ends_leaf(end)) {
		size_t more = ebbi_entry_run_pages(behind);

		ebbi_run_remove_locked(pages, end, more);
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
		run = link_get(run, LINK_NEXT);
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
