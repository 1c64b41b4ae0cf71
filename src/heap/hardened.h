/*
 * hardened.h: malloc and free with EBB_CONF=hardened.
 *
 * Owns: what differs from the ordinary heap, which comes here from its slow paths: a hardened cache carries a standing
 * order that sends every operation there, and so costs the ordinary heap nothing.
 *
 *   slots      in caches/'s place: heap/quarantine.h; a trailer at each slot's end: slabs/trailer.h
 *   large      heap/guarded.h
 *   handlers   one that interrupted its own thread inside the allocator gets an ordinary page (NESTED), unhardened
 *
 * What a block's size is: exactly what was asked for, so that a program which uses all of malloc_usable_size stays
 * within its bounds. Sized delete must name that size.
 *
 * Invariant: every free byte of the heap is 0.
 *
 * Threading: as each function says. Errors: NULL without memory, errno is the caller's to set. Misuse ends the process.
 */
#ifndef EBBI_HEAP_HARDENED_H
#define EBBI_HEAP_HARDENED_H

#include "heap/heap.h"

/* A free that does not say how long the block is. */
#define EBBI_SIZE_UNSAID SIZE_MAX

static inline bool ebbi_is_hardened(void)
{
	return EBBI_UNLIKELY(ebbi_heap.config.hardened != 0);
}

/* At boot, after the registry's init. */
void ebbi_hardened_init(void);

/* By a thread that is inside `cache`; without one (NULL) its signals are blocked. */
void *ebbi_hardened_alloc(struct ebbi_cache *cache, size_t bytes, size_t align_bytes, enum ebbi_content content);

/* The whole free, after enter() returned `seen`. Comes out. */
void ebbi_hardened_free_seen(void *block, uint32_t seen, size_t said_bytes);

/* The whole free; `block` is not NULL. */
void ebbi_hardened_free(void *block, size_t said_bytes);

void *ebbi_hardened_resize(void *block, size_t bytes);
size_t ebbi_hardened_usable_bytes(const void *block);

#endif
