/*
 * zeros.h: free memory of a hardened heap holds zeros.
 *
 * Owns: writing and checking them. Never: touches anything else. Pure. Threading: whoever owns the memory.
 * Errors: none.
 */
#ifndef EBBI_HEAP_ZEROS_H
#define EBBI_HEAP_ZEROS_H

#include <string.h>

#include "base/bits.h"

#define EBBI_ZEROS_INLINE ((size_t)256)

typedef uint64_t ebbi_pair __attribute__((vector_size(16), may_alias));

/* `memory` is aligned to 16, `bytes` a multiple of 16 and not 0. */
static inline void ebbi_zeros_write(void *memory, size_t bytes)
{
	ebbi_pair *at = memory;

	if (bytes > EBBI_ZEROS_INLINE) {
		memset(memory, 0, bytes);
		return;
	}
	do
		*at++ = (ebbi_pair){0, 0};
	while ((bytes -= 16) != 0);
}

/* Likewise. */
static inline bool ebbi_zeros_hold(const void *memory, size_t bytes)
{
	const ebbi_pair *at = memory;
	ebbi_pair sum = {0, 0};

	do
		sum |= *at++;
	while ((bytes -= 16) != 0);
	return (sum[0] | sum[1]) == 0;
}

/* Where the first byte lies that is not 0. */
static inline size_t ebbi_zeros_end(const void *memory, size_t bytes)
{
	const unsigned char *at = memory;
	size_t offset = 0;

	while (offset < bytes && at[offset] == 0)
		offset++;
	return offset;
}

#endif
