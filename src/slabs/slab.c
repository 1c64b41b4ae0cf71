#include "slabs/slab.h"

#include "platform/report.h"

void ebbi_slab_init(struct ebbi_slab *slab, unsigned size_class, uintptr_t base)
{
	unsigned slots = ebbi_sizes[size_class].slots;

	slab->base = base;
	slab->size_class = (uint8_t)size_class;
	slab->nfree = (uint16_t)slots;
	slab->queue = EBBI_SLAB_QUEUE_NONE;
	ebbi_list_init(&slab->link);
	ebbi_list_init(&slab->look);
	for (unsigned word = 0; slots > 0; word++) {
		unsigned here = slots < 64 ? slots : 64;

		slab->free[word] = ebbi_bit_range(0, here);
		slots -= here;
	}
}

uint64_t ebbi_slab_pages_of_slots(const struct ebbi_slab *slab, unsigned first, unsigned last)
{
	uint32_t bytes = ebbi_sizes[slab->size_class].bytes;
	unsigned first_page = first * bytes >> EBBI_PAGE_SHIFT;
	unsigned last_page = ((last + 1) * bytes - 1) >> EBBI_PAGE_SHIFT;

	return ebbi_bit_range(first_page, last_page - first_page + 1);
}

bool ebbi_slab_slots_of_page(const struct ebbi_slab *slab, unsigned page, unsigned *ret_first, unsigned *ret_last)
{
	unsigned slots = ebbi_sizes[slab->size_class].slots;
	uint32_t start = (uint32_t)page << EBBI_PAGE_SHIFT;
	unsigned first = ebbi_slot_index(slab->size_class, start);
	unsigned last = ebbi_slot_index(slab->size_class, start + EBBI_PAGE_BYTES - 1);

	if (first >= slots)
		return false;
	*ret_first = first;
	*ret_last = last < slots ? last : slots - 1;
	return true;
}

/* Bits first..last of the bitmap are all set. */
static bool all_free(const struct ebbi_slab *slab, unsigned first, unsigned last)
{
	for (unsigned at = first; at <= last;) {
		unsigned count = 64 - at % 64;
		uint64_t mask;

		if (count > last - at + 1)
			count = last - at + 1;
		mask = ebbi_bit_range(at % 64, count);
		if ((slab->free[at / 64] & mask) != mask)
			return false;
		at += count;
	}
	return true;
}

uint64_t ebbi_slab_holes(const struct ebbi_slab *slab)
{
	uint64_t holes = 0;

	if (ebbi_slab_is_empty(slab))
		return slab->resident;
	for (uint64_t left = slab->resident; left != 0; left &= left - 1) {
		unsigned page = ebbi_bit_lowest(left);
		unsigned first;
		unsigned last;

		if (!ebbi_slab_slots_of_page(slab, page, &first, &last) || all_free(slab, first, last))
			holes |= (uint64_t)1 << page;
	}
	return holes;
}

/* Those of the free slots of a word that lie wholly on resident pages. */
static uint64_t resident_bits(const struct ebbi_slab *slab, unsigned word)
{
	unsigned slots = ebbi_sizes[slab->size_class].slots;
	unsigned last_slot = word * 64 + 63 < slots ? word * 64 + 63 : slots - 1;
	uint64_t absent = ebbi_slab_pages_of_slots(slab, word * 64, last_slot) & ~slab->resident;
	uint64_t bits = slab->free[word];

	for (; absent != 0 && bits != 0; absent &= absent - 1) {
		unsigned first;
		unsigned last;

		if (!ebbi_slab_slots_of_page(slab, ebbi_bit_lowest(absent), &first, &last))
			continue;
		first = first > word * 64 ? first - word * 64 : 0;
		last = last < word * 64 + 63 ? last - word * 64 : 63;
		bits &= ~ebbi_bit_range(first, last - first + 1);
	}
	return bits;
}

/* The lowest `most` set bits. */
static uint64_t lowest_bits(uint64_t bits, unsigned most)
{
	uint64_t rest = bits;

	if (most >= 64 || ebbi_bit_count(bits) <= most)
		return bits;
	while (most-- > 0)
		rest &= rest - 1;
	return bits & ~rest;
}

