#include "slabs/large.h"

#include <errno.h>
#include <string.h>

#include "pages/release.h"
#include "slabs/retained.h"

/*
 * Where all retained mappings are too small, the largest is grown by mremap(2), if it is at least a quarter of
 * what is asked for: moving a page costs a tenth of faulting one in (bench: malloc-large of mimalloc-bench).
 */
#define GROW_PART 4u

void ebbi_large_init(struct ebbi_large *large, struct ebbi_store *store)
{
	large->store = store;
	ebbi_lock_init(&large->lock, EBBI_RANK_PAGES);
}

/* Bytes to pages, rounded up to the kernel's; 0 when that does not fit. */
static size_t pages_for(const struct ebbi_large *large, size_t bytes)
{
	if (bytes > (size_t)1 << (EBBI_CPU_ADDRESS_BITS - 1))
		return 0;
	return ebbi_pages_round(&large->store->pages, ebbi_divide_up(bytes, EBBI_PAGE_BYTES));
}

/* Zero those pages of a fresh run that may hold old bytes. */
static void zero_resident(uintptr_t base, size_t pages)
{
	uintptr_t start;
	size_t length;

	while (ebbi_pagemap_bits_next(EBBI_PAGE_RESIDENT, &base, &pages, &start, &length))
		memset((void *)start, 0, length << EBBI_PAGE_SHIFT);
}

static int run_alloc(struct ebbi_large *large, size_t pages, size_t align_bytes, enum ebbi_content content,
		     void **ret_block)
{
	struct ebbi_pages *store = &large->store->pages;
	size_t align_pages = ebbi_max_size(align_bytes >> EBBI_PAGE_SHIFT, 1);
	uintptr_t base;
	int error;

	/* Before address space is taken for it. */
	if (ebbi_load_relaxed(&store->room_pages) < pages &&
	    ebbi_load_relaxed(&store->room_pages) + ebbi_pages_dirty(store) < pages)
		return -ENOMEM;
	error = ebbi_pages_alloc(store, pages, align_pages, &base);
	if (error != 0)
		return error;
	if (!ebbi_room_take_block(store, pages - ebbi_pagemap_bits_count(EBBI_PAGE_RESIDENT, base, pages))) {
		ebbi_pages_put_back(store, base, pages);
		return -ENOMEM;
	}
	ebbi_pagemap_set(base, ebbi_entry_run(EBBI_KIND_RUN, pages));
	ebbi_fetch_add_relaxed(&large->run_pages, pages);
	ebbi_fetch_add_relaxed(&large->refault_pages, ebbi_pagemap_bits_count(EBBI_PAGE_PURGED, base, pages));
	if (content == EBBI_CONTENT_ZERO)
		zero_resident(base, pages);
	*ret_block = (void *)base;
	return 0;
}

static int mapping_new(struct ebbi_large *large, size_t pages, size_t align_bytes, enum ebbi_kind kind,
		       uintptr_t *ret_base)
{
	const struct ebbi_vm *vm = large->store->pages.vm;
	size_t bytes = pages << EBBI_PAGE_SHIFT;
	void *base;
	int error;

	if (!ebbi_room_take_block(&large->store->pages, pages))
		return -ENOMEM;
	error = vm->map(bytes, align_bytes, &base);
	if (error != 0) {
		ebbi_room_give(&large->store->pages, pages);
		return error;
	}
	error = ebbi_pagemap_cover(vm, (uintptr_t)base, pages);
	if (error != 0) {
		ebbi_room_give(&large->store->pages, pages);
		/* A handler must take no lock, not even to remember what could not be unmapped. */
		if (kind == EBBI_KIND_NESTED)
			(void)vm->unmap(base, bytes);
		else
			ebbi_pages_unmap_unused(&large->store->pages, base, bytes);
		return error;
	}
	ebbi_pagemap_set((uintptr_t)base, ebbi_entry_run(kind, pages));
	ebbi_fetch_add_relaxed(&large->map_calls, 1);
	ebbi_fetch_add_relaxed(&large->mapping_pages, pages);
	*ret_base = (uintptr_t)base;
	return 0;
}

