#include "slabs/large.h"

/* Pages that mincore(2) is asked for at a time: their bytes lie on a stack that may be the scavenger's small one. */
#define PRESENT_MOST ((size_t)512)

/* Pages of the range that hold no memory; 0 when the kernel does not say, as for a block that went meanwhile. */
static size_t absent_pages(const struct ebbi_pages *pages, uintptr_t base, size_t count)
{
	unsigned char present[PRESENT_MOST];
	size_t unit = pages->unit_pages;
	size_t absent = 0;

	while (count > 0) {
		size_t here = ebbi_min_size(count, PRESENT_MOST * unit);

		if (ebbi_vm_present((const void *)base, here << EBBI_PAGE_SHIFT, present) != 0)
			return absent;
		for (size_t i = 0; i < here / unit; i++)
			absent += (present[i] & 1) == 0 ? unit : 0;
		base += (uintptr_t)here << EBBI_PAGE_SHIFT;
		count -= here;
	}
	return absent;
}

size_t ebbi_large_untouched(const struct ebbi_large *large)
{
	uintptr_t at = 0;
	uintptr_t base;
	size_t count;
	size_t untouched = 0;

	while (ebbi_pagemap_block_next(&at, &base, &count))
		untouched += absent_pages(&large->store->pages, base, count);
	return untouched;
}
