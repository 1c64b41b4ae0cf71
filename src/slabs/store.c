#include "slabs/store.h"

#include "platform/vm.h"

/* `set` is zeroed memory. */
static void set_init(const struct ebbi_store *store, struct ebbi_set *set)
{
	set->limit_bytes = SIZE_MAX;
	for (unsigned size_class = 0; size_class < EBBI_CLASSES; size_class++) {
		struct ebbi_bin *bin = &set->bins[size_class];

		ebbi_lock_init(&bin->lock, EBBI_RANK_BIN);
		bin->size_class = size_class;
		bin->unit_pages = (unsigned)store->pages.unit_pages;
		bin->set = set;
		for (unsigned queue = 0; queue < EBBI_BIN_QUEUES; queue++)
			ebbi_list_init(&bin->queues[queue]);
		bin->others = set->others[size_class];
		bin->parties = 1;
		bin->empty_most = 1;
		ebbi_list_init(&bin->look);
	}
}

/* What the page map says of its slabs. */
static void set_number(struct ebbi_set *set, unsigned number)
{
	set->number = number;
	for (unsigned size_class = 0; size_class < EBBI_CLASSES; size_class++)
		set->bins[size_class].entry = ebbi_entry_bin(size_class, number);
}

void ebbi_store_init(struct ebbi_store *store, const struct ebbi_vm *vm, size_t page_bytes,
		     enum ebbi_huge_advice advice)
{
	ebbi_pages_init(&store->pages, vm, page_bytes, advice);
	ebbi_meta_init(&store->meta, vm, page_bytes);
	store->meta.pages = &store->pages;
	set_init(store, &store->home);
	set_number(&store->home, 0);
	store->sets[0] = &store->home;
}

struct ebbi_set *ebbi_set_create(struct ebbi_store *store)
{
	size_t bytes = ebbi_round_up(sizeof(struct ebbi_set), store->meta.page_bytes);
	struct ebbi_set *set = ebbi_meta_area(&store->meta, bytes);

	if (set != NULL)
		set_init(store, set);
	return set;
}

void ebbi_set_keep_nothing(struct ebbi_set *set)
{
	for (unsigned size_class = 0; size_class < EBBI_CLASSES; size_class++)
		set->bins[size_class].empty_most = 0;
}

void ebbi_store_add(struct ebbi_store *store, struct ebbi_set *set, unsigned number)
{
	set_number(set, number);
	ebbi_store_release(&store->sets[set->number], set); /* partner: ebbi_store_next_bin */
}

struct ebbi_bin *ebbi_store_next_bin(struct ebbi_store *store, struct ebbi_bin *bin)
{
	unsigned number = 0;

	if (bin != NULL && bin->size_class + 1 < EBBI_CLASSES)
		return bin + 1;
	if (bin != NULL)
		number = bin->set->number + 1;
	for (; number < EBBI_SETS; number++) {
		struct ebbi_set *set = ebbi_load_acquire(&store->sets[number]); /* partner: ebbi_store_add */

		if (set != NULL)
			return &set->bins[1];
	}
	return NULL;
}

size_t ebbi_set_take(struct ebbi_set *set, size_t bytes, size_t least)
{
	size_t limit = ebbi_load_relaxed(&set->limit_bytes);
	size_t peak = ebbi_load_relaxed(&set->peak_bytes);
	size_t taken = ebbi_load_relaxed(&set->taken_bytes);
	size_t fitting;

	/* Never counted first and taken off again: in between, others would be refused what there is room for. */
	do {
		fitting = bytes;
		if (EBBI_UNLIKELY(taken > limit || bytes > limit - taken))
			fitting = ebbi_excess(limit, taken) / least * least;
		if (fitting == 0)
			return 0;
	} while (!ebbi_cas_relaxed(&set->taken_bytes, &taken, taken + fitting));
	taken += fitting;
	while (taken > peak && !ebbi_cas_relaxed(&set->peak_bytes, &peak, taken))
		;
	return fitting;
}

size_t ebbi_store_resident_pages(struct ebbi_store *store)
{
	size_t pages = 0;

	for (struct ebbi_bin *bin = NULL; (bin = ebbi_store_next_bin(store, bin)) != NULL;) {
		ebbi_lock_acquire(&bin->lock);
		pages += bin->resident_pages;
		ebbi_lock_release(&bin->lock);
	}
	return pages;
}

size_t ebbi_store_purge_metadata(struct ebbi_store *store)
{
	size_t refused;
	size_t purged;

	ebbi_lock_acquire(&store->pages.purge_lock);
	purged = ebbi_meta_purge(&store->meta, &refused);
	ebbi_lock_release(&store->pages.purge_lock);
	if (purged > 0)
		ebbi_pages_count_purge(&store->pages, purged, /* done= */ true);
	if (refused > 0)
		ebbi_pages_count_purge(&store->pages, refused, /* done= */ false);
	return purged;
}
