#include <string.h>

#include "slabs/binqueue.h"

/* Slabs that are visited while the bin's lock is held once. */
#define VISITS_MOST 64u

/* A walk over a bin's queues, each slab once: a visited one goes to the end of its queue. */
struct walk {
	unsigned queue;              /* of all parties' queues */
	const struct ebbi_list *end; /* the queue's first visited slab: never followed, since it may be gone */
	size_t budget;               /* visits, so that the walk ends whatever others do to the queues meanwhile */
};

/*
 * The descriptor goes to a lower page, if there is room. Who may have a pointer to it: the bin's lists, which the lock
 * guards; the entries of the slab's pages; a purge, which the purge lock keeps out; and a thread that read an entry and has
 * not got the bin's lock yet. That one finds bin->moves changed and reads again, for the count goes up behind the
 * entries: who sees the new count sees the new entries.
 */
static struct ebbi_slab *move_locked(struct ebbi_store *store, struct ebbi_bin *bin, struct ebbi_slab *slab)
{
	size_t bytes = ebbi_slab_descriptor_bytes(bin->size_class);
	struct ebbi_slab *moved = ebbi_meta_alloc_lower(&store->meta, slab, bytes);

	if (moved == NULL)
		return slab;
	memcpy(moved, slab, bytes);
	ebbi_list_replace(&slab->link, &moved->link);
	ebbi_list_replace(&slab->look, &moved->look);
	ebbi_slab_enter(store, bin, moved);
	ebbi_store_release(&bin->moves, bin->moves + 1); /* partner: the acquire in give_some() */
	slab->size_class = EBBI_CLASS_NONE;
	ebbi_meta_free(&store->meta, slab, bytes);
	return moved;
}

/* Up to VISITS_MOST visits; false when all was visited. */
static bool walk_locked(struct ebbi_store *store, struct ebbi_bin *bin, struct walk *walk)
{
	unsigned visits = 0;

	while (visits < VISITS_MOST && walk->budget > 0 && walk->queue < bin->parties * EBBI_BIN_QUEUES) {
		struct ebbi_list *queues = ebbi_bin_queues(bin, walk->queue / EBBI_BIN_QUEUES);
		struct ebbi_list *queue = &queues[walk->queue % EBBI_BIN_QUEUES];
		struct ebbi_slab *slab = EBBI_CONTAINER(queue->next, struct ebbi_slab, link);

		if (ebbi_list_is_empty(queue) || &slab->link == walk->end) {
			walk->queue++;
			walk->end = NULL;
			continue;
		}
		slab = move_locked(store, bin, slab);
		ebbi_list_remove(&slab->link);
		ebbi_list_push_back(queue, &slab->link);
		if (walk->end == NULL)
			walk->end = &slab->link;
		walk->budget--;
		visits++;
	}
	return visits == VISITS_MOST;
}

void ebbi_store_gather_metadata(struct ebbi_store *store)
{
	ebbi_lock_acquire(&store->pages.purge_lock);
	for (struct ebbi_bin *bin = NULL;
	     (bin = ebbi_store_next_bin(store, bin)) != NULL && ebbi_meta_is_sparse(&store->meta);) {
		struct walk walk = {0};
		bool more;

		do {
			ebbi_lock_acquire(&bin->lock);
			if (walk.budget == 0)
				walk.budget = bin->slabs;
			more = walk_locked(store, bin, &walk);
			ebbi_lock_release(&bin->lock);
		} while (more && walk.budget > 0);
	}
	ebbi_lock_release(&store->pages.purge_lock);
}
