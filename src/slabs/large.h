/*
 * large.h: blocks above the size classes.
 *
 * Owns: page runs handed to the program whole, blocks with a mapping of their own, and the mappings
 * retained for reuse. A block up to EBBI_MAPPING_LEAST is a run of pages; a larger one is mapped by
 * itself, so that it can grow by mremap(2) and leave no hole among the runs.
 *
 * A block needs no descriptor: the entry of its first page says what it is and how many pages.
 *
 * Retained mappings: a freed mapping is kept for the delay, since mapping and faulting it anew is
 * what makes large buffers slow; at most EBBI_RETAIN_SLOTS of them and at most a bounded number of
 * bytes, the beginning of one that has more. One that is much larger than a request is cut, the rest stays
 * retained; the largest is grown when all are too small; a block grows into the retained mapping behind it; neighbours
 * unite. The look that finds one aged unmaps it.
 *
 * Never: calls the kernel under a lock that malloc or free may want. Threading: any thread; `lock` guards the retained mappings,
 * the counters are relaxed atomics. Errors: -ENOMEM.
 */
#ifndef EBBI_SLABS_LARGE_H
#define EBBI_SLABS_LARGE_H

#include "slabs/store.h"

#define EBBI_MAPPING_LEAST ((size_t)4 << 20)
#define EBBI_RETAIN_SLOTS 64u

enum ebbi_content { EBBI_CONTENT_ANY, EBBI_CONTENT_ZERO };

struct ebbi_retained {
	uintptr_t base;
	size_t pages;
	bool aged;
};

struct ebbi_large {
	struct ebbi_store *store; /* set at boot */
	struct ebbi_lock lock;    /* rank PAGES; guards the next three */
	struct ebbi_retained retained[EBBI_RETAIN_SLOTS];
	unsigned retained_count;
	size_t retained_pages;  /* counter: read without the lock */
	size_t run_pages;       /* relaxed: live, in runs */
	size_t mapping_pages;   /* relaxed: live, in mappings */
	size_t going_pages;     /* relaxed: of blocks that are being freed; still counted above */
	uint64_t blocks_made;   /* relaxed */
	uint64_t map_calls;     /* relaxed */
	uint64_t refault_pages; /* relaxed */
};

void ebbi_large_init(struct ebbi_large *large, struct ebbi_store *store);

/* A block of at least `bytes` (not 0), its start a multiple of `align_bytes` (a power of two). */
int ebbi_large_alloc(struct ebbi_large *large, size_t bytes, size_t align_bytes, enum ebbi_content content,
		     void **ret_block);

/*
 * Count the block, which is in no set yet, in `set`, where `counted_bytes` were taken for it; the difference is counted, too.
 * Whoever has the block may do so.
 */
void ebbi_large_assign(void *block, struct ebbi_set *set, size_t counted_bytes);

/*
 * A mapping of its own, without a lock: for a signal handler that interrupted the allocator. It is
 * freed by ebbi_large_free like any block, at a better moment.
 */
int ebbi_large_alloc_nested(struct ebbi_large *large, size_t bytes, size_t align_bytes, void **ret_block);

/* `entry` is the page map's entry of `block` and of kind RUN, MAPPING or NESTED. */
void ebbi_large_free(struct ebbi_large *large, void *block, uint64_t entry);

/*
 * Make the block `bytes` long where it is, or move its pages without copying. False: nothing has
 * changed, and the caller copies. Never moves a block whose alignment a move could lose.
 */
bool ebbi_large_resize_try(struct ebbi_large *large, void *block, uint64_t entry, size_t bytes, void **ret_block);

/* Make it shorter where it is, also where a block of `bytes` would lie elsewhere: for when it cannot move there. */
bool ebbi_large_shrink_try(struct ebbi_large *large, void *block, uint64_t entry, size_t bytes, void **ret_block);

/*
 * Pages of live blocks that hold no memory: handed out and not touched yet (or swapped out). Asks the kernel about each
 * block: 0.1 ms for 512 MiB of addresses and some 10 ns a page. No lock is held; blocks that come and go meanwhile may count or not.
 */
size_t ebbi_large_untouched(const struct ebbi_large *large);

/* One look at the retained mappings; see ebbi_pages_purge. */
size_t ebbi_large_purge(struct ebbi_large *large, bool everything, size_t *ret_left);

#endif
