/*
 * nested.h: pages kept ready for signal handlers that interrupt their own thread inside the allocator.
 *
 * Owns: the spare pages of a cache. A nested allocation is a mapping of its own, since a handler may
 * take no lock; a handler that allocates often would spend its time in mmap and munmap, and the
 * interrupted thread would not get on. So freed nested pages are kept, a bounded number a cache.
 *
 * Never: waits, locks, looks into a page. Threading: take by the owner thread's handlers, keep and release
 * by whoever may touch the cache's contents. The pages stand in an array, not on a list through their first
 * words: a handler that is interrupted by another one on its way to a page may find it taken, handed
 * to another thread, freed there and unmapped. Errors: NULL and false.
 */
#ifndef EBBI_CACHES_NESTED_H
#define EBBI_CACHES_NESTED_H

#include "caches/registry.h"

/* A page as a NESTED block, its contents old; NULL when none is left. */
void *ebbi_nested_take(struct ebbi_cache *cache);

/* Keep the NESTED block with this entry; false when it is not one page, or enough are kept. */
bool ebbi_nested_keep(struct ebbi_cache *cache, void *block, uint64_t entry);

/* How many are kept; racy when the caller is not inside. */
unsigned ebbi_nested_count(const struct ebbi_cache *cache);

/* Unmap all that are kept. */
void ebbi_nested_release(struct ebbi_registry *registry, struct ebbi_cache *cache);

#endif
