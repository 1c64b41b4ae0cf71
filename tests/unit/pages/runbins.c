/* Free runs sorted by size: which bin, what is found, merging. */
#include "pages/runbins.h"

#include "check.h"
#include "fake_vm.h"
#include "seeded.h"

#define AT(base, page) ((base) + (uintptr_t)(page)*EBBI_PAGE_BYTES)
#define SPACE_PAGES ((size_t)4096)

static struct ebbi_pages pages;
static uintptr_t space;

/* A fresh stretch of the page map; the pages themselves are never touched. */
static void begin(void)
{
	static uintptr_t next = (uintptr_t)0x200 << 30;

	memset(&pages, 0, sizeof(pages));
	fake_vm_reset(4096);
	ebbi_pages_init(&pages, &fake_vm, 4096, EBBI_HUGE_ADVICE_NONE);
	space = next;
	next += SPACE_PAGES * EBBI_PAGE_BYTES;
	CHECK_EQ(ebbi_pagemap_cover(&fake_vm, space - EBBI_PAGE_BYTES, SPACE_PAGES + 2), 0);
}

TEST(bins_are_ordered_and_narrow)
{
	unsigned previous = 0;

	for (size_t count = 1; count < (size_t)1 << 20; count++) {
		unsigned bin = ebbi_run_bin(count);

		if (count <= EBBI_RUN_BINS_EXACT)
			CHECK_EQ(bin, count - 1);
		if (bin != previous)
			CHECK_EQ(bin, previous + 1);
		previous = bin;
	}
	CHECK_LT(previous, EBBI_RUN_BINS);
	CHECK_EQ(ebbi_run_bin(SIZE_MAX), EBBI_RUN_BINS - 1);
	/* Eight bins a doubling: the largest of a bin is less than an eighth above the smallest. */
	CHECK_EQ(ebbi_run_bin(64), 63u);
	CHECK_EQ(ebbi_run_bin(65), 64u);
	CHECK_EQ(ebbi_run_bin(71), 64u);
	CHECK_EQ(ebbi_run_bin(72), 65u);
	CHECK_EQ(ebbi_run_bin(1024 + 127), ebbi_run_bin(1024));
	CHECK_EQ(ebbi_run_bin(1024 + 128), ebbi_run_bin(1024) + 1);
}

TEST(dirty_and_clean_are_apart)
{
	uintptr_t base;
	size_t count;

	begin();
	ebbi_run_insert_locked(&pages, space, 4);
	ebbi_pagemap_bits_set(EBBI_PAGE_RESIDENT, AT(space, 13), 1);
	pages.dirty_pages++;
	ebbi_run_insert_locked(&pages, AT(space, 10), 5);
	ebbi_pages_check(&pages);
	CHECK(ebbi_run_find_locked(&pages.dirty, 1, &base, &count));
	CHECK_EQ(base, AT(space, 10));
	CHECK_EQ(count, 5u);
	CHECK(ebbi_run_find_locked(&pages.clean, 1, &base, &count));
	CHECK_EQ(base, space);
	CHECK(!ebbi_run_find_locked(&pages.clean, 5, &base, &count));
	CHECK(!ebbi_run_find_locked(&pages.dirty, 6, &base, &count));
	ebbi_run_remove_locked(&pages, AT(space, 10), 5);
	CHECK(!ebbi_run_find_locked(&pages.dirty, 1, &base, &count));
	CHECK_EQ(ebbi_pagemap_get(AT(space, 10)), 0u);
	CHECK_EQ(ebbi_pagemap_get(AT(space, 14)), 0u);
}

TEST(best_fit)
{
	static const size_t sizes[] = {90, 3, 700, 17, 64, 65, 68, 200, 2000, 1};
	uintptr_t base = 0;
	size_t count = 0;
	size_t at = 0;

	begin();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ebbi_run_insert_locked(&pages, AT(space, at), sizes[i]);
		at += sizes[i] + 1;
	}
	ebbi_pages_check(&pages);
	for (size_t wanted = 1; wanted <= 2001; wanted++) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			if (sizes[i] >= wanted && sizes[i] < best)
				best = sizes[i];
		CHECK_EQ(ebbi_run_find_locked(&pages.clean, wanted, &base, &count), best != SIZE_MAX);
		if (best != SIZE_MAX)
			CHECK_EQ(count, best);
	}
}

/* In a bin of several sizes the search is bounded, but never misses where a larger bin serves. */
TEST(crowded_bin)
{
	uintptr_t base;
	size_t count;
	size_t at = 0;

	begin();
	ebbi_run_insert_locked(&pages, AT(space, at), 71);
	at += 72;
	for (unsigned i = 0; i < 40; i++, at += 66)
		ebbi_run_insert_locked(&pages, AT(space, at), 65);
	CHECK(!ebbi_run_find_locked(&pages.clean, 72, &base, &count));
	ebbi_run_insert_locked(&pages, AT(space, at), 90);
	CHECK(ebbi_run_find_locked(&pages.clean, 70, &base, &count));
	CHECK_GE(count, 70u);
	ebbi_pages_check(&pages);
}

