/*
 * pagemap.h: from any address to what lies there, and three bits for every page.
 *
 * Owns: one process-wide radix of two levels over all addresses of user space: a root of pointers (in
 * .bss, touched where used) to leaves that cover 512 MiB each. A leaf holds, per 4 KiB page, one
 * 64-bit entry, the bits below and room for what an entry cannot hold; it is mapped when its first page is
 * reserved and never unmapped, so readers need no lock.
 *
 * Never: takes a lock, reads an option. The page here is always 4 KiB; where the kernel's page is
 * 16 or 64 KiB, callers use multiples.
 *
 * Threading: entries are relaxed atomics. An entry is written by whoever owns the page at that
 * moment and read by whoever was handed a pointer into it: the hand-over itself orders them.
 * Links and bits are guarded by the lock of the ebbi_pages that owns the page.
 *
 * Errors: -ENOMEM when a leaf cannot be mapped.
 *
 * An entry, low bits first:
 *
 *   low (5) | kind    | meaning of the other 59 bits
 *   --------+---------+-----------------------------------------------------------------
 *   0       | NONE    | 0: not ours, or the inside of a run
 *   0       | 1..63   | slab of that size class: the class (6), 1 zero, the lowest 8 bits of the number of the
 *           |         | slab's first page, 2 zero, the descriptor's address without its 6 low bits, which
 *           |         | are 0 (42)
 *   16..31  | 1..63   | the same of a set other than the first (slabs/bin.h): the lower 4 bits of the set's number
 *           |         | are low here, the upper 2 stand in place of the 2 zero
 *   1..     | FREE    | first and last page of a free run: 3 zero, its pages (40); of one to three pages: their
 *           |         | number (2), far (1), how many pages the next and the previous run of its bin lie
 *           |         | behind it, signed, 0 for none (28, 28). Far: the leaf's `links` have them.
 *           | PURGING | first and last page of a free run that is being given back: 3 zero, its pages (40)
 *           | RUN     | first page of a block of pages handed to the program: 2 zero, sampled (1), its pages (40), the
 *           |         | number of the set that it is counted in (6)
 *           | MAPPING | first page of a block with a mapping of its own: likewise
 *           | LINK    | second or third page of a free run: 3 unused, number of the first page of a neighbour in
 *           |         | its bin (40)
 *           | NESTED  | as MAPPING, made for a signal handler that interrupted the allocator
 *           | GUARD   | hardened: last page of a guarded block, see heap/guarded.c
 *           | WAITING_RUN, WAITING_MAPPING | hardened: first page of a freed block that is not yet reused: likewise
 *
 * The class stands where it is the class times 32: how far a cache's rack lies from the first one.
 */
#ifndef EBBI_PAGES_PAGEMAP_H
#define EBBI_PAGES_PAGEMAP_H

#include "base/atomic.h"
#include "base/bits.h"
#include "base/build.h"
#include "platform/cpu.h"
#include "platform/vm.h"

#define EBBI_PAGE_SHIFT 12u
#define EBBI_PAGE_BYTES ((size_t)1 << EBBI_PAGE_SHIFT)
#define EBBI_LEAF_SHIFT 29u
#define EBBI_LEAF_PAGES ((size_t)1 << (EBBI_LEAF_SHIFT - EBBI_PAGE_SHIFT))
#define EBBI_ROOT_LEAVES ((size_t)1 << (EBBI_CPU_ADDRESS_BITS - EBBI_LEAF_SHIFT))

enum ebbi_kind {
	EBBI_KIND_NONE = 0,
	/* 1..63: slabs, by size class */
	EBBI_KIND_FREE = 65,
	EBBI_KIND_PURGING,
	EBBI_KIND_RUN,
	EBBI_KIND_MAPPING,
	EBBI_KIND_NESTED,
	EBBI_KIND_LINK,
	EBBI_KIND_GUARD,
	EBBI_KIND_WAITING_RUN,
	EBBI_KIND_WAITING_MAPPING,
};

#define EBBI_ENTRY_LOW ((uint64_t)0x1f)     /* not 0: a kind that is no size class, or a set other than the first */
#define EBBI_ENTRY_COUNTED ((uint64_t)0x10) /* of those: such a set */
#define EBBI_ENTRY_CLASS_SHIFT 5u
#define EBBI_ENTRY_CLASS ((uint64_t)0x3f << EBBI_ENTRY_CLASS_SHIFT)
#define EBBI_ENTRY_KINDS 64u /* kind less low */

/* What is known of a page that no slab owns. */
enum ebbi_page_bit {
	EBBI_PAGE_RESIDENT, /* may hold memory; clear means: reads as zeros */
	EBBI_PAGE_AGED,     /* was free and resident at the last look */
	EBBI_PAGE_PURGED,   /* was given back and not used since */
	EBBI_PAGE_BITS
};

/* Of a free run of few pages whose neighbours in the bin lie half a terabyte away: hardly ever touched. */
struct ebbi_run_links {
	uintptr_t next; /* first page of the next free run in the bin, 0 at the end */
	uintptr_t prev;
};

