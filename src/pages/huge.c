#include "pages/huge.h"

#include "platform/huge.h"

/* Asked once, when something is given back for the first time. Of several threads all store the same. */
static bool system_gives_huge(struct ebbi_pages *pages)
{
	uint8_t known = ebbi_load_relaxed(&pages->huge_known);

	if (EBBI_UNLIKELY(known == EBBI_HUGE_UNKNOWN)) {
		enum ebbi_huge_given given = ebbi_huge_given();
		bool gives = given == EBBI_HUGE_GIVEN_ALWAYS ||
			     (given == EBBI_HUGE_GIVEN_ASKED && pages->advice == EBBI_HUGE_ADVICE_ON);

		known = gives ? EBBI_HUGE_YES : EBBI_HUGE_NO;
		ebbi_store_relaxed(&pages->huge_known, known);
	}
	return known == EBBI_HUGE_YES;
}

/* Blocks [start, end) were just marked: [base, last) of them is about to be purged. */
static void exclude(struct ebbi_pages *pages, uintptr_t start, uintptr_t end, uintptr_t base, uintptr_t last)
{
	size_t page_bytes = pages->unit_pages << EBBI_PAGE_SHIFT;
	size_t blocks = (end - start) / EBBI_HUGE_BYTES;

	/* Advice first: or khugepaged might put together what was just broken up. */
	if (ebbi_fetch_add_relaxed(&pages->huge_blocks, blocks) < EBBI_HUGE_BLOCKS_MOST)
		(void)pages->vm->advise_huge((void *)start, end - start, 0);
	/* One page tells which huge page is meant. Those that go back whole need no breaking up. */
	if (base > start)
		(void)pages->vm->split((void *)base, page_bytes);
	if (last < end && (base <= start || end - start > EBBI_HUGE_BYTES))
		(void)pages->vm->split((void *)(last - page_bytes), page_bytes);
}

void ebbi_huge_break(struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	uintptr_t last = base + ((uintptr_t)count << EBBI_PAGE_SHIFT);
	uintptr_t end = ebbi_round_up(last, EBBI_HUGE_BYTES);
	uintptr_t start = 0; /* of the blocks in a row that nobody marked before */

	if (pages->advice == EBBI_HUGE_ADVICE_NONE || pages->advice == EBBI_HUGE_ADVICE_OFF || pages->unit_pages > 1 ||
	    !system_gives_huge(pages))
		return;
	for (uintptr_t block = ebbi_round_down(base, EBBI_HUGE_BYTES); block < end; block += EBBI_HUGE_BYTES) {
		bool marked = ebbi_pagemap_block_mark(block);

		if (marked && start == 0)
			start = block;
		if (!marked && start != 0) {
			exclude(pages, start, block, ebbi_max_size(base, start), ebbi_min_size(last, block));
			start = 0;
		}
	}
	if (start != 0)
		exclude(pages, start, end, ebbi_max_size(base, start), last);
}
