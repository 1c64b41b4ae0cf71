/*
 * release.h: address space back to the kernel, and what becomes of it where the kernel refuses.
 *
 * Owns: unmapping of free runs, and the list of leftovers: ranges without a use that could not be unmapped.
 *
 * Ordinary purging keeps address space: a page that was given back costs nothing, and unmapping it would cut
 * a mapping in two, of which a process may have so many (max_map_count). Where address space itself is what
 * lacks (RLIMIT_AS, RLIMIT_DATA, strict overcommit), free runs are worth more unmapped: then, and only then,
 * ebbi_pages_release is called. It makes no more holes than the process can have mappings with a reserve
 * to spare.
 *
 * munmap can fail, with ENOMEM, where it would have to cut a mapping in two and the process has as many as it
 * may. Nothing is lost then: a committed range is emptied and becomes a free run, for runs and slabs to come; a
 * reserved one is remembered, serves as the next region or is tried again.
 *
 * Never: is called with a lock held that malloc or free may need. Threading: any thread. Errors: none; what
 * was refused is counted (unmap_refused).
 */
#ifndef EBBI_PAGES_RELEASE_H
#define EBBI_PAGES_RELEASE_H

#include "pages/pages.h"

/*
 * Unmap the wilderness, the leftovers and all free runs that are worth a hole. The caller holds no lock.
 * Returns pages.
 */
size_t ebbi_pages_release(struct ebbi_pages *pages);

/*
 * A committed mapping that is not among the pages, known to the page map in its whole length, its entries 0:
 * unmapped or, where that is refused, a free run from now on. The caller holds purge_lock at most.
 */
void ebbi_pages_dissolve(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* A range that nobody has touched: unmapped or remembered. Of locks the caller may hold purge_lock and grow_lock. */
void ebbi_pages_unmap_unused(struct ebbi_pages *pages, void *base, size_t bytes);

/* A leftover of at least so many bytes, for a region: reserved, aligned to a page. */
bool ebbi_pages_leftover_take(struct ebbi_pages *pages, size_t least_bytes, void **ret_base, size_t *ret_bytes);

/* The same for the end of a region, which counts as mapped already. */
void ebbi_pages_unmap_tail(struct ebbi_pages *pages, uintptr_t base, size_t bytes);

#endif
