/*
 * meta.h: memory for the allocator's own descriptors, apart from the program's.
 *
 * Owns: chunks mapped from the kernel with an inaccessible page on either side, so that an overflow
 * in the program's heap cannot reach a descriptor; which units of 64 bytes in them are free.
 * Never: unmaps a chunk, calls the kernel with its lock held.
 * Threading: any thread; the caller holds no lock, for ebbi_meta_purge the purge lock of struct ebbi_pages.
 * Errors: NULL when the kernel refuses memory. Where it refuses only another mapping, a chunk is a run of
 * the heap's own pages, without guards, and counted.
 *
 * A chunk is 256 KiB of address space, aligned to that, so that a block's chunk is a mask away:
 *
 *   page 0        a page with struct ebbi_meta_chunk     the rest                    behind it
 *   no access     and blocks                             blocks                      no access
 *
 * A block is 1 to 16 units in one page of 4 KiB, which is one word of the chunk's bitmap; nothing is ever
 * written into a free block. A page whose blocks are all free is given back at the next look, reads as
 * zeros and counts as free all the while: blocks are zeroed when they are handed out. The oldest chunk
 * and in it the lowest page with room serves first, so that the pages that were needed at a peak run empty.
 * Blocks that stay for good have pages of their own, which no other block keeps company.
 *
 * Whoever follows a stale entry of the page map to a freed descriptor finds its size class 0, which no
 * living one has (slabs/bin.c): destroyed descriptors are marked so, and given back pages are zero.
 *
 * Invariants (ebbi_meta_check): bit w of room[life][n] is set when word w has n free bits in a row and
 * blocks of that life, or none; no chunk before first[life][n] has room[life][n]; a free bit of a page that is not resident is one of 64, or of those
 * behind the chunk's own fields; idle_pages is the number of resident pages without a block.
 */
#ifndef EBBI_PAGES_META_H
#define EBBI_PAGES_META_H

#include "pages/pagemap.h"
#include "platform/futex.h"

#define EBBI_META_UNIT ((size_t)64)
#define EBBI_META_BLOCK_MOST ((size_t)1024)
#define EBBI_META_UNITS_MOST (EBBI_META_BLOCK_MOST / EBBI_META_UNIT)
#define EBBI_META_CHUNK_BYTES ((size_t)256 << 10)
#define EBBI_META_WORDS 64u

/* How long a block is needed. */
enum ebbi_meta_life {
	EBBI_META_BRIEF, /* as long as a slab */
	EBBI_META_LASTING,
	EBBI_META_LIVES
};

/* At the start of a chunk's first accessible page; guarded by the lock of its ebbi_meta. */
struct ebbi_meta_chunk {
	struct ebbi_meta_chunk *next; /* younger */
	unsigned number;              /* of older ones */
	uint64_t resident;            /* a bit a page */
	uint64_t lasting;             /* pages for blocks that stay */
	uint64_t room[EBBI_META_LIVES][EBBI_META_UNITS_MOST + 1];
	uint64_t free[EBBI_META_WORDS]; /* a bit a unit; 0 for pages that are not ours or on their way back */
};

struct ebbi_pages;

struct ebbi_meta {
	const struct ebbi_vm *vm; /* set at boot */
	size_t page_bytes;        /* set at boot */
	struct ebbi_pages *pages; /* set at boot: where chunks come from that cannot be mapped; NULL in tests */
	size_t unguarded_chunks;  /* relaxed: such chunks */
	struct ebbi_lock lock;    /* guards all that follows */
	struct ebbi_meta_chunk *oldest;
	struct ebbi_meta_chunk *youngest;
	struct ebbi_meta_chunk *first[EBBI_META_LIVES][EBBI_META_UNITS_MOST + 1]; /* with room; NULL: none */
	uintptr_t areas_next;                                                     /* of the present chunk of areas */
	uintptr_t areas_end;
	size_t used_bytes;   /* blocks handed out */
	size_t brief_bytes;  /* of those: blocks that do not stay */
	size_t brief_pages;  /* with such blocks */
	size_t mapped_bytes; /* chunks */
	size_t idle_pages;   /* 4 KiB pages that could be given back */
};

void ebbi_meta_init(struct ebbi_meta *meta, const struct ebbi_vm *vm, size_t page_bytes);

/* A zeroed block of `bytes` (1 to EBBI_META_BLOCK_MOST). NULL when there is no memory. */
void *ebbi_meta_alloc(struct ebbi_meta *meta, size_t bytes, enum ebbi_meta_life life);

/* `bytes` as it was asked for. */
void ebbi_meta_free(struct ebbi_meta *meta, void *block, size_t bytes);

/* Do blocks that do not stay lie so sparsely that moving them would give pages back? */
bool ebbi_meta_is_sparse(struct ebbi_meta *meta);

/*
 * If so: room for this one on a page before its own. NULL otherwise, and where there is none. The room is not zeroed: the caller, who copies the block there and frees it, knows
 * all who have a pointer to it. Needs no memory; may be called with a lock of lower rank held.
 */
void *ebbi_meta_alloc_lower(struct ebbi_meta *meta, const void *block, size_t bytes);

/*
 * Give back all pages without a block. Returns how many 4 KiB pages, in *ret_refused how many the kernel
 * refused. The caller holds the lock that keeps a fork away from memory that is half way (purge_lock).
 */
size_t ebbi_meta_purge(struct ebbi_meta *meta, size_t *ret_refused);

/*
 * Whole zeroed pages, aligned to a page, for as long as the process lives. They may be purged by the
 * caller and are not counted in used_bytes. NULL when there is no memory.
 */
void *ebbi_meta_area(struct ebbi_meta *meta, size_t bytes);

/* Ends the process when an invariant does not hold. */
void ebbi_meta_check(struct ebbi_meta *meta);

#endif
