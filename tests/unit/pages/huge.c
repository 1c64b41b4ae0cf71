/* What goes back out of huge pages: which blocks are taken out of them, once, and what the kernel is asked. */
#include "pages/huge.h"

#include "check.h"
#include "fake_vm.h"

#define BLOCK_PAGES (EBBI_HUGE_BYTES >> EBBI_PAGE_SHIFT)
#define AT(base, page) ((base) + (uintptr_t)(page)*EBBI_PAGE_BYTES)

static struct ebbi_pages pages;

static uintptr_t begin(enum ebbi_huge_advice advice, bool given, size_t blocks)
{
	uintptr_t base = 0;

	memset(&pages, 0, sizeof(pages));
	fake_vm_reset(4096);
	ebbi_pages_init(&pages, &fake_vm, 4096, advice);
	pages.huge_known = given ? EBBI_HUGE_YES : EBBI_HUGE_NO;
	CHECK_EQ(ebbi_pages_alloc(&pages, blocks * BLOCK_PAGES, BLOCK_PAGES, &base), 0);
	memset((void *)base, 0xa5, blocks * EBBI_HUGE_BYTES);
	return base;
}

/* Calls of the kind since `before`; the page map's own leaves may have been advised on before that. */
static unsigned since(enum fake_op op, unsigned before)
{
	return fake_vm_calls(op) - before;
}

TEST(part_of_a_block)
{
	uintptr_t base = begin(EBBI_HUGE_ADVICE_SYSTEM, true, 3);
	unsigned advised = fake_vm_calls(FAKE_ADVISE);
	uintptr_t at;
	size_t bytes;

	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, BLOCK_PAGES + 7), 3));
	CHECK_EQ(since(FAKE_ADVISE, advised), 1u);
	fake_vm_last(FAKE_ADVISE, &at, &bytes);
	CHECK_EQ(at, AT(base, BLOCK_PAGES));
	CHECK_EQ(bytes, EBBI_HUGE_BYTES);
	CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 1u);
	fake_vm_last(FAKE_SPLIT, &at, &bytes);
	CHECK_EQ(at, AT(base, BLOCK_PAGES + 7));
	CHECK_EQ(bytes, 4096u);
	CHECK_EQ(fake_vm_resident_pages(base, 3 * EBBI_HUGE_BYTES), 3 * BLOCK_PAGES - 3);
	/* Once for each block, whoever asks. */
	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, BLOCK_PAGES), 2));
	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, 2 * BLOCK_PAGES - 1), 1));
	CHECK_EQ(since(FAKE_ADVISE, advised), 1u);
	CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 1u);
	CHECK_EQ(pages.huge_blocks, 1u);
}

TEST(several_blocks)
{
	uintptr_t base = begin(EBBI_HUGE_ADVICE_SYSTEM, true, 6);
	unsigned advised = fake_vm_calls(FAKE_ADVISE);
	uintptr_t at;
	size_t bytes;

	/* Whole blocks need no breaking up, but stay out of huge pages: they come back in pieces. */
	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, 4 * BLOCK_PAGES), 2 * BLOCK_PAGES));
	CHECK_EQ(since(FAKE_ADVISE, advised), 1u);
	CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 0u);
	CHECK_EQ(pages.huge_blocks, 2u);
	/* Neighbours with one call; both ends are broken up, what lies between goes back whole. */
	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, 5), 3 * BLOCK_PAGES));
	CHECK_EQ(since(FAKE_ADVISE, advised), 2u);
	fake_vm_last(FAKE_ADVISE, &at, &bytes);
	CHECK_EQ(at, base);
	CHECK_EQ(bytes, 4 * EBBI_HUGE_BYTES);
	CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 2u);
	fake_vm_last(FAKE_SPLIT, &at, &bytes);
	CHECK_EQ(at, AT(base, 3 * BLOCK_PAGES + 4));
	CHECK_EQ(pages.huge_blocks, 6u);
}

