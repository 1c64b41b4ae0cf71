#include "pages/pagemap.h"

#include <errno.h>

struct ebbi_leaf *ebbi_pagemap_root[EBBI_ROOT_LEAVES];
struct ebbi_main_leaf ebbi_pagemap_main = {.base = EBBI_MAIN_BASE_NONE};

/* A leaf's mapping: whole pages, also of a kernel whose pages have 64 KiB. */
#define LEAF_BYTES ebbi_round_up(sizeof(struct ebbi_leaf), (size_t)64 << 10)

static size_t leaves_mapped;           /* relaxed; for the statistics */
static size_t leaves_begin = SIZE_MAX; /* relaxed: no leaf before this index of the root */
static size_t leaves_end;              /* relaxed: nor at this one or behind */
static bool leaves_kept_small;         /* set at boot */

void ebbi_pagemap_keep_small(void)
{
	leaves_kept_small = true;
}

static struct ebbi_leaf *leaf_of(uintptr_t address)
{
	return ebbi_load_acquire(&ebbi_pagemap_root[address >> EBBI_LEAF_SHIFT]); /* partner: leaf_install */
}

static size_t index_of(uintptr_t address)
{
	return (address >> EBBI_PAGE_SHIFT) & (EBBI_LEAF_PAGES - 1);
}

/* Of several leaves that are made at once one becomes the main one: whose pointer is stored first. */
static void offer_as_main(struct ebbi_leaf *leaf, uintptr_t base)
{
	struct ebbi_leaf *none = NULL;

	if (ebbi_cas_relaxed(&ebbi_pagemap_main.leaf, &none, leaf))
		ebbi_store_release(&ebbi_pagemap_main.base, base); /* partner: ebbi_pagemap_get */
}

static void note_leaf(size_t index)
{
	size_t begin = ebbi_load_relaxed(&leaves_begin);
	size_t end = ebbi_load_relaxed(&leaves_end);

	while (index < begin && !ebbi_cas_relaxed(&leaves_begin, &begin, index))
		;
	while (end <= index && !ebbi_cas_relaxed(&leaves_end, &end, index + 1))
		;
}

static int leaf_install(const struct ebbi_vm *vm, uintptr_t address)
{
	struct ebbi_leaf *expected = NULL;
	void *leaf;
	int error = vm->map(LEAF_BYTES, EBBI_PAGE_BYTES, &leaf);

	if (error != 0)
		return error;
	if (!ebbi_cas_acqrel(&ebbi_pagemap_root[address >> EBBI_LEAF_SHIFT], &expected, (struct ebbi_leaf *)leaf)) {
		(void)vm->unmap(leaf, LEAF_BYTES);
		return 0;
	}
	if (leaves_kept_small)
		(void)vm->advise_huge(leaf, LEAF_BYTES, 0);
	ebbi_fetch_add_relaxed(&leaves_mapped, 1);
	note_leaf(address >> EBBI_LEAF_SHIFT);
	offer_as_main(leaf, ebbi_round_down(address, (uintptr_t)1 << EBBI_LEAF_SHIFT));
	return 0;
}

int ebbi_pagemap_cover(const struct ebbi_vm *vm, uintptr_t base, size_t pages)
{
	uintptr_t last = base + (pages << EBBI_PAGE_SHIFT) - 1;

	if (last >> EBBI_CPU_ADDRESS_BITS != 0)
		return -ENOMEM;
	for (uintptr_t leaf = base >> EBBI_LEAF_SHIFT; leaf <= last >> EBBI_LEAF_SHIFT; leaf++) {
		if (leaf_of(leaf << EBBI_LEAF_SHIFT) == NULL) {
			int error = leaf_install(vm, leaf << EBBI_LEAF_SHIFT);

			if (error != 0)
				return error;
		}
	}
	return 0;
}

bool ebbi_pagemap_block_mark(uintptr_t address)
{
	size_t block = index_of(address) / 512;
	uint64_t bit = (uint64_t)1 << block % 64;

	return (ebbi_fetch_or_relaxed(&leaf_of(address)->blocks[block / 64], bit) & bit) == 0;
}