TEST(merging)
{
	uintptr_t base;
	size_t count;

	begin();
	ebbi_run_insert_merged_locked(&pages, AT(space, 10), 5);
	ebbi_run_insert_merged_locked(&pages, AT(space, 20), 5);
	ebbi_pages_check(&pages);
	ebbi_run_insert_merged_locked(&pages, AT(space, 15), 5);
	CHECK(ebbi_run_find_locked(&pages.clean, 15, &base, &count));
	CHECK_EQ(base, AT(space, 10));
	CHECK_EQ(count, 15u);
	CHECK_EQ(ebbi_pagemap_get(AT(space, 14)), 0u);
	CHECK_EQ(ebbi_pagemap_get(AT(space, 15)), 0u);
	CHECK_EQ(ebbi_pagemap_get(AT(space, 20)), 0u);
	ebbi_run_insert_merged_locked(&pages, AT(space, 9), 1);
	ebbi_run_insert_merged_locked(&pages, AT(space, 25), 1);
	CHECK(ebbi_run_find_locked(&pages.clean, 1, &base, &count));
	CHECK_EQ(base, AT(space, 9));
	CHECK_EQ(count, 17u);
	/* A run that is being purged keeps its neighbours off. */
	ebbi_pagemap_set(AT(space, 26), ebbi_entry_run(EBBI_KIND_PURGING, 4));
	ebbi_run_insert_merged_locked(&pages, AT(space, 30), 2);
	CHECK(ebbi_run_find_locked(&pages.clean, 1, &base, &count));
	CHECK_EQ(count, 2u);
	ebbi_pages_check(&pages);
}

TEST(ageing_marks_resident_pages)
{
	begin();
	ebbi_pagemap_bits_set(EBBI_PAGE_RESIDENT, AT(space, 60), 10);
	ebbi_run_age_locked(AT(space, 50), 15);
	CHECK_EQ(ebbi_pagemap_bits_count(EBBI_PAGE_AGED, AT(space, 50), 10), 0u);
	CHECK_EQ(ebbi_pagemap_bits_count(EBBI_PAGE_AGED, AT(space, 60), 5), 5u);
	CHECK_EQ(ebbi_pagemap_bits_count(EBBI_PAGE_AGED, AT(space, 65), 5), 0u);
}

/* Free runs on either side of a leaf's end stay apart, so that none is longer than a leaf. */
TEST(leaf_ends_runs)
{
	uintptr_t end;
	uintptr_t base;
	size_t count;

	begin();
	end = ebbi_round_up(space, (uintptr_t)1 << EBBI_LEAF_SHIFT) + ((uintptr_t)1 << EBBI_LEAF_SHIFT);
	CHECK_EQ(ebbi_pagemap_cover(&fake_vm, AT(end, -100), 200), 0);
	ebbi_run_insert_merged_locked(&pages, AT(end, -3), 3);
	ebbi_run_insert_merged_locked(&pages, end, 5);
	CHECK(!ebbi_run_find_locked(&pages.clean, 6, &base, &count));
	ebbi_run_insert_merged_locked(&pages, AT(end, 5), 2);
	CHECK(ebbi_run_find_locked(&pages.clean, 6, &base, &count) && base == end && count == 7);
	ebbi_run_insert_merged_locked(&pages, AT(end, -5), 2);
	CHECK(ebbi_run_find_locked(&pages.clean, 4, &base, &count) && base == AT(end, -5) && count == 5);
}

/* Runs of one to three pages in one bin each, near and half a terabyte and more apart, in every order of removal. */
TEST(few_pages_near_and_far)
{
	static const size_t apart[] = {8, (size_t)1 << 20, ((size_t)1 << 27) - 1, (size_t)1 << 27, (size_t)1 << 30};

	for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
		for (unsigned order = 0; order < 6; order++) {
			for (size_t count = 1; count <= 4; count++) {
				uintptr_t runs[3];
				unsigned first = order % 3;
				unsigned second = (first + 1 + order / 3) % 3;

				begin();
				for (unsigned k = 0; k < 3; k++) {
					runs[k] = space + k * apart[i] * EBBI_PAGE_BYTES + EBBI_PAGE_BYTES;
					CHECK_EQ(ebbi_pagemap_cover(&fake_vm, runs[k] - EBBI_PAGE_BYTES, 8), 0);
					ebbi_run_insert_locked(&pages, runs[k], count);
				}
				ebbi_pages_check(&pages);
				CHECK_EQ(pages.clean.first[count - 1], runs[2]);
				CHECK_EQ(ebbi_run_next_locked(runs[2]), runs[1]);
				CHECK_EQ(ebbi_run_next_locked(runs[1]), runs[0]);
				CHECK_EQ(ebbi_run_next_locked(runs[0]), 0u);
				CHECK_EQ(ebbi_run_prev_locked(runs[0]), runs[1]);
				ebbi_run_remove_locked(&pages, runs[first], count);
				ebbi_pages_check(&pages);
				CHECK_EQ(ebbi_pagemap_get(runs[first]), 0u);
				CHECK_EQ(ebbi_pagemap_get(AT(runs[first], count - 1)), 0u);
				ebbi_run_remove_locked(&pages, runs[second], count);
				ebbi_pages_check(&pages);
				CHECK_EQ(pages.clean.first[count - 1], runs[3 - first - second]);
				CHECK_EQ(ebbi_entry_run_pages(ebbi_pagemap_get(runs[3 - first - second])), count);
				ebbi_run_remove_locked(&pages, runs[3 - first - second], count);
				CHECK_EQ(pages.clean.first[count - 1], 0u);
			}
		}
	}
}

int main(void)
{
	RUN(bins_are_ordered_and_narrow);
	RUN(dirty_and_clean_are_apart);
	RUN(best_fit);
	RUN(crowded_bin);
	RUN(merging);
	RUN(leaf_ends_runs);
	RUN(ageing_marks_resident_pages);
	RUN(few_pages_near_and_far);
	return check_report();
}