TEST(a_marked_block_between)
{
	uintptr_t base = begin(EBBI_HUGE_ADVICE_ON, true, 3);
	unsigned advised = fake_vm_calls(FAKE_ADVISE);

	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, BLOCK_PAGES + 1), 1));
	CHECK_EQ(since(FAKE_ADVISE, advised), 1u);
	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, 1), 3 * BLOCK_PAGES - 2));
	CHECK_EQ(since(FAKE_ADVISE, advised), 3u);
	CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 3u);
	CHECK_EQ(pages.huge_blocks, 3u);
}

TEST(refusals_cost_memory_only)
{
	uintptr_t base = begin(EBBI_HUGE_ADVICE_SYSTEM, true, 1);

	fake_vm_refuse(FAKE_ADVISE, 0, UINT32_MAX);
	fake_vm_refuse(FAKE_SPLIT, 0, UINT32_MAX);
	CHECK(ebbi_pages_purge_stretch(&pages, base, 4));
	CHECK_EQ(fake_vm_refused(FAKE_SPLIT), 1u);
	CHECK_EQ(fake_vm_resident_pages(base, EBBI_HUGE_BYTES), BLOCK_PAGES - 4);
}

TEST(mappings_are_bounded)
{
	uintptr_t base = begin(EBBI_HUGE_ADVICE_SYSTEM, true, 2);
	unsigned advised = fake_vm_calls(FAKE_ADVISE);

	pages.huge_blocks = EBBI_HUGE_BLOCKS_MOST - 1;
	CHECK(ebbi_pages_purge_stretch(&pages, base, 1));
	CHECK_EQ(since(FAKE_ADVISE, advised), 1u);
	CHECK(ebbi_pages_purge_stretch(&pages, AT(base, BLOCK_PAGES), 1));
	CHECK_EQ(since(FAKE_ADVISE, advised), 1u);
	CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 2u);
}

TEST(nothing_where_there_are_none)
{
	static const enum ebbi_huge_advice quiet[] = {EBBI_HUGE_ADVICE_NONE, EBBI_HUGE_ADVICE_OFF};
	uintptr_t base;
	unsigned advised;

	for (unsigned i = 0; i < 2; i++) {
		base = begin(quiet[i], true, 1);
		advised = fake_vm_calls(FAKE_ADVISE);
		CHECK(ebbi_pages_purge_stretch(&pages, base, 1));
		CHECK_EQ(since(FAKE_ADVISE, advised), 0u);
		CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 0u);
	}
	base = begin(EBBI_HUGE_ADVICE_SYSTEM, false, 1);
	advised = fake_vm_calls(FAKE_ADVISE);
	CHECK(ebbi_pages_purge_stretch(&pages, base, 1));
	CHECK_EQ(since(FAKE_ADVISE, advised), 0u);
	CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 0u);
}

/* Their huge page would be 32 or 512 MiB: the region is excluded at once, and nothing is ever broken up. */
TEST(larger_pages)
{
	for (unsigned i = 0; i < 2; i++) {
		size_t page_bytes = (size_t)(i == 0 ? 16 : 64) << 10;
		uintptr_t base = 0;
		unsigned advised;

		memset(&pages, 0, sizeof(pages));
		fake_vm_reset(page_bytes);
		ebbi_pages_init(&pages, &fake_vm, page_bytes, EBBI_HUGE_ADVICE_SYSTEM);
		pages.huge_known = EBBI_HUGE_YES;
		CHECK_EQ(ebbi_pages_alloc(&pages, 32, 1, &base), 0);
		memset((void *)base, 1, 32 * EBBI_PAGE_BYTES);
		advised = fake_vm_calls(FAKE_ADVISE);
		CHECK(advised > 0);
		CHECK(ebbi_pages_purge_stretch(&pages, base, page_bytes >> EBBI_PAGE_SHIFT));
		CHECK_EQ(since(FAKE_ADVISE, advised), 0u);
		CHECK_EQ(fake_vm_calls(FAKE_SPLIT), 0u);
	}
}

int main(void)
{
	RUN(part_of_a_block);
	RUN(several_blocks);
	RUN(a_marked_block_between);
	RUN(refusals_cost_memory_only);
	RUN(mappings_are_bounded);
	RUN(nothing_where_there_are_none);
	RUN(larger_pages);
	return check_report();
}