struct ebbi_leaf {
	uint64_t entries[EBBI_LEAF_PAGES];
	uint64_t bits[EBBI_PAGE_BITS][EBBI_LEAF_PAGES / 64];
	struct ebbi_run_links links[EBBI_LEAF_PAGES];
	uint64_t blocks[EBBI_LEAF_PAGES / 512 / 64]; /* one bit for 2 MiB, relaxed: see pages/huge.h */
};

extern EBBI_OWN struct ebbi_leaf *ebbi_pagemap_root[EBBI_ROOT_LEAVES];

/*
 * The leaf that was made first, which is all there is to most processes: knowing it takes a load off the
 * chain of loads on which a free waits (bench: pair, -11 %).
 */
struct ebbi_main_leaf {
	uintptr_t base; /* the first address it covers; until there is one, far from any. Stored last. */
	struct ebbi_leaf *leaf;
};

#define EBBI_MAIN_BASE_NONE ((uintptr_t)1 << 63)

extern EBBI_OWN struct ebbi_main_leaf ebbi_pagemap_main;

/* Sets of bins there can be; an entry of the page map has room for so many. */
#define EBBI_SETS 64u
#define EBBI_ENTRY_SET_LOW ((uint64_t)0xf)
#define EBBI_ENTRY_SET_HIGH_SHIFT 20u
#define EBBI_ENTRY_RUN_SET_SHIFT 48u

/* What an entry of a slab has of its class and set: those of one bin and no other. */
#define EBBI_ENTRY_BIN (EBBI_ENTRY_LOW | EBBI_ENTRY_CLASS | (uint64_t)3 << EBBI_ENTRY_SET_HIGH_SHIFT)

static inline uint64_t ebbi_entry_bin(unsigned size_class, unsigned set)
{
	uint64_t low = set == 0 ? 0 : EBBI_ENTRY_COUNTED | (set & EBBI_ENTRY_SET_LOW);

	return low | (uint64_t)size_class << EBBI_ENTRY_CLASS_SHIFT | (uint64_t)(set >> 4) << EBBI_ENTRY_SET_HIGH_SHIFT;
}

/* It is a slab's, of a set other than the first. */
static inline bool ebbi_entry_is_counted(uint64_t entry)
{
	return (entry & EBBI_ENTRY_COUNTED) != 0;
}

static inline unsigned ebbi_entry_kind(uint64_t entry)
{
	unsigned low = ebbi_entry_is_counted(entry) ? 0 : (unsigned)(entry & EBBI_ENTRY_LOW);

	return low != 0 ? EBBI_ENTRY_KINDS + low : (unsigned)((entry & EBBI_ENTRY_CLASS) >> EBBI_ENTRY_CLASS_SHIFT);
}

/* A slab's entry without the lower part of its set, as of a slab of the first set. */
static inline uint64_t ebbi_entry_plain(uint64_t entry)
{
	return entry & ~EBBI_ENTRY_LOW;
}

/* The number of the set that a slab's entry names. */
static inline unsigned ebbi_entry_set(uint64_t entry)
{
	if (!ebbi_entry_is_counted(entry))
		return 0;
	return (unsigned)(entry & EBBI_ENTRY_SET_LOW) | (unsigned)(entry >> EBBI_ENTRY_SET_HIGH_SHIFT & 3) << 4;
}

/* The same of an entry of kind RUN or MAPPING. */
static inline unsigned ebbi_entry_run_set(uint64_t entry)
{
	return (unsigned)(entry >> EBBI_ENTRY_RUN_SET_SHIFT) & (EBBI_SETS - 1);
}

static inline uint64_t ebbi_entry_run_of_set(uint64_t entry, unsigned set)
{
	return entry | (uint64_t)set << EBBI_ENTRY_RUN_SET_SHIFT;
}

static inline uint64_t ebbi_entry_run(enum ebbi_kind kind, size_t pages)
{
	return (uint64_t)pages << 8 | ((uint64_t)kind - EBBI_ENTRY_KINDS);
}

#define EBBI_ENTRY_FEW_SHIFT 5u
#define EBBI_ENTRY_FEW_MOST 3u /* pages of a free run whose links its one entry has */
#define EBBI_ENTRY_FAR ((uint64_t)1 << 7)
#define EBBI_ENTRY_PAGES (((uint64_t)1 << 40) - 1)
#define EBBI_ENTRY_SAMPLED ((uint64_t)1 << 7) /* of RUN and MAPPING: see heap/sampled.h */

static inline size_t ebbi_entry_run_pages(uint64_t entry)
{
	size_t few = (size_t)(entry >> EBBI_ENTRY_FEW_SHIFT & EBBI_ENTRY_FEW_MOST);

	return few != 0 ? few : (size_t)(entry >> 8 & EBBI_ENTRY_PAGES);
}

