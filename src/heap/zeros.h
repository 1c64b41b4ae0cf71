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

/* Likewise. Four at a time: a load each would wait for the sum of those before it. */
static inline bool ebbi_zeros_hold(const void *memory, size_t bytes)
{
	const ebbi_pair *at = memory;
	ebbi_pair sum = {0, 0};

	for (; (bytes & 48) != 0; bytes -= 16)
		sum |= *at++;
	for (; bytes != 0; bytes -= 64, at += 4)
		sum |= (at[0] | at[1]) | (at[2] | at[3]);
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