/* Move the pages of a mapping to a new range that the page map knows before anything is moved. */
static bool mapping_move_try(struct ebbi_large *large, void *block, size_t have, size_t pages, void **ret_block)
{
	const struct ebbi_vm *vm = large->store->pages.vm;
	size_t bytes = pages << EBBI_PAGE_SHIFT;
	void *target;

	if (vm->reserve(bytes, EBBI_PAGE_BYTES, &target) != 0)
		return false;
	if (ebbi_pagemap_cover(vm, (uintptr_t)target, pages) == 0 &&
	    vm->remap(block, have << EBBI_PAGE_SHIFT, bytes, target) == 0) {
		*ret_block = target;
		return true;
	}
	ebbi_pages_unmap_unused(&large->store->pages, target, bytes);
	return false;
}

static bool mapping_resize_try(struct ebbi_large *large, void *block, uint64_t entry, size_t pages, void **ret_block)
{
	const struct ebbi_vm *vm = large->store->pages.vm;
	size_t have = ebbi_entry_run_pages(entry);
	size_t more = pages > have ? pages - have : 0;
	void *moved = block;

	if (more != 0 &&
	    ebbi_retained_take_at(large, (uintptr_t)block + ((uintptr_t)have << EBBI_PAGE_SHIFT), pages - have)) {
		ebbi_pagemap_set((uintptr_t)block, ebbi_entry_run(EBBI_KIND_MAPPING, pages));
		ebbi_fetch_add_relaxed(&large->mapping_pages, pages - have);
		*ret_block = block;
		return true;
	}
	if (!ebbi_room_take_block(&large->store->pages, more))
		return false;
	/* The old entry goes first: the addresses may belong to somebody else as soon as they are free. */
	ebbi_pagemap_set((uintptr_t)block, 0);
	if ((ebbi_pagemap_cover(vm, (uintptr_t)block, pages) != 0 ||
	     vm->remap(block, have << EBBI_PAGE_SHIFT, pages << EBBI_PAGE_SHIFT, NULL) != 0) &&
	    !mapping_move_try(large, block, have, pages, &moved)) {
		ebbi_pagemap_set((uintptr_t)block, entry);
		ebbi_room_give(&large->store->pages, more);
		return false;
	}
	ebbi_pagemap_set((uintptr_t)moved, ebbi_entry_run(EBBI_KIND_MAPPING, pages));
	ebbi_fetch_add_relaxed(&large->map_calls, 1);
	ebbi_fetch_add_relaxed(&large->mapping_pages, pages - have);
	*ret_block = moved;
	return true;
}

/* A retained mapping becomes a block again, grown where it is too small; false when there is none that serves. */
static bool mapping_reuse_try(struct ebbi_large *large, size_t pages, size_t align_bytes, enum ebbi_content content,
			      void **ret_block)
{
	/* What grows may be moved, and may grow into pages that were used. */
	bool may_grow = align_bytes <= EBBI_PAGE_BYTES && content == EBBI_CONTENT_ANY;
	size_t least = may_grow ? ebbi_divide_up(pages, GROW_PART) : pages;
	struct ebbi_retained mapping;
	uint64_t entry;
	void *block;

	if (!ebbi_retained_take(large, pages, least, align_bytes, &mapping))
		return false;
	block = (void *)mapping.base;
	entry = ebbi_entry_run(EBBI_KIND_MAPPING, mapping.pages);
	ebbi_pagemap_set(mapping.base, entry);
	ebbi_fetch_add_relaxed(&large->mapping_pages, mapping.pages);
	if (mapping.pages < pages && !mapping_resize_try(large, block, entry, pages, &block)) {
		ebbi_large_free(large, block, entry);
		return false;
	}
	if (content == EBBI_CONTENT_ZERO)
		memset(block, 0, mapping.pages << EBBI_PAGE_SHIFT);
	*ret_block = block;
	return true;
}

