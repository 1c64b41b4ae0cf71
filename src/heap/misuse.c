#include "heap/misuse.h"

#include "heap/guarded.h"
#include "heap/hardened.h"

uint64_t ebbi_misuse_indirect = EBBI_ENTRY_LOW;

static bool is_block(unsigned kind)
{
	return kind == EBBI_KIND_RUN || kind == EBBI_KIND_MAPPING || kind == EBBI_KIND_NESTED;
}

/* In a hardened heap large blocks need not start where their run does. */
static bool is_guarded(const void *block, uint64_t entry)
{
	unsigned kind = ebbi_entry_kind(entry);

	return (kind == EBBI_KIND_RUN || kind == EBBI_KIND_MAPPING) &&
	       ebbi_guarded_find(ebbi_round_down((uintptr_t)block, EBBI_PAGE_BYTES), entry).start == block;
}

/*
 * No block starts here: find the run that `pointer` lies in by walking back to the nearest page that
 * starts something. The process ends anyway, so the walk may be long.
 */
static _Noreturn __attribute__((noinline, cold)) void explain(const char *what, const void *pointer)
{
	uintptr_t page = ebbi_round_down((uintptr_t)pointer, EBBI_PAGE_BYTES);
	size_t walked = 1;

	for (; page != 0 && walked <= EBBI_LEAF_PAGES; page -= EBBI_PAGE_BYTES, walked++) {
		uint64_t entry = ebbi_pagemap_get(page);
		unsigned kind = ebbi_entry_kind(entry);

		if (kind == EBBI_KIND_NONE || kind == EBBI_KIND_LINK || kind == EBBI_KIND_GUARD)
			continue;
		if (kind < EBBI_CLASSES || ebbi_entry_run_pages(entry) < walked)
			break;
		if (is_block(kind) && kind != EBBI_KIND_NESTED && ebbi_is_hardened()) {
			struct ebbi_guarded_block block = ebbi_guarded_find(page, entry);

			ebbi_report_inside_block(what, pointer, block.bytes, block.start);
		}
		if (is_block(kind))
			ebbi_report_inside_block(what, pointer, ebbi_misuse_block_bytes(entry), (const void *)page);
		ebbi_report_free_run(what, pointer);
	}
	ebbi_report_foreign(what, pointer);
}

/* Returns when it is the start of a block all the same. */
static __attribute__((noinline)) void judge_odd(const char *what, const void *block, uint64_t entry)
{
	if (!ebbi_is_hardened() || !is_guarded(block, entry))
		explain(what, block);
}

uint64_t ebbi_misuse_judge(const char *what, const void *block)
{
	uintptr_t address = (uintptr_t)block;
	uint64_t entry = ebbi_pagemap_get(address);
	unsigned kind = ebbi_entry_kind(entry);

	if (EBBI_LIKELY(kind - 1u < EBBI_CLASSES - 1u)) {
		uint32_t offset = ebbi_entry_slab_offset(ebbi_entry_plain(entry), address);
		unsigned index = ebbi_slot_index(kind, offset);
		uint32_t start = index * ebbi_sizes[kind].bytes;

		if (EBBI_UNLIKELY(index >= ebbi_sizes[kind].slots))
			ebbi_report_foreign(what, block);
		if (EBBI_UNLIKELY(start != offset))
			ebbi_report_inside_slot(what, block, ebbi_sizes[kind].bytes,
						(const char *)block - (offset - start));
		return entry;
	}
	if (EBBI_UNLIKELY(!is_block(kind) || (address & (EBBI_PAGE_BYTES - 1)) != 0))
		judge_odd(what, block, entry);
	return entry;
}

void ebbi_misuse_check_live(const char *what, struct ebbi_cache *cache, const void *block, uint64_t entry)
{
	unsigned size_class = ebbi_entry_kind(entry);
	const struct ebbi_stand *stand = NULL;

	if (size_class >= EBBI_CLASSES)
		return;
	if (cache != NULL)
		stand = ebbi_cache_stand(cache, ebbi_store_bin(&ebbi_heap.store, entry)->set);
	if ((stand != NULL && ebbi_stand_holds(stand, size_class, block)) ||
	    ebbi_bin_slot_is_free(&ebbi_heap.store, entry, block))
		ebbi_report_free_slot(what, block, ebbi_sizes[size_class].bytes);
}
