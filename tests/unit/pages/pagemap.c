/* The page map: entries, and bits over the ends of words and leaves. */
#include "pages/pagemap.h"

#include <errno.h>

#include "check.h"
#include "fake_vm.h"
#include "seeded.h"

/* Two leaves' common edge, at an address that nobody maps: the page map never touches the page itself. */
#define EDGE ((uintptr_t)0x123 << 30)
/* Behind the last address that can be covered. */
#define TOP ((uintptr_t)(EBBI_ROOT_LEAVES << EBBI_LEAF_SHIFT))
#define BEFORE(pages) (EDGE - (uintptr_t)(pages)*EBBI_PAGE_BYTES)
#define AT(base, page) ((base) + (uintptr_t)(page)*EBBI_PAGE_BYTES)

TEST(unknown_addresses_are_nobodys)
{
	CHECK_EQ(ebbi_pagemap_get(0), 0u);
	CHECK_EQ(ebbi_pagemap_get((uintptr_t)0x7f << 40), 0u);
	CHECK_EQ(ebbi_pagemap_get(TOP), 0u);
	CHECK_EQ(ebbi_pagemap_get(UINTPTR_MAX), 0u);
}

TEST(cover_refused)
{
	const size_t leaf_bytes = ebbi_round_up(sizeof(struct ebbi_leaf), 65536);
	size_t mapped = ebbi_pagemap_mapped_bytes();

	fake_vm_reset(4096);
	CHECK_EQ(ebbi_pagemap_cover(&fake_vm, TOP - EBBI_PAGE_BYTES, 2), -ENOMEM);
	CHECK_EQ(fake_vm_calls(FAKE_MAP), 0u);
	fake_vm_refuse(FAKE_MAP, 0, 1);
	CHECK_EQ(ebbi_pagemap_cover(&fake_vm, BEFORE(1), 2), -ENOMEM);
	CHECK_EQ(ebbi_pagemap_mapped_bytes(), mapped);
	/* The first leaf stays when the second is refused, and the next try needs the second alone. */
	fake_vm_refuse(FAKE_MAP, 1, 1);
	CHECK_EQ(ebbi_pagemap_cover(&fake_vm, BEFORE(1), 2), -ENOMEM);
	CHECK_EQ(ebbi_pagemap_mapped_bytes(), mapped + leaf_bytes);
	CHECK_EQ(ebbi_pagemap_get(EDGE), 0u);
	CHECK_EQ(ebbi_pagemap_cover(&fake_vm, BEFORE(1), 2), 0);
	CHECK_EQ(ebbi_pagemap_mapped_bytes(), mapped + 2 * leaf_bytes);
	CHECK_EQ(fake_vm_calls(FAKE_MAP), 4u);
	CHECK_EQ(ebbi_pagemap_cover(&fake_vm, BEFORE(1000), 2000), 0);
	CHECK_EQ(fake_vm_calls(FAKE_MAP), 4u);
}

TEST(entries)
{
	void *slab = (void *)(((uintptr_t)1 << 48) - 64);
	/* A slab whose first page's number ends in 8 set bits, so that all its other pages carry. */
	uintptr_t base = EDGE - EBBI_PAGE_BYTES;
	uint64_t entry = ebbi_entry_slab(slab, base, ebbi_entry_bin(40, 0));

	CHECK_EQ(ebbi_entry_kind(entry), 40u);
	CHECK(ebbi_entry_slab_pointer(entry) == slab);
	CHECK_EQ(ebbi_entry_slab_offset(entry, base), 0u);
	CHECK_EQ(ebbi_entry_slab_offset(entry, base + 4095), 4095u);
	CHECK_EQ(ebbi_entry_slab_offset(entry, base + 255 * 4096 + 4095), 255u * 4096 + 4095);
	CHECK_EQ(ebbi_entry_slab_offset(ebbi_entry_slab(slab, EDGE, ebbi_entry_bin(1, 0)), EDGE + 5 * 4096 + 7),
		 5u * 4096 + 7);
	entry = ebbi_entry_run(EBBI_KIND_RUN, (size_t)1 << 36);
	CHECK_EQ(ebbi_entry_kind(entry), EBBI_KIND_RUN);
	CHECK_EQ(ebbi_entry_run_pages(entry), (size_t)1 << 36);

	for (int page = -3; page < 3; page++)
		ebbi_pagemap_set(AT(EDGE, page), (uint64_t)(page + 10));
	for (int page = -3; page < 3; page++) {
		CHECK_EQ(ebbi_pagemap_get(AT(EDGE, page)), (uint64_t)(page + 10));
		CHECK_EQ(ebbi_pagemap_get(AT(EDGE, page) + 4095), (uint64_t)(page + 10));
	}
	ebbi_pagemap_clear(BEFORE(2), 4);
	CHECK_EQ(ebbi_pagemap_get(BEFORE(3)), 7u);
	CHECK_EQ(ebbi_pagemap_get(BEFORE(2)), 0u);
	CHECK_EQ(ebbi_pagemap_get(AT(EDGE, 1)), 0u);
	CHECK_EQ(ebbi_pagemap_get(AT(EDGE, 2)), 12u);
	ebbi_pagemap_clear(BEFORE(3), 6);
	CHECK(ebbi_pagemap_links(BEFORE(1)) != ebbi_pagemap_links(EDGE));
}