/* The first word from `word` on that has resident slots; 0 when none has, and `word` is as it was. */
static uint64_t find_resident(const struct ebbi_slab *slab, unsigned *word)
{
	unsigned words = ebbi_slab_words(slab);
	uint64_t bits = 0;

	for (unsigned at = *word; at < words; at++) {
		bits = slab->free[at] != 0 ? resident_bits(slab, at) : 0;
		if (bits == 0)
			continue;
		*word = at;
		break;
	}
	return bits;
}

bool ebbi_slab_has_resident(const struct ebbi_slab *slab)
{
	unsigned word = slab->first_word;

	return slab->nfree != 0 && find_resident(slab, &word) != 0;
}

unsigned ebbi_slab_claim(struct ebbi_slab *slab, enum ebbi_claim_of of, unsigned most, uint64_t *ret_bits,
			 unsigned *ret_refaults)
{
	unsigned word = slab->first_word;
	uint64_t bits = 0;
	uint64_t pages;

	while (slab->free[word] == 0)
		word++;
	slab->first_word = (uint8_t)word;
	/* Only a slab that lost pages has resident slots behind absent ones. */
	if (ebbi_slab_purged(slab) != 0 || of == EBBI_CLAIM_RESIDENT)
		bits = find_resident(slab, &word);
	bits = lowest_bits(bits != 0 ? bits : slab->free[word], most);
	slab->free[word] &= ~bits;
	slab->nfree = (uint16_t)(slab->nfree - ebbi_bit_count(bits));
	pages = ebbi_slab_pages_of_slots(slab, word * 64 + ebbi_bit_lowest(bits), word * 64 + ebbi_bit_highest(bits));
	*ret_refaults = (ebbi_slab_purged(slab) & pages) != 0 ? ebbi_bit_count(ebbi_slab_purged(slab) & pages) : 0;
	slab->resident |= pages;
	slab->marked &= ~pages;
	*ret_bits = bits;
	return word;
}

/* Set or clear the bits of all slots that touch `pages`; how many changed. */
static unsigned mark(struct ebbi_slab *slab, uint64_t pages, bool set)
{
	unsigned changed = 0;

	for (; pages != 0; pages &= pages - 1) {
		unsigned first;
		unsigned last;

		if (!ebbi_slab_slots_of_page(slab, ebbi_bit_lowest(pages), &first, &last))
			continue;
		for (unsigned at = first; at <= last;) {
			unsigned count = 64 - at % 64;
			uint64_t mask;
			uint64_t old = slab->free[at / 64];

			if (count > last - at + 1)
				count = last - at + 1;
			mask = ebbi_bit_range(at % 64, count);
			slab->free[at / 64] = set ? old | mask : old & ~mask;
			changed += ebbi_bit_count(old ^ slab->free[at / 64]);
			if (set && at / 64 < slab->first_word)
				slab->first_word = (uint8_t)(at / 64);
			at += count;
		}
	}
	return changed;
}

unsigned ebbi_slab_withdraw(struct ebbi_slab *slab, uint64_t pages)
{
	unsigned count = mark(slab, pages, /* set= */ false);

	slab->nfree = (uint16_t)(slab->nfree - count);
	return count;
}

unsigned ebbi_slab_restore(struct ebbi_slab *slab, uint64_t pages)
{
	unsigned count = mark(slab, pages, /* set= */ true);

	slab->nfree = (uint16_t)(slab->nfree + count);
	return count;
}

/* A bit for each page of the slab, or of the kernel's pages that it lies on, which have up to 16 of ours. */
static uint64_t pages_of_span(const struct ebbi_slab *slab)
{
	return ebbi_bit_range(0, (unsigned)ebbi_round_up(ebbi_sizes[slab->size_class].slab_pages, 16));
}

void ebbi_slab_check(const struct ebbi_slab *slab)
{
	unsigned slots = ebbi_sizes[slab->size_class].slots;
	unsigned words = ebbi_slab_words(slab);
	unsigned count = 0;

	for (unsigned word = 0; word < words; word++) {
		count += ebbi_bit_count(slab->free[word]);
		if (word < slab->first_word && slab->free[word] != 0)
			ebbi_report_internal("a slab has a free slot before its first word");
	}
	if (slots % 64 != 0 && slab->free[words - 1] >> slots % 64 != 0)
		ebbi_report_internal("a slab has a free slot behind its last");
	if (count != slab->nfree)
		ebbi_report_internal("a slab's count of free slots is wrong");
	if (((slab->resident | slab->marked) & ~pages_of_span(slab)) != 0)
		ebbi_report_internal("a slab has a page behind its last");
}
