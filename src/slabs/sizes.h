/*
 * sizes.h: size classes.
 *
 * Owns: the table of slot sizes and everything computed from it. Never: changes after the build;
 * there is no state. Threading: constant data. Errors: none.
 *
 * Slots are multiples of 16 bytes: every 16 up to 128, then four a doubling up to 512, eight up to 8 KiB, four up to
 * 32 KiB. So rounding wastes at most a fifth above 128 bytes, and a ninth where the values of a cache or the
 * rows of a database lie: what eight are worth is in docs/decisions/0023. Larger requests are runs of pages.
 *
 * Class 0 is no class. A slab of class c is `slab_pages` 4 KiB pages long and holds `slots` slots;
 * sizes.def is where the spans are chosen.
 *
 * Dividing by a slot size is a multiplication: with magic = ceil(2^32 / size), offset * magic >> 32
 * is offset / size for every offset below 2^18 (unit/slabs/sizes.c tries all of them), and offset
 * is a multiple of size exactly when the low half of the product is below magic (D. Lemire,
 * O. Kaser, N. Kurz, "Faster remainder by direct computation", 2019).
 */
#ifndef EBBI_SLABS_SIZES_H
#define EBBI_SLABS_SIZES_H

#include <stdint.h>

#include "base/bits.h"
#include "base/build.h"

#define EBBI_ALIGNMENT ((size_t)16)

enum {
	EBBI_CLASS_NONE,
#define EBBI_SIZE(bytes, pages) EBBI_CLASS_##bytes,
#include "slabs/sizes.def"
#undef EBBI_SIZE
	EBBI_CLASSES
};

#define EBBI_SMALL_MOST ((size_t)32768)
#define EBBI_CLASS_FINE_MOST ((size_t)8192) /* up to here there are eight classes a doubling */
#define EBBI_SLAB_PAGES_MOST 64u
#define EBBI_SLAB_SLOTS_MOST 2048u

struct ebbi_size {
	uint32_t bytes;
	uint32_t magic;
	uint16_t slots;      /* in a slab */
	uint16_t slab_pages; /* 4 KiB pages in a slab */
};

/*
 * Zeros behind the last class, so that the class bits of any entry of the page map may index it before somebody
 * has looked whether they are ones (heap/misuse.h).
 */
#define EBBI_SIZES_ROOM 64u

extern EBBI_OWN const struct ebbi_size ebbi_sizes[EBBI_SIZES_ROOM];

/* The class of requests of (i * 16 - 15) to i * 16 bytes; request 0 counts as 1. */
#define EBBI_CLASS_TABLE_MOST ((size_t)1024)
extern EBBI_OWN const uint8_t ebbi_class_table[EBBI_CLASS_TABLE_MOST / 16 + 1];
/* The same times EBBI_CLASS_SCALE, which is what caches/ keeps for a class. */
#define EBBI_CLASS_SCALE 32u
extern EBBI_OWN const uint16_t ebbi_class_offsets[EBBI_CLASS_TABLE_MOST / 16 + 1];

/* `bytes` must be above 1024: its power of two and the bits behind the leading one, three up to 8 KiB and then two. */
static inline unsigned ebbi_class_by_bits(size_t bytes)
{
	unsigned high = ebbi_bit_highest(bytes - 1); /* at least 10 */

	if (bytes <= EBBI_CLASS_FINE_MOST)
		return EBBI_CLASS_1024 + 1 + (high - 10) * 8 + (unsigned)((bytes - 1) >> (high - 3) & 7);
	return EBBI_CLASS_8192 + 1 + (high - 13) * 4 + (unsigned)((bytes - 1) >> (high - 2) & 3);
}

/* The smallest class whose slots hold `bytes`, which must be at most EBBI_SMALL_MOST. */
static inline unsigned ebbi_class_of(size_t bytes)
{
	if (EBBI_LIKELY(bytes <= EBBI_CLASS_TABLE_MOST))
		return ebbi_class_table[(bytes + 15) >> 4];
	return ebbi_class_by_bits(bytes);
}

/* The smallest class whose slots hold `bytes` and are aligned (to a power of two); EBBI_CLASS_NONE for a large block. */
unsigned ebbi_class_for(size_t bytes, size_t align_bytes);

static inline uint32_t ebbi_slot_index(unsigned size_class, uint32_t offset)
{
	return (uint32_t)((uint64_t)offset * ebbi_sizes[size_class].magic >> 32);
}

/* `offset` is the start of a slot. */
static inline bool ebbi_slot_starts_at(uint32_t magic, uint32_t offset)
{
	return offset * magic < magic;
}

#endif
