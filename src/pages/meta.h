/*
 * meta.h: memory for the allocator's own descriptors, apart from the program's.
 *
 * Owns: chunks mapped from the kernel with an inaccessible page on either side, so that an overflow
 * in the program's heap cannot reach a descriptor; free lists of blocks in steps of 64 bytes.
 * Never: gives a chunk back (descriptors are reused; their number follows the peak), calls the
 * kernel with its lock held.
 * Threading: any thread; the caller holds no lock. Errors: NULL when the kernel refuses memory.
 * Invariant: blocks are aligned to 64 bytes and lie below 2^48.
 */
#ifndef EBBI_PAGES_META_H
#define EBBI_PAGES_META_H

#include "pages/pagemap.h"
#include "platform/futex.h"

#define EBBI_META_UNIT ((size_t)64)
#define EBBI_META_BLOCK_MOST ((size_t)1024)

struct ebbi_meta_chunk {
	uintptr_t next; /* first byte not handed out */
	uintptr_t end;
};

struct ebbi_meta {
	const struct ebbi_vm *vm; /* set at boot */
	size_t page_bytes;        /* set at boot */
	struct ebbi_lock lock;    /* guards all that follows */
	struct ebbi_meta_chunk blocks;
	struct ebbi_meta_chunk areas;
	void *free[EBBI_META_BLOCK_MOST / EBBI_META_UNIT]; /* singly linked through the first word */
	size_t used_bytes;                                 /* blocks handed out */
	size_t mapped_bytes;                               /* chunks */
};

void ebbi_meta_init(struct ebbi_meta *meta, const struct ebbi_vm *vm, size_t page_bytes);

/* A zeroed block of `bytes` (1 to EBBI_META_BLOCK_MOST). NULL when there is no memory. */
void *ebbi_meta_alloc(struct ebbi_meta *meta, size_t bytes);

/* `bytes` as it was asked for. */
void ebbi_meta_free(struct ebbi_meta *meta, void *block, size_t bytes);

/*
 * Whole zeroed pages, aligned to a page, for as long as the process lives. They may be purged by the
 * caller and are not counted in used_bytes. NULL when there is no memory.
 */
void *ebbi_meta_area(struct ebbi_meta *meta, size_t bytes);

#endif
