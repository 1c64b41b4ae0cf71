/*
 * misuse.h: is this pointer a block of ours?
 *
 * Owns: telling a valid block from everything else. Never: returns from a misuse it recognised: the
 * process ends with one line that says what the pointer is. Threading: any thread. Errors: that.
 */
#ifndef EBBI_HEAP_MISUSE_H
#define EBBI_HEAP_MISUSE_H

#include "heap/heap.h"
#include "platform/report.h"

/* The page map's entry of a block that may be live; `what` ("free", "realloc") is for the line. */
uint64_t ebbi_misuse_judge(const char *what, const void *block);

/* check:full: ends the process when the slot is free in its slab or in `cache` (may be NULL). The caller is inside. */
void ebbi_misuse_check_live(const char *what, struct ebbi_cache *cache, const void *block, uint64_t entry);

/* Bytes of the block that this entry of its first page says. */
static inline size_t ebbi_misuse_block_bytes(uint64_t entry)
{
	if (EBBI_LIKELY((entry & EBBI_ENTRY_LOW) == 0) || ebbi_entry_is_counted(entry))
		return ebbi_sizes[(entry & EBBI_ENTRY_CLASS) >> EBBI_ENTRY_CLASS_SHIFT].bytes;
	return ebbi_entry_run_pages(entry) << EBBI_PAGE_SHIFT;
}

/* Bits of an entry that send malloc_usable_size the long way: EBBI_ENTRY_LOW; all when hardened. Set at boot. */
extern EBBI_OWN uint64_t ebbi_misuse_indirect;

/*
 * `block` is the start of a slot, by the entry of its page: the short way for what nearly every block is. One
 * that lies where a slot behind the slab's last would start passes here, as it passes free, and is seen when its
 * cache is flushed. `indirect` are the bits that say no: EBBI_ENTRY_LOW, or the above.
 */
static inline bool ebbi_misuse_is_slot(const void *block, uint64_t entry, uint64_t indirect)
{
	/* Where low is not 0 the class's bits are a length's, and may lie behind the table. Class 0 has a magic of 0:
	 * nothing starts there. */
	return (entry & indirect) == 0 &&
	       ebbi_slot_starts_at(ebbi_sizes[(entry & EBBI_ENTRY_CLASS) >> EBBI_ENTRY_CLASS_SHIFT].magic,
				   ebbi_entry_slab_offset(entry, (uintptr_t)block));
}

#endif