static int mapping_alloc(struct ebbi_large *large, size_t pages, size_t align_bytes, enum ebbi_content content,
			 void **ret_block)
{
	uintptr_t base;
	int error;

	if (mapping_reuse_try(large, pages, align_bytes, content, ret_block))
		return 0;
	error = mapping_new(large, pages, align_bytes, EBBI_KIND_MAPPING, &base);
	if (error == 0)
		*ret_block = (void *)base;
	return error;
}

int ebbi_large_alloc(struct ebbi_large *large, size_t bytes, size_t align_bytes, enum ebbi_content content,
		     void **ret_block)
{
	size_t pages = pages_for(large, bytes);

	align_bytes = ebbi_max_size(align_bytes, EBBI_PAGE_BYTES);
	if (pages == 0)
		return -ENOMEM;
	ebbi_fetch_add_relaxed(&large->blocks_made, 1);
	/* Where there is no address space left, free runs may still hold what a mapping cannot have. */
	if ((bytes >= EBBI_MAPPING_LEAST || align_bytes >= EBBI_MAPPING_LEAST) &&
	    mapping_alloc(large, pages, align_bytes, content, ret_block) == 0)
		return 0;
	return run_alloc(large, pages, align_bytes, content, ret_block);
}

int ebbi_large_alloc_nested(struct ebbi_large *large, size_t bytes, size_t align_bytes, void **ret_block)
{
	size_t pages = pages_for(large, bytes);
	uintptr_t base;
	int error;

	if (pages == 0)
		return -ENOMEM;
	error = mapping_new(large, pages, ebbi_max_size(align_bytes, EBBI_PAGE_BYTES), EBBI_KIND_NESTED, &base);
	if (error == 0)
		*ret_block = (void *)base;
	return error;
}

/* The page map knows the whole of it: mapping_new and mapping_resize_try see to that. */
static void unmap(struct ebbi_large *large, uintptr_t base, size_t pages)
{
	ebbi_pages_dissolve(&large->store->pages, base, pages);
}

void ebbi_large_assign(void *block, struct ebbi_set *set, size_t counted_bytes)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);

	ebbi_pagemap_set((uintptr_t)block, ebbi_entry_run_of_set(entry, set->number));
	/* It may be longer than what it was made for. */
	ebbi_set_give(set, counted_bytes - (ebbi_entry_run_pages(entry) << EBBI_PAGE_SHIFT));
}

/* The set that the block is counted in, or NULL. */
static struct ebbi_set *set_of(const struct ebbi_large *large, uint64_t entry)
{
	unsigned number = ebbi_entry_run_set(entry);

	return EBBI_LIKELY(number == 0) ? NULL : ebbi_load_relaxed(&large->store->sets[number]);
}

void ebbi_large_free(struct ebbi_large *large, void *block, uint64_t entry)
{
	uintptr_t base = (uintptr_t)block;
	size_t pages = ebbi_entry_run_pages(entry);
	struct ebbi_set *set = set_of(large, entry);
	size_t kept;

	if (set != NULL)
		ebbi_set_give(set, pages << EBBI_PAGE_SHIFT);
	/*
	 * Counted twice for a moment rather than not at all: whoever measures would take it for somebody else's. Who must not
	 * take too much for the heap's leaves out what is going.
	 */
	ebbi_fetch_add_relaxed(&large->going_pages, pages);
	if (ebbi_entry_kind(entry) == EBBI_KIND_RUN) {
		ebbi_pages_free(&large->store->pages, base, pages);
		ebbi_fetch_sub_relaxed(&large->run_pages, pages);
		ebbi_fetch_sub_relaxed(&large->going_pages, pages);
		return;
	}
	ebbi_pagemap_set(base, 0);
	kept = ebbi_entry_kind(entry) == EBBI_KIND_NESTED ? 0 : ebbi_retained_put(large, base, pages);
	if (kept < pages)
		unmap(large, base + ((uintptr_t)kept << EBBI_PAGE_SHIFT), pages - kept);
	ebbi_fetch_sub_relaxed(&large->mapping_pages, pages);
	ebbi_fetch_sub_relaxed(&large->going_pages, pages);
}

