#include "caches/nested.h"

#define SPARE_MOST 64u

void *ebbi_nested_take(struct ebbi_cache *cache)
{
	void *page = ebbi_load_relaxed(&cache->spare);

	/* A handler of a handler may pop in between: then the head has changed. */
	while (page != NULL && !ebbi_cas_relaxed(&cache->spare, &page, ebbi_load_relaxed((void **)page)))
		;
	if (page != NULL) {
		ebbi_fetch_sub_relaxed(&cache->spare_count, 1);
		ebbi_pagemap_set((uintptr_t)page, ebbi_entry_run(EBBI_KIND_NESTED, 1));
	}
	return page;
}

bool ebbi_nested_keep(struct ebbi_cache *cache, void *block, uint64_t entry)
{
	void *head = ebbi_load_relaxed(&cache->spare);

	if (ebbi_entry_kind(entry) != EBBI_KIND_NESTED || ebbi_entry_run_pages(entry) != 1 ||
	    ebbi_load_relaxed(&cache->spare_count) >= SPARE_MOST)
		return false;
	ebbi_pagemap_set((uintptr_t)block, 0);
	ebbi_fetch_add_relaxed(&cache->spare_count, 1);
	do
		ebbi_store_relaxed((void **)block, head);
	while (!ebbi_cas_relaxed(&cache->spare, &head, block));
	return true;
}

void ebbi_nested_release(struct ebbi_registry *registry, struct ebbi_cache *cache)
{
	void *page;

	while ((page = ebbi_nested_take(cache)) != NULL)
		ebbi_large_free(registry->large, page, ebbi_entry_run(EBBI_KIND_NESTED, 1));
}
