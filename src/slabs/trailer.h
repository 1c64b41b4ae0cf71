/*
 * trailer.h: the last bytes of a hardened block: how long it is, and whether somebody wrote past its end.
 *
 * Owns: the layout of a trailer, and the process's secret. Never: allocates, reports. Pure but for the secret, which is
 * set once at boot. Threading: any. Errors: false.
 *
 * A room (a slot, or a run of pages) holds the `bytes` that were asked for, a gap, and a trailer word:
 *
 *   start                    start + bytes        end - 8        end
 *   | the program's bytes    | gap: pattern bytes | word         |
 *
 *   word, low bits first: 44 bits of a mark made from the address and the secret, the lowest of them 1, so that a
 *   string's final 0 written one byte too far is seen; 20 bits: the gap's length, exclusive-ored with the mark.
 *
 * Of the gap the first and the last 8 bytes are filled and checked, which is all of it up to 16. A word of 0 is a
 * room that is free: free memory is zeroed.
 */
#ifndef EBBI_SLABS_TRAILER_H
#define EBBI_SLABS_TRAILER_H

#include <string.h>

#include "base/bits.h"
#include "base/build.h"

#define EBBI_TRAILER_BYTES ((size_t)8)
#define EBBI_TRAILER_MARK_BITS 44u
#define EBBI_TRAILER_GAP_MOST (((size_t)1 << (64u - EBBI_TRAILER_MARK_BITS)) - 1)

struct ebbi_trailer_secret {
	uint64_t mask;
	uint64_t factor;  /* odd */
	uint64_t pattern; /* eight times the same byte, which is not 0 */
};

extern EBBI_OWN struct ebbi_trailer_secret ebbi_trailer_secret;

/* From two random words. Once, before any trailer is written. */
static inline void ebbi_trailer_init(uint64_t random, uint64_t more)
{
	uint64_t byte = random >> 56;

	ebbi_trailer_secret.mask = random;
	ebbi_trailer_secret.factor = more | 1;
	ebbi_trailer_secret.pattern = UINT64_C(0x0101010101010101) * (byte != 0 ? byte : 0xa5);
}

static inline uint64_t ebbi_trailer_load(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline void ebbi_trailer_store(char *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
}

static inline uint64_t ebbi_trailer_mark(const char *end)
{
	uint64_t mark = ((uintptr_t)end ^ ebbi_trailer_secret.mask) * ebbi_trailer_secret.factor;

	return (mark ^ mark >> 32) | 1;
}

/* Those bytes of the 8 before the trailer that belong to the gap; without a branch, since sizes are not foreseeable. */
static inline uint64_t ebbi_trailer_gap_mask(size_t gap)
{
	unsigned half = 4 * (unsigned)ebbi_min_size(gap, 8);

	return ~(UINT64_MAX >> half >> half);
}

/*
 * Make `end` the end of a room of `bytes` and a gap; the bytes asked for are not touched. The room has at
 * least 16 bytes.
 */
static inline void ebbi_trailer_write(char *end, size_t gap)
{
	uint64_t mask = ebbi_trailer_gap_mask(gap);
	uint64_t pattern = ebbi_trailer_secret.pattern;
	char *front = end - EBBI_TRAILER_BYTES - ebbi_max_size(gap, 8);

	ebbi_trailer_store(front, (ebbi_trailer_load(front) & ~mask) | (pattern & mask));
	ebbi_trailer_store(end - 16, (ebbi_trailer_load(end - 16) & ~mask) | (pattern & mask));
	ebbi_trailer_store(end - 8, ebbi_trailer_mark(end) ^ (uint64_t)gap << EBBI_TRAILER_MARK_BITS);
}

/*
 * The same for a room of zeros, without reading it: a page that was never touched would be faulted in twice, for
 * the kernel's page of zeros and to replace it.
 */
static inline void ebbi_trailer_write_zeroed(char *end, size_t gap)
{
	uint64_t filling = ebbi_trailer_secret.pattern & ebbi_trailer_gap_mask(gap);

	ebbi_trailer_store(end - EBBI_TRAILER_BYTES - ebbi_max_size(gap, 8), filling);
	ebbi_trailer_store(end - 16, filling);
	ebbi_trailer_store(end - 8, ebbi_trailer_mark(end) ^ (uint64_t)gap << EBBI_TRAILER_MARK_BITS);
}

/* The gap before the trailer at `end` of a room of `room` bytes; false when it is not as it was written. */
static inline bool ebbi_trailer_read(const char *end, size_t room, size_t *ret_gap)
{
	uint64_t difference = ebbi_trailer_load(end - 8) ^ ebbi_trailer_mark(end);
	size_t gap = difference >> EBBI_TRAILER_MARK_BITS;
	uint64_t wrong;

	if (EBBI_UNLIKELY((difference & (UINT64_MAX >> (64u - EBBI_TRAILER_MARK_BITS))) != 0 ||
			  gap > room - EBBI_TRAILER_BYTES))
		return false;
	wrong = ebbi_trailer_load(end - EBBI_TRAILER_BYTES - ebbi_max_size(gap, 8)) ^ ebbi_trailer_secret.pattern;
	wrong |= ebbi_trailer_load(end - 16) ^ ebbi_trailer_secret.pattern;
	*ret_gap = gap;
	return EBBI_LIKELY((wrong & ebbi_trailer_gap_mask(gap)) == 0);
}

#endif
