/*
 * huge.h: memory that goes back out of huge pages.
 *
 * Owns: which blocks of 2 MiB were taken out of huge pages for good. Where the system gives huge pages to everybody
 * (THP=always, or option hugepages:on), giving a part of one back frees nothing: the resident set falls, but the
 * kernel keeps the 2 MiB until it is short of memory. And khugepaged fills holes again, since by default one
 * page in use is reason enough. So before the first page of a block goes back, the block is excluded from huge
 * pages and the one it may lie in is broken up. What is dense and stays so keeps its huge pages.
 *
 * A block that was taken out is not put back: advice in favour would ask for more than the system's own setting.
 *
 * Never: is called with a lock held that malloc or free may need; does anything where the system gives no huge
 * pages unasked. Threading: any thread. Errors: none; the kernel's refusals cost memory only.
 *
 * Mappings: neighbouring blocks with the same advice are one mapping to the kernel, so each block adds two at
 * most. Beyond EBBI_HUGE_BLOCKS_MOST of them only the break-up is done, which adds none.
 */
#ifndef EBBI_PAGES_HUGE_H
#define EBBI_PAGES_HUGE_H

#include "pages/pages.h"

#define EBBI_HUGE_BYTES ((size_t)2 << 20)

/* A quarter of the mappings that a process may have by default, if no two of these blocks touch. */
#define EBBI_HUGE_BLOCKS_MOST ((size_t)8192)

/* Before [base, base + count) is purged. */
void ebbi_huge_break(struct ebbi_pages *pages, uintptr_t base, size_t count);

#endif