/* A window of pages around the edge, page by page, against the functions that take ranges. */
#define WINDOW 400u
#define START BEFORE(WINDOW / 2 + 9)

static bool model[WINDOW];

static bool bit_of(unsigned page)
{
	return ebbi_pagemap_bits_count(EBBI_PAGE_AGED, AT(START, page), 1) == 1;
}

static void compare_with_model(void)
{
	for (unsigned page = 0; page < WINDOW; page++)
		CHECK_EQ(bit_of(page), model[page]);
}

static void compare_counts(uint64_t *state)
{
	unsigned first = (unsigned)seeded_below(state, WINDOW);
	unsigned count = (unsigned)seeded_below(state, WINDOW - first + 1);
	unsigned expected = 0;
	uint64_t word = 0;

	for (unsigned page = first; page < first + count; page++)
		expected += model[page];
	CHECK_EQ(ebbi_pagemap_bits_count(EBBI_PAGE_AGED, AT(START, first), count), expected);
	CHECK_EQ(ebbi_pagemap_bits_any(EBBI_PAGE_AGED, AT(START, first), count), expected > 0);
	count = count > 64 ? 64 : count;
	for (unsigned i = 0; i < count; i++)
		word |= (uint64_t)model[first + i] << i;
	CHECK_EQ(ebbi_pagemap_bits_load(EBBI_PAGE_AGED, AT(START, first), count), word);
}

/* Every stretch that bits_next tells, in order, must be a maximal one of the model. */
static void compare_stretches(uint64_t *state)
{
	unsigned at = (unsigned)seeded_below(state, WINDOW);
	unsigned end = at + (unsigned)seeded_below(state, WINDOW - at + 1);
	uintptr_t base = AT(START, at);
	size_t pages = end - at;
	uintptr_t start;
	size_t length;

	while (ebbi_pagemap_bits_next(EBBI_PAGE_AGED, &base, &pages, &start, &length)) {
		unsigned first = (unsigned)((start - START) / EBBI_PAGE_BYTES);

		for (; at < first; at++)
			CHECK(!model[at]);
		for (; at < first + length; at++)
			CHECK(model[at]);
		CHECK(at == end || !model[at]);
		CHECK_GT(length, 0u);
		CHECK_EQ(base, AT(START, at));
		CHECK_EQ(pages, end - at);
	}
	for (; at < end; at++)
		CHECK(!model[at]);
}

TEST(bits_against_a_model)
{
	uint64_t state = 1;

	REQUIRE(ebbi_pagemap_cover(&fake_vm, START, WINDOW) == 0);
	for (unsigned step = 0; step < 4000; step++) {
		unsigned first = (unsigned)seeded_below(&state, WINDOW);
		unsigned count = (unsigned)seeded_below(&state, WINDOW - first + 1);
		uint64_t word = seeded_next(&state);

		switch (seeded_below(&state, 3)) {
		case 0:
			ebbi_pagemap_bits_set(EBBI_PAGE_AGED, AT(START, first), count);
			memset(model + first, 1, count);
			break;
		case 1:
			ebbi_pagemap_bits_clear(EBBI_PAGE_AGED, AT(START, first), count);
			memset(model + first, 0, count);
			break;
		default:
			count = count > 64 ? 64 : count;
			ebbi_pagemap_bits_store(EBBI_PAGE_AGED, AT(START, first), count, word);
			for (unsigned i = 0; i < count; i++)
				model[first + i] = word >> i & 1;
		}
		compare_counts(&state);
		compare_stretches(&state);
		if (step % 100 == 0)
			compare_with_model();
	}
	compare_with_model();
	/* The other bits of the same pages were never touched. */
	CHECK_EQ(ebbi_pagemap_bits_count(EBBI_PAGE_RESIDENT, START, WINDOW), 0u);
	CHECK_EQ(ebbi_pagemap_bits_count(EBBI_PAGE_PURGED, START, WINDOW), 0u);
}

int main(void)
{
	RUN(unknown_addresses_are_nobodys);
	RUN(cover_refused);
	RUN(entries);
	RUN(bits_against_a_model);
	return check_report();
}
