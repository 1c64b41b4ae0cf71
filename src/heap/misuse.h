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
void ebbi_misuse_check_live(const char *what, const struct ebbi_cache *cache, const void *block, uint64_t entry);

/* Bytes of the block that this entry of its first page says. */
size_t ebbi_misuse_block_bytes(uint64_t entry);

#endif
