/*
 * store.h: the sets of bins, and what they stand on.
 *
 * Owns: struct ebbi_store: the pages, the metadata, and sets of bins. The first set serves whoever does not ask for
 * another one. The others are counted: how many bytes left their bins, and how many lie in large blocks of theirs, is known
 * at any moment and has a limit. Which set a slot or a block belongs to stands in the page map.
 *
 * Never: knows what a set is for (heap/account.h does), takes a set away again.
 * Threading: any thread; sets are added one at a time. Errors: NULL without memory.
 */
#ifndef EBBI_SLABS_STORE_H
#define EBBI_SLABS_STORE_H

#include "pages/meta.h"
#include "pages/pages.h"
#include "slabs/bin.h"

/* A bin for each class. */
struct ebbi_set {
	struct ebbi_bin bins[EBBI_CLASSES];
	struct ebbi_list others[EBBI_CLASSES][EBBI_BIN_PARTIES - 1][EBBI_BIN_QUEUES]; /* guarded by the bin's lock */
	unsigned number;                                                              /* set at birth */
	size_t taken_bytes; /* relaxed; of the first set not counted, as the next two */
	size_t peak_bytes;  /* relaxed: the highest taken_bytes so far */
	size_t limit_bytes; /* relaxed: nothing is taken beyond; SIZE_MAX: none */
};

struct ebbi_store {
	struct ebbi_pages pages;
	struct ebbi_meta meta;
	struct ebbi_set home;             /* the first set */
	struct ebbi_set *sets[EBBI_SETS]; /* by number; release when one is added, acquire when they are walked */
};

/* Called once, before any other thread may use `store`. Makes no kernel call. */
void ebbi_store_init(struct ebbi_store *store, const struct ebbi_vm *vm, size_t page_bytes,
		     enum ebbi_huge_advice advice);

/* Another set, not yet in the store. NULL when there is no memory. A kernel call. */
struct ebbi_set *ebbi_set_create(struct ebbi_store *store);

/* Its bins keep no empty slab: for a set of few blocks. Before it is in the store. */
void ebbi_set_keep_nothing(struct ebbi_set *set);

/* Into the store. The caller sees to it that the number is free, and that no fork is under way. */
void ebbi_store_add(struct ebbi_store *store, struct ebbi_set *set, unsigned number);

/* The bin behind `bin`, set by set; behind NULL the first. NULL: that was the last. */
struct ebbi_bin *ebbi_store_next_bin(struct ebbi_store *store, struct ebbi_bin *bin);

/* The bin that a slab's entry names. */
static inline struct ebbi_bin *ebbi_store_bin(struct ebbi_store *store, uint64_t entry)
{
	/* Whoever has a slot of a set knows of the set. */
	struct ebbi_set *set = ebbi_load_relaxed(&store->sets[ebbi_entry_set(entry)]);

	return &set->bins[ebbi_entry_kind(entry)];
}

static inline bool ebbi_set_is_counted(const struct ebbi_set *set)
{
	return set->number != 0;
}

/*
 * Count `bytes` that leave a counted set, `least` of them at least: as many multiples of `least` as the limit has room
 * for. Returns how many bytes that are.
 */
size_t ebbi_set_take(struct ebbi_set *set, size_t bytes, size_t least);

/* They came back. */
static inline void ebbi_set_give(struct ebbi_set *set, size_t bytes)
{
	ebbi_fetch_sub_relaxed(&set->taken_bytes, bytes);
}

/*
 * Where descriptors lie sparsely, move those of slabs with a free slot together, so that pages of them become free. For a
 * program at rest: it walks over all such slabs.
 */
void ebbi_store_gather_metadata(struct ebbi_store *store);

/* Give back the pages of descriptors that are all free. Returns how many. */
size_t ebbi_store_purge_metadata(struct ebbi_store *store);

/* Resident pages in the slabs of all bins. Takes their locks one after another. */
size_t ebbi_store_resident_pages(struct ebbi_store *store);

#endif