void ebbi_pagemap_set(uintptr_t address, uint64_t entry)
{
	ebbi_store_relaxed(&leaf_of(address)->entries[index_of(address)], entry);
}

void ebbi_pagemap_clear(uintptr_t base, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		ebbi_pagemap_set(base + (i << EBBI_PAGE_SHIFT), 0);
}

struct ebbi_run_links *ebbi_pagemap_links(uintptr_t address)
{
	return &leaf_of(address)->links[index_of(address)];
}

/* The part of a range that lies in one word of bits. */
struct piece {
	uint64_t *word;
	unsigned first;
	unsigned count;
};

static struct piece piece_at(enum ebbi_page_bit bit, uintptr_t base, size_t pages)
{
	size_t index = index_of(base);
	unsigned first = index % 64;

	return (struct piece){
		.word = &leaf_of(base)->bits[bit][index / 64],
		.first = first,
		.count = (unsigned)ebbi_min_size(pages, 64 - first),
	};
}

void ebbi_pagemap_bits_set(enum ebbi_page_bit bit, uintptr_t base, size_t pages)
{
	while (pages > 0) {
		struct piece piece = piece_at(bit, base, pages);

		ebbi_store_relaxed(piece.word, *piece.word | ebbi_bit_range(piece.first, piece.count));
		base += (uintptr_t)piece.count << EBBI_PAGE_SHIFT;
		pages -= piece.count;
	}
}

void ebbi_pagemap_bits_clear(enum ebbi_page_bit bit, uintptr_t base, size_t pages)
{
	while (pages > 0) {
		struct piece piece = piece_at(bit, base, pages);

		ebbi_store_relaxed(piece.word, *piece.word & ~ebbi_bit_range(piece.first, piece.count));
		base += (uintptr_t)piece.count << EBBI_PAGE_SHIFT;
		pages -= piece.count;
	}
}

/* Every free run that is merged or cut is asked this, so a leaf's words are walked without a look at the root. */
bool ebbi_pagemap_bits_any(enum ebbi_page_bit bit, uintptr_t base, size_t pages)
{
	while (pages > 0) {
		size_t first = index_of(base);
		size_t here = ebbi_min_size(pages, EBBI_LEAF_PAGES - first);
		size_t last = first + here - 1;
		const uint64_t *words = leaf_of(base)->bits[bit];

		for (size_t word = first / 64; word <= last / 64; word++) {
			uint64_t found = ebbi_load_relaxed(&words[word]);

			if (EBBI_LIKELY(found == 0))
				continue;
			if (word == first / 64)
				found &= UINT64_MAX << first % 64;
			if (word == last / 64)
				found &= UINT64_MAX >> (63 - last % 64);
			if (found != 0)
				return true;
		}
		base += (uintptr_t)here << EBBI_PAGE_SHIFT;
		pages -= here;
	}
	return false;
}

size_t ebbi_pagemap_bits_count(enum ebbi_page_bit bit, uintptr_t base, size_t pages)
{
	size_t count = 0;

	while (pages > 0) {
		struct piece piece = piece_at(bit, base, pages);

		count += ebbi_bit_count(ebbi_load_relaxed(piece.word) & ebbi_bit_range(piece.first, piece.count));
		base += (uintptr_t)piece.count << EBBI_PAGE_SHIFT;
		pages -= piece.count;
	}
	return count;
}

uint64_t ebbi_pagemap_bits_load(enum ebbi_page_bit bit, uintptr_t base, unsigned pages)
{
	uint64_t result = 0;
	unsigned done = 0;

	while (done < pages) {
		struct piece piece = piece_at(bit, base + ((uintptr_t)done << EBBI_PAGE_SHIFT), pages - done);
		uint64_t part = (ebbi_load_relaxed(piece.word) >> piece.first) & ebbi_bit_range(0, piece.count);

		result |= part << done;
		done += piece.count;
	}
	return result;
}

