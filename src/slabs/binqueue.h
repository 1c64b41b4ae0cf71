/*
 * binqueue.h: a bin's lists, for the files of this layer.
 *
 * Owns: which list a slab is on. Never: calls the kernel, except in the two destroy functions, which
 * need no lock. Threading: `_locked` needs the bin's lock. Errors: none.
 */
#ifndef EBBI_SLABS_BINQUEUE_H
#define EBBI_SLABS_BINQUEUE_H

#include "slabs/store.h"

/* The queues of a party, which must be below bin->parties. */
static inline struct ebbi_list *ebbi_bin_queues(struct ebbi_bin *bin, unsigned party)
{
	return party == 0 ? bin->queues : bin->others[party - 1];
}

/* A slab joins the bin; the caller counts it in empty_slabs when it is empty. */
void ebbi_bin_add_locked(struct ebbi_bin *bin, struct ebbi_slab *slab);
/* An empty slab leaves the bin. */
void ebbi_bin_drop_locked(struct ebbi_bin *bin, struct ebbi_slab *slab);
/* To the queue that its number of free slots says. */
void ebbi_bin_requeue_locked(struct ebbi_bin *bin, struct ebbi_slab *slab);
/*
 * After slots became free in `slab`: to the right queue, or, when it is empty now and another empty one
 * is kept already, off the bin and onto `leaving`.
 */
void ebbi_bin_regain_locked(struct ebbi_bin *bin, struct ebbi_slab *slab, struct ebbi_list *leaving);
/* Onto the list of slabs that the next ebbi_bin_purge looks at. */
void ebbi_bin_look_later_locked(struct ebbi_bin *bin, struct ebbi_slab *slab);
/* Off that list. */
void ebbi_bin_looked_locked(struct ebbi_bin *bin, struct ebbi_slab *slab);

/* 4 KiB pages in the span of such a slab. */
static inline size_t ebbi_slab_span_pages(const struct ebbi_store *store, unsigned size_class)
{
	return ebbi_pages_round(&store->pages, ebbi_sizes[size_class].slab_pages);
}

/* The page map's entries of the slab of this bin. */
void ebbi_slab_enter(const struct ebbi_store *store, const struct ebbi_bin *bin, const struct ebbi_slab *slab);

/* Span to the pages layer, descriptor to the metadata. The slab is on no list. */
void ebbi_slab_destroy(struct ebbi_store *store, struct ebbi_slab *slab);
/* All slabs linked to `leaving`. */
void ebbi_bin_destroy_leaving(struct ebbi_store *store, struct ebbi_list *leaving);

#endif
