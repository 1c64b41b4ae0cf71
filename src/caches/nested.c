#include "caches/nested.h"

void *ebbi_nested_take(struct ebbi_cache *cache)
{
	for (unsigned i = EBBI_SPARES_MOST; i-- > 0;) {
		void **spare = &cache->home.shelf->spares[i];
		void *page = ebbi_load_relaxed(spare);

		/* A handler of this handler may have been quicker: then the exchange finds nothing. */
		if (page == NULL)
			continue;
		page = ebbi_exchange_relaxed(spare, (void *)NULL);
		if (page == NULL)
			continue;
		ebbi_pagemap_set((uintptr_t)page, ebbi_entry_run(EBBI_KIND_NESTED, 1));
		return page;
	}
	return NULL;
}

bool ebbi_nested_keep(struct ebbi_cache *cache, void *block, uint64_t entry)
{
	if (ebbi_entry_kind(entry) != EBBI_KIND_NESTED || ebbi_entry_run_pages(entry) != 1)
		return false;
	for (unsigned i = 0; i < EBBI_SPARES_MOST; i++) {
		void **spare = &cache->home.shelf->spares[i];

		/* Only we fill places; a handler may empty others meanwhile. */
		if (ebbi_load_relaxed(spare) != NULL)
			continue;
		ebbi_pagemap_set((uintptr_t)block, 0);
		ebbi_store_relaxed(spare, block);
		return true;
	}
	return false;
}

unsigned ebbi_nested_count(const struct ebbi_cache *cache)
{
	unsigned count = 0;

	for (unsigned i = 0; i < EBBI_SPARES_MOST; i++)
		count += ebbi_load_relaxed(&cache->home.shelf->spares[i]) != NULL;
	return count;
}

void ebbi_nested_release(struct ebbi_registry *registry, struct ebbi_cache *cache)
{
	void *page;

	while ((page = ebbi_nested_take(cache)) != NULL)
		ebbi_large_free(registry->large, page, ebbi_entry_run(EBBI_KIND_NESTED, 1));
}
