/*
 * nested.h: pages kept ready for signal handlers that interrupt their own thread inside the allocator.
 *
 * Owns: the spare pages of a cache. A nested allocation is a mapping of its own, since a handler may
 * take no lock; a handler that allocates often would spend its time in mmap and munmap, and the
 * interrupted thread would not get on. So freed nested pages are kept, a bounded number a cache.
 *
 * Never: waits, locks. Threading: take by the owner thread's handlers, keep and release by whoever may
 * touch the cache's contents. The list is pushed to only by the latter, who cannot be running when a
 * handler that it is interrupted by runs on, so that a pop by compare-and-swap meets no recycled head.
 * Errors: NULL and false.
 */
#ifndef EBBI_CACHES_NESTED_H
#define EBBI_CACHES_NESTED_H

#include "caches/registry.h"

/* A page as a NESTED block, its contents old; NULL when none is left. */
void *ebbi_nested_take(struct ebbi_cache *cache);

/* Keep the NESTED block with this entry; false when it is not one page, or enough are kept. */
bool ebbi_nested_keep(struct ebbi_cache *cache, void *block, uint64_t entry);

/* Unmap all that are kept. */
void ebbi_nested_release(struct ebbi_registry *registry, struct ebbi_cache *cache);

#endif