/*
 * The same for each page of a slab. `slab` must be a multiple of 64 and below 2^48; a slab has at most 256 pages; `bin` is
 * what ebbi_entry_bin() says.
 */
static inline uint64_t ebbi_entry_slab(const void *slab, uintptr_t base, uint64_t bin)
{
	return (uint64_t)(uintptr_t)slab << 16 | (base & (uintptr_t)0xff << EBBI_PAGE_SHIFT) | bin;
}

static inline void *ebbi_entry_slab_pointer(uint64_t entry)
{
	return (void *)(uintptr_t)(entry >> 22 << 6);
}

/*
 * How far `address` lies behind the start of the slab that `entry` names, of whose address the entry has the
 * bits that matter; the class, which stands below them, is added so that the difference cancels it. Low must be 0: of
 * a counted slab's entry see ebbi_entry_plain().
 */
static inline uint32_t ebbi_entry_slab_offset(uint64_t entry, uintptr_t address)
{
	return ((uint32_t)address + (uint32_t)(entry & EBBI_ENTRY_CLASS) - (uint32_t)entry) &
	       (((uint32_t)0x100 << EBBI_PAGE_SHIFT) - 1);
}

/* The entry of the page of `address`; 0 for any address that was never ours. Any thread, lock-free. */
static inline uint64_t ebbi_pagemap_get(uintptr_t address)
{
	uintptr_t page = (address - ebbi_load_acquire(&ebbi_pagemap_main.base)) >> EBBI_PAGE_SHIFT;
	struct ebbi_leaf *leaf;

	if (EBBI_LIKELY(page < EBBI_LEAF_PAGES)) {
		leaf = ebbi_load_relaxed(&ebbi_pagemap_main.leaf); /* partner of the acquire: offer_as_main */
		return ebbi_load_relaxed(&leaf->entries[page]);
	}
	if (EBBI_UNLIKELY(address >> EBBI_CPU_ADDRESS_BITS != 0))
		return 0;
	leaf = ebbi_load_acquire(&ebbi_pagemap_root[address >> EBBI_LEAF_SHIFT]); /* partner: leaf_install */
	if (EBBI_UNLIKELY(leaf == NULL))
		return 0;
	return ebbi_load_relaxed(&leaf->entries[(address >> EBBI_PAGE_SHIFT) & (EBBI_LEAF_PAGES - 1)]);
}

/* Leaves to come are no matter for huge pages: they are used in spots. To be said at boot, if it may be said. */
void ebbi_pagemap_keep_small(void);

/* Mark the block of 2 MiB at `address`, which is covered. False when it was marked already. Any thread. */
bool ebbi_pagemap_block_mark(uintptr_t address);

/* Make sure that leaves for the whole range exist, so that the calls below may be used on it. */
int ebbi_pagemap_cover(const struct ebbi_vm *vm, uintptr_t base, size_t pages);

void ebbi_pagemap_set(uintptr_t address, uint64_t entry);
void ebbi_pagemap_clear(uintptr_t base, size_t pages);
struct ebbi_run_links *ebbi_pagemap_links(uintptr_t address);

void ebbi_pagemap_bits_set(enum ebbi_page_bit bit, uintptr_t base, size_t pages);
void ebbi_pagemap_bits_clear(enum ebbi_page_bit bit, uintptr_t base, size_t pages);
bool ebbi_pagemap_bits_any(enum ebbi_page_bit bit, uintptr_t base, size_t pages);
size_t ebbi_pagemap_bits_count(enum ebbi_page_bit bit, uintptr_t base, size_t pages);
/* The bits of at most 64 pages as one word, and back. */
uint64_t ebbi_pagemap_bits_load(enum ebbi_page_bit bit, uintptr_t base, unsigned pages);
void ebbi_pagemap_bits_store(enum ebbi_page_bit bit, uintptr_t base, unsigned pages, uint64_t word);

/*
 * The next stretch of pages with `bit` set in [*base, *base + *pages): its start and length, and in
 * *base and *pages what lies behind it. Returns false when there is none.
 */
bool ebbi_pagemap_bits_next(enum ebbi_page_bit bit, uintptr_t *base, size_t *pages, uintptr_t *ret_start,
			    size_t *ret_pages);

/*
 * Give the memory of entries back where they are all 0 and nobody writes them: the inside of a free run
 * that its bin does not know at the moment. Readers see 0 as before. A kernel call; no lock may be held.
 */
void ebbi_pagemap_forget(const struct ebbi_vm *vm, size_t page_bytes, uintptr_t base, size_t pages);

/* Address space the leaves take, in bytes. */
size_t ebbi_pagemap_mapped_bytes(void);

/*
 * The next block of kind RUN or MAPPING at or behind *address. False: none. *address moves behind it. Reads every
 * entry on the way, 0.1 ms for 512 MiB of addresses, without a lock: a block that comes or goes meanwhile may be missed,
 * or be found when it is no more.
 */
bool ebbi_pagemap_block_next(uintptr_t *address, uintptr_t *ret_base, size_t *ret_pages);

#endif
