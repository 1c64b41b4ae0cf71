/*
 * malloc.c: the names of the C library's malloc family.
 *
 * Judges alignments and products; all else is heap/'s. Semantics follow glibc's manual where
 * standards leave room: malloc(0) is a unique block, realloc(p, 0) frees, free keeps errno.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ebb/ebb.h>

#include "api/names.h"
#include "heap/fast.h"
#include "platform/libc.h"

EBBI_EXPORT void *malloc(size_t bytes)
{
	return ebbi_fast_alloc(bytes);
}

EBBI_EXPORT void free(void *block)
{
	ebbi_fast_free(block);
}

EBBI_EXPORT void *calloc(size_t count, size_t bytes)
{
	size_t total;
	void *block;

	if (__builtin_mul_overflow(count, bytes, &total))
		total = SIZE_MAX; /* which nobody can have */
	if (total > EBBI_SMALL_MOST)
		return ebbi_heap_alloc(total, EBBI_ALIGNMENT, EBBI_CONTENT_ZERO);
	block = ebbi_fast_alloc(total);
	return EBBI_LIKELY(block != NULL) ? memset(block, 0, total) : NULL;
}

EBBI_EXPORT void *realloc(void *block, size_t bytes)
{
	if (block == NULL)
		return malloc(bytes);
	if (bytes == 0) {
		free(block);
		return NULL;
	}
	return ebbi_heap_resize(block, bytes);
}

EBBI_EXPORT void *reallocarray(void *block, size_t count, size_t bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, bytes, &total))
		total = SIZE_MAX; /* which nobody can have */
	return realloc(block, total);
}

static void *aligned(size_t align_bytes, size_t bytes)
{
	return ebbi_heap_alloc(bytes, ebbi_max_size(align_bytes, EBBI_ALIGNMENT), EBBI_CONTENT_ANY);
}

EBBI_EXPORT void *aligned_alloc(size_t align_bytes, size_t bytes)
{
	if (!ebbi_is_power_of_two(align_bytes)) {
		errno = EINVAL;
		return NULL;
	}
	return aligned(align_bytes, bytes);
}

EBBI_EXPORT void *memalign(size_t align_bytes, size_t bytes)
{
	size_t power = EBBI_ALIGNMENT;

	/* As glibc: an alignment that is no power of two is rounded up to one. */
	if (align_bytes > SIZE_MAX / 4) {
		errno = EINVAL;
		return NULL;
	}
	while (power < align_bytes)
		power *= 2;
	return aligned(power, bytes);
}

EBBI_EXPORT int posix_memalign(void **ret_block, size_t align_bytes, size_t bytes)
{
	int saved = errno;
	void *block;

	if (!ebbi_is_power_of_two(align_bytes) || align_bytes % sizeof(void *) != 0)
		return EINVAL;
	block = aligned(align_bytes, bytes);
	errno = saved;
	if (block == NULL)
		return ENOMEM;
	*ret_block = block;
	return 0;
}

EBBI_EXPORT void *valloc(size_t bytes)
{
	return aligned(ebbi_vm_page_bytes(), bytes);
}

EBBI_EXPORT void *pvalloc(size_t bytes)
{
	size_t page_bytes = ebbi_vm_page_bytes();

	if (bytes <= SIZE_MAX - page_bytes)
		bytes = ebbi_round_up(ebbi_max_size(bytes, 1), page_bytes);
	return aligned(page_bytes, bytes);
}

EBBI_EXPORT void free_sized(void *block, size_t bytes)
{
	ebbi_fast_free_sized(block, bytes);
}

EBBI_EXPORT void free_aligned_sized(void *block, size_t align_bytes, size_t bytes)
{
	(void)align_bytes;
	ebbi_fast_free_sized(block, bytes);
}

EBBI_EXPORT size_t malloc_usable_size(void *block)
{
	return ebbi_heap_usable_bytes(block);
}
