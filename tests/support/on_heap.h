/*
 * on_heap.h: the malloc names as calls into the heap layer, for builds that make no libebb (a sanitizer
 * brings a malloc of its own) and for tests that look at the heap's invariants.
 *
 * Owns: the names malloc, free and so on, as macros; included by check.h last, under
 * EBB_TEST_ON_HEAP. Never: judges sizes beyond PTRDIFF_MAX, as api/ does. Threading: as heap/heap.h.
 * Errors: as the functions they stand for. Invariants: on_heap_start() comes before any fork.
 */
#ifndef EBB_TESTS_ON_HEAP_H
#define EBB_TESTS_ON_HEAP_H

#include "heap/heap.h"

static inline void *on_heap_alloc(size_t align_bytes, size_t bytes)
{
	return ebbi_heap_alloc(bytes, align_bytes < 16 ? 16 : align_bytes, EBBI_CONTENT_ANY);
}

static inline void on_heap_free(void *block)
{
	if (block != NULL)
		ebbi_heap_free(block);
}

static inline void *on_heap_resize(void *block, size_t bytes)
{
	return block == NULL ? on_heap_alloc(16, bytes) : ebbi_heap_resize(block, bytes);
}

static inline int on_heap_aligned(void **ret_block, size_t align_bytes, size_t bytes)
{
	*ret_block = on_heap_alloc(align_bytes, bytes);
	return *ret_block == NULL ? ENOMEM : 0;
}

static inline int on_heap_trim(void)
{
	return ebbi_heap_purge() != 0;
}

static inline void on_heap_start(void)
{
	ebbi_heap_boot();
	if (pthread_atfork(ebbi_heap_fork_prepare, ebbi_heap_fork_parent, ebbi_heap_fork_child) != 0)
		abort();
}

#define malloc(bytes) on_heap_alloc(16, bytes)
#define calloc(count, bytes) ebbi_heap_alloc((count) * (bytes), 16, EBBI_CONTENT_ZERO)
#define realloc(block, bytes) on_heap_resize(block, bytes)
#define free(block) on_heap_free(block)
#define aligned_alloc(align_bytes, bytes) on_heap_alloc(align_bytes, bytes)
#define posix_memalign(ret_block, align_bytes, bytes) on_heap_aligned(ret_block, align_bytes, bytes)
#define malloc_usable_size(block) ebbi_heap_usable_bytes(block)
#define malloc_trim(pad) on_heap_trim()

#endif
