/*
 * slab.h: one span of pages cut into equal slots.
 *
 * Owns: the descriptor of a slab, which lies apart from the slab: a freed slot is never written, so
 * that a page on which all slots are free can be given back while its neighbours live on.
 * Never: takes a lock, calls the kernel, links itself (slabs/bin.h does).
 * Threading: every field is guarded by the lock of the bin the slab belongs to; `base` and
 * `size_class` do not change while the slab exists and may be read by whoever holds a
 * slot of it. Errors: none.
 *
 * A slot is free here, or out: with the program or in a thread's cache. Bit i of the bitmap is set
 * when slot i is free. Masks of pages have a bit per 4 KiB page of the slab.
 *
 * Invariants (ebbi_slab_check): nfree is the number of set bits; no bit is set behind the last slot;
 * no word below first_word has a bit set; pages behind the span are neither resident nor marked.
 */
#ifndef EBBI_SLABS_SLAB_H
#define EBBI_SLABS_SLAB_H

#include "base/list.h"
#include "pages/pagemap.h"
#include "slabs/sizes.h"

#define EBBI_SLAB_QUEUE_NONE 0xfu

enum ebbi_claim_of { EBBI_CLAIM_ANY, EBBI_CLAIM_RESIDENT };

struct ebbi_slab {
	uintptr_t base;
	uint16_t nfree;
	uint16_t settle_at; /* slabs/bin.c has something to do when nfree gets here */
	uint8_t size_class;
	uint8_t first_word;    /* no free slot lies in a word before this one */
	uint8_t queue : 4;     /* of the bin, EBBI_SLAB_QUEUE_NONE when on none */
	uint8_t party : 4;     /* whose queue: see slabs/bin.h */
	uint8_t hole_pages;    /* resident pages without a slot that is out, as counted at the last look */
	struct ebbi_list link; /* on a queue of the bin */
	struct ebbi_list look; /* on the bin's list of slabs to look at, or on none */
	uint64_t resident;     /* pages that may hold memory */
	uint64_t marked;       /* of those: see ebbi_slab_aged; of the others: see ebbi_slab_purged */
	uint64_t free[];
};

/* The descriptor is a cache line and the bitmap: some thousands of them are what rests above the floor (decision 0011). */
_Static_assert(offsetof(struct ebbi_slab, free) == EBBI_CACHE_LINE, "a descriptor's fields are a cache line");

/* Pages that were resident and wholly free at the last look, and not used since. */
static inline uint64_t ebbi_slab_aged(const struct ebbi_slab *slab)
{
	return slab->marked & slab->resident;
}

/* Pages that were given back and not used since. */
static inline uint64_t ebbi_slab_purged(const struct ebbi_slab *slab)
{
	return slab->marked & ~slab->resident;
}

/* How large the descriptor of a slab of this class is. */
static inline size_t ebbi_slab_descriptor_bytes(unsigned size_class)
{
	return sizeof(struct ebbi_slab) + ebbi_divide_up(ebbi_sizes[size_class].slots, 64) * sizeof(uint64_t);
}

static inline unsigned ebbi_slab_words(const struct ebbi_slab *slab)
{
	return (ebbi_sizes[slab->size_class].slots + 63u) / 64u;
}

static inline bool ebbi_slab_is_empty(const struct ebbi_slab *slab)
{
	return slab->nfree == ebbi_sizes[slab->size_class].slots;
}

/* All slots free; `slab` is zeroed memory of ebbi_slab_descriptor_bytes. */
void ebbi_slab_init(struct ebbi_slab *slab, unsigned size_class, uintptr_t base);

/* The pages that slots `first` to `last` touch. */
uint64_t ebbi_slab_pages_of_slots(const struct ebbi_slab *slab, unsigned first, unsigned last);

/* The slots that touch a page, clipped to the slab's; false when the page lies behind the last. */
bool ebbi_slab_slots_of_page(const struct ebbi_slab *slab, unsigned page, unsigned *ret_first, unsigned *ret_last);

/* The resident pages on which every slot is free. */
uint64_t ebbi_slab_holes(const struct ebbi_slab *slab);

/*
 * Take up to `most` free slots that lie in one word: resident ones where there are any, lowest
 * first. The slab must have a free slot, and with RESIDENT one on resident pages. Returns the word's index, in
 * *ret_bits the slots, in *ret_refaults how many purged pages come back to life with them.
 */
unsigned ebbi_slab_claim(struct ebbi_slab *slab, enum ebbi_claim_of of, unsigned most, uint64_t *ret_bits,
			 unsigned *ret_refaults);

/* Is there a free slot that lies on resident pages alone? */
bool ebbi_slab_has_resident(const struct ebbi_slab *slab);

/*
 * The slots of `bits` (not 0) of one word become free. Returns those that are free already; then nothing
 * has changed.
 */
static inline uint64_t ebbi_slab_put_word(struct ebbi_slab *slab, unsigned word, uint64_t bits)
{
	uint64_t twice = slab->free[word] & bits;

	if (EBBI_UNLIKELY(twice != 0))
		return twice;
	slab->free[word] |= bits;
	slab->nfree = (uint16_t)(slab->nfree + ((bits & (bits - 1)) == 0 ? 1u : ebbi_bit_count(bits)));
	if (word < slab->first_word)
		slab->first_word = (uint8_t)word;
	return 0;
}

/* Slot `index` becomes free; false when it is free already. */
static inline bool ebbi_slab_put(struct ebbi_slab *slab, unsigned index)
{
	return ebbi_slab_put_word(slab, index / 64, (uint64_t)1 << index % 64) == 0;
}

/*
 * Take every slot that touches `pages` out of circulation while these are given back, and put them
 * back afterwards. All of them must be free before the first call. Returns how many they are.
 */
unsigned ebbi_slab_withdraw(struct ebbi_slab *slab, uint64_t pages);
unsigned ebbi_slab_restore(struct ebbi_slab *slab, uint64_t pages);

/* Ends the process when an invariant does not hold. */
void ebbi_slab_check(const struct ebbi_slab *slab);

#endif