static bool run_resize_try(struct ebbi_large *large, uintptr_t base, size_t have, size_t pages)
{
	struct ebbi_pages *store = &large->store->pages;
	size_t more = pages > have ? pages - have : 0;

	/* Some of them may be resident: then there is more room than is taken here, until it is looked at again. */
	if (!ebbi_room_take_block(store, more))
		return false;
	if (more != 0 && !ebbi_pages_extend_try(store, base, have, more)) {
		ebbi_room_give(store, more);
		return false;
	}
	ebbi_pagemap_set(base, ebbi_entry_run(EBBI_KIND_RUN, pages));
	if (pages < have)
		ebbi_pages_free(store, base + ((uintptr_t)pages << EBBI_PAGE_SHIFT), have - pages);
	ebbi_fetch_add_relaxed(&large->run_pages, pages - have);
	return true;
}

static bool resize_try(struct ebbi_large *large, void *block, uint64_t entry, size_t pages, void **ret_block)
{
	size_t have = ebbi_entry_run_pages(entry);
	bool is_long = pages << EBBI_PAGE_SHIFT >= EBBI_MAPPING_LEAST;

	*ret_block = block;
	if (pages == have)
		return true;
	if (ebbi_entry_kind(entry) == EBBI_KIND_RUN)
		return !is_long && run_resize_try(large, (uintptr_t)block, have, pages);
	if (ebbi_entry_kind(entry) != EBBI_KIND_MAPPING || !is_long)
		return false;
	return mapping_resize_try(large, block, entry, pages, ret_block);
}

/* A block of a counted set stays one. */
static __attribute__((noinline)) bool resize_counted_try(struct ebbi_large *large, void *block, uint64_t entry,
							 size_t pages, void **ret_block)
{
	struct ebbi_set *set = set_of(large, entry);
	size_t have_bytes = ebbi_entry_run_pages(entry) << EBBI_PAGE_SHIFT;
	size_t more_bytes = ebbi_excess(pages << EBBI_PAGE_SHIFT, have_bytes);

	if (more_bytes != 0 && ebbi_set_take(set, more_bytes, more_bytes) == 0)
		return false;
	if (!resize_try(large, block, entry, pages, ret_block)) {
		ebbi_set_give(set, more_bytes);
		return false;
	}
	ebbi_large_assign(*ret_block, set, have_bytes + more_bytes);
	return true;
}

bool ebbi_large_resize_try(struct ebbi_large *large, void *block, uint64_t entry, size_t bytes, void **ret_block)
{
	size_t pages = pages_for(large, bytes);

	if (pages == 0)
		return false;
	if (EBBI_UNLIKELY(ebbi_entry_run_set(entry) != 0))
		return resize_counted_try(large, block, entry, pages, ret_block);
	return resize_try(large, block, entry, pages, ret_block);
}

bool ebbi_large_shrink_try(struct ebbi_large *large, void *block, uint64_t entry, size_t bytes, void **ret_block)
{
	size_t have = ebbi_entry_run_pages(entry);
	size_t pages = pages_for(large, bytes);
	struct ebbi_set *set = set_of(large, entry);
	bool done;

	*ret_block = block;
	if (pages == 0 || pages >= have)
		return false;
	if (ebbi_entry_kind(entry) == EBBI_KIND_RUN)
		done = run_resize_try(large, (uintptr_t)block, have, pages);
	else
		done = ebbi_entry_kind(entry) == EBBI_KIND_MAPPING &&
		       mapping_resize_try(large, block, entry, pages, ret_block);
	if (done && set != NULL)
		ebbi_large_assign(*ret_block, set, have << EBBI_PAGE_SHIFT);
	return done;
}
