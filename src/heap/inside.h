/*
 * inside.h: the calling thread's cache, and going inside it, for the files of this layer.
 *
 * Owns: a thread's first use of the heap and its last. Never: is used by a thread that must not
 * wait and does not say so (nested callers get EBBI_NESTED and may not wait). Threading: any thread.
 * Errors: NULL when the thread has no cache and can have none.
 */
#ifndef EBBI_HEAP_INSIDE_H
#define EBBI_HEAP_INSIDE_H

#include "heap/heap.h"

/* The thread's cache, made at its first call. NULL: without memory, or after the thread's end began. */
struct ebbi_cache *ebbi_thread_cache(void);

/*
 * The same for a single allocation or free, where NULL has a third meaning: the thread's first few, when a
 * cache would have to be made for it, go to the bins directly. Many threads of many programs allocate once
 * or twice and sleep from then on; a cache would cost each of them a page and a control block.
 */
struct ebbi_cache *ebbi_thread_cache_if_worth(void);

/* Go on after enter() returned `seen`: EBBI_ENTERED or EBBI_NESTED. Housekeeping is done on the way. */
enum ebbi_enter ebbi_heap_settle(struct ebbi_cache *cache, uint32_t seen);

static inline enum ebbi_enter ebbi_heap_enter(struct ebbi_cache *cache)
{
	return ebbi_heap_settle(cache, ebbi_handshake_enter(&cache->handshake));
}

/* For pthread_key_create: the thread is about to end. */
void ebbi_thread_at_exit(void *cache);

/* At boot: have the above called for threads to come. Without a key their caches stay until they are swept. */
int ebbi_thread_exit_key_create(void);

#endif
