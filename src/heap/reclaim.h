/*
 * reclaim.h: the last thing that is tried before an allocation returns NULL.
 *
 * Owns: giving back, in one go, whatever keeps address space from a request: all caches whose owners are
 * outside, empty slabs, retained mappings, free runs (unmapped, which nothing else does) and the wilderness; and
 * who may do that, and how often (policy/reclaim.h).
 *
 * Never: runs for a signal handler that interrupted the allocator (it gets NULL), nor under any lock. It frees and
 * unmaps, which needs no memory.
 *
 * Threading: any thread, inside its cache or without one. One thread reclaims, others that come meanwhile wait for it, a
 * bounded time, and try again with what it found: it waits for no cache's owner, so that they may wait inside theirs.
 * Errors: none.
 */
#ifndef EBBI_HEAP_RECLAIM_H
#define EBBI_HEAP_RECLAIM_H

#include "heap/heap.h"

/*
 * `bytes` could not be had. True: something may have been given back, by this thread or another, and a second try
 * may succeed. `own` is the caller's cache, which it is inside of, or NULL.
 */
bool ebbi_reclaim(struct ebbi_cache *own, size_t bytes);

/* How often it was done since the start. */
uint64_t ebbi_reclaim_count(void);

/* In the child of a fork: whoever reclaimed is gone. */
void ebbi_reclaim_forget(void);

#endif