void ebbi_pagemap_bits_store(enum ebbi_page_bit bit, uintptr_t base, unsigned pages, uint64_t word)
{
	unsigned done = 0;

	while (done < pages) {
		struct piece piece = piece_at(bit, base + ((uintptr_t)done << EBBI_PAGE_SHIFT), pages - done);
		uint64_t mask = ebbi_bit_range(piece.first, piece.count);
		uint64_t part = ((word >> done) << piece.first) & mask;

		ebbi_store_relaxed(piece.word, (*piece.word & ~mask) | part);
		done += piece.count;
	}
}

/* Length of the stretch of equal bits (all `set` or all clear) at the start of the range. */
static size_t stretch(enum ebbi_page_bit bit, uintptr_t base, size_t pages, bool set)
{
	size_t length = 0;

	while (length < pages) {
		struct piece piece = piece_at(bit, base + (length << EBBI_PAGE_SHIFT), pages - length);
		uint64_t word = ebbi_load_relaxed(piece.word) >> piece.first;
		uint64_t other = (set ? ~word : word) & ebbi_bit_range(0, piece.count);

		if (other != 0)
			return length + ebbi_bit_lowest(other);
		length += piece.count;
	}
	return pages;
}

bool ebbi_pagemap_bits_next(enum ebbi_page_bit bit, uintptr_t *base, size_t *pages, uintptr_t *ret_start,
			    size_t *ret_pages)
{
	size_t skipped = stretch(bit, *base, *pages, /* set= */ false);
	size_t length;

	if (skipped == *pages)
		return false;
	*base += skipped << EBBI_PAGE_SHIFT;
	*pages -= skipped;
	length = stretch(bit, *base, *pages, /* set= */ true);
	*ret_start = *base;
	*ret_pages = length;
	*base += length << EBBI_PAGE_SHIFT;
	*pages -= length;
	return true;
}

void ebbi_pagemap_forget(const struct ebbi_vm *vm, size_t page_bytes, uintptr_t base, size_t pages)
{
	while (pages > 0) {
		size_t index = index_of(base);
		size_t here = ebbi_min_size(pages, EBBI_LEAF_PAGES - index);
		uint64_t *entries = &leaf_of(base)->entries[index];
		uintptr_t start = ebbi_round_up((uintptr_t)entries, page_bytes);
		uintptr_t end = ebbi_round_down((uintptr_t)(entries + here), page_bytes);

		if (end > start)
			(void)vm->purge((void *)start, end - start);
		base += (uintptr_t)here << EBBI_PAGE_SHIFT;
		pages -= here;
	}
}

size_t ebbi_pagemap_mapped_bytes(void)
{
	return ebbi_load_relaxed(&leaves_mapped) * LEAF_BYTES;
}

static bool is_block(uint64_t entry)
{
	unsigned kind = ebbi_entry_kind(entry);

	return (kind == EBBI_KIND_RUN || kind == EBBI_KIND_MAPPING) && ebbi_entry_run_pages(entry) != 0;
}

bool ebbi_pagemap_block_next(uintptr_t *address, uintptr_t *ret_base, size_t *ret_pages)
{
	uintptr_t begin = ebbi_load_relaxed(&leaves_begin) << EBBI_LEAF_SHIFT;
	uintptr_t end = ebbi_load_relaxed(&leaves_end) << EBBI_LEAF_SHIFT;

	for (uintptr_t at = *address < begin && end != 0 ? begin : *address; at < end;) {
		const struct ebbi_leaf *leaf = leaf_of(at);
		uint64_t entry;

		if (leaf == NULL) {
			at = ebbi_round_down(at, (uintptr_t)1 << EBBI_LEAF_SHIFT) + ((uintptr_t)1 << EBBI_LEAF_SHIFT);
			continue;
		}
		entry = ebbi_load_relaxed(&leaf->entries[index_of(at)]);
		if (is_block(entry)) {
			*ret_base = at;
			*ret_pages = ebbi_entry_run_pages(entry);
			*address = at + ((uintptr_t)*ret_pages << EBBI_PAGE_SHIFT);
			return true;
		}
		at += EBBI_PAGE_BYTES;
	}
	return false;
}
