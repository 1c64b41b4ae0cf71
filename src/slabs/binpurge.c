#include "slabs/binqueue.h"

/* A slab on its way through a purge: its free slots on `pages` are withdrawn. */
struct purging {
	struct ebbi_slab *slab;
	uint64_t pages;
	uint64_t done; /* the part of `pages` the kernel took */
};

/* One look at a bin's list. */
struct looking {
	size_t slabs; /* still to be looked at: those that were on the list when the look began */
	bool everything;
};

/*
 * Slabs that are looked at while the bin's lock is held once. Most have nothing to give back at their first
 * look, so a batch alone bounds nothing: a class that had become free in a gigabyte of slabs kept its lock for
 * half a millisecond (measuring build, program sparse), and longer in proportion.
 */
#define LOOKS_MOST 64u

/* Only whole pages of the kernel can be given back. */
static uint64_t whole_units(const struct ebbi_pages *pages, uint64_t holes)
{
	unsigned unit = (unsigned)pages->unit_pages;
	uint64_t whole = 0;

	if (unit == 1)
		return holes;
	for (unsigned page = 0; page < 64; page += unit) {
		uint64_t mask = ebbi_bit_range(page, unit);

		if ((holes & mask) == mask)
			whole |= mask;
	}
	return whole;
}

/* One slab: what can go now is withdrawn and returned, the rest is marked for the next look. */
static uint64_t look_locked(struct ebbi_store *store, struct ebbi_bin *bin, struct ebbi_slab *slab, bool everything,
			    size_t *ret_left)
{
	uint64_t holes = whole_units(&store->pages, ebbi_slab_holes(slab));
	uint64_t going = everything ? holes : whole_units(&store->pages, holes & ebbi_slab_aged(slab));
	unsigned count = ebbi_bit_count(holes & ~going);

	bin->hole_pages += count;
	bin->hole_pages -= slab->hole_pages;
	slab->hole_pages = (uint8_t)count;
	slab->marked = ebbi_slab_purged(slab) | (holes & ~going);
	ebbi_bin_looked_locked(bin, slab);
	*ret_left += count;
	if (count > 0)
		ebbi_bin_look_later_locked(bin, slab);
	if (going != 0) {
		bin->empty_slabs -= ebbi_slab_is_empty(slab);
		(void)ebbi_slab_withdraw(slab, going);
		ebbi_bin_requeue_locked(bin, slab);
	}
	return going;
}

/* Up to EBBI_PURGE_BATCH slabs with something to give back, from the first on the list. */
static unsigned collect_locked(struct ebbi_store *store, struct ebbi_bin *bin, struct looking *looking,
			       struct ebbi_list *leaving, struct purging batch[EBBI_PURGE_BATCH], size_t *ret_left)
{
	unsigned collected = 0;
	unsigned looked = 0;

	for (; looking->slabs > 0 && collected < EBBI_PURGE_BATCH && looked < LOOKS_MOST &&
	       !ebbi_list_is_empty(&bin->look);
	     looking->slabs--, looked++) {
		struct ebbi_slab *slab = EBBI_CONTAINER(bin->look.next, struct ebbi_slab, look);
		bool old = looking->everything || (slab->resident & ~slab->marked) == 0;

		if (ebbi_slab_is_empty(slab) && old) {
			/* The kept empty slab: to the pages layer, which gives its pages back. */
			ebbi_bin_drop_locked(bin, slab);
			ebbi_list_push_back(leaving, &slab->link);
			continue;
		}
		batch[collected] = (struct purging){.slab = slab};
		batch[collected].pages = look_locked(store, bin, slab, looking->everything, ret_left);
		collected += batch[collected].pages != 0;
	}
	return collected;
}

/* No lock is held. Whatever the kernel refused stays resident. */
static size_t purge_slab(struct ebbi_store *store, struct purging *purging)
{
	uint64_t left = purging->pages;
	size_t purged = 0;

	while (left != 0) {
		unsigned first = ebbi_bit_lowest(left);
		uint64_t behind = ~(left >> first);
		unsigned count = behind == 0 ? 64 - first : ebbi_bit_lowest(behind);
		uintptr_t start = purging->slab->base + ((uintptr_t)first << EBBI_PAGE_SHIFT);

		left &= ~ebbi_bit_range(first, count);
		if (!ebbi_pages_purge_stretch(&store->pages, start, count))
			continue;
		purging->done |= ebbi_bit_range(first, count);
		purged += count;
	}
	return purged;
}

/* Slots back into circulation; a slab that is empty now may leave. */
static void restore_locked(struct ebbi_bin *bin, const struct purging *purging, struct ebbi_list *leaving)
{
	struct ebbi_slab *slab = purging->slab;

	(void)ebbi_slab_restore(slab, purging->pages);
	slab->resident &= ~purging->done;
	slab->marked |= purging->done;
	bin->resident_pages -= ebbi_bit_count(purging->done);
	ebbi_bin_regain_locked(bin, slab, leaving);
}

/* One batch; false when all was looked at. */
static bool purge_batch(struct ebbi_store *store, struct ebbi_bin *bin, struct looking *looking, size_t *purged,
			size_t *ret_left)
{
	struct purging batch[EBBI_PURGE_BATCH];
	struct ebbi_list leaving;
	unsigned collected;
	bool more;

	ebbi_list_init(&leaving);
	ebbi_lock_acquire(&store->pages.purge_lock);
	ebbi_lock_acquire(&bin->lock);
	collected = collect_locked(store, bin, looking, &leaving, batch, ret_left);
	ebbi_lock_release(&bin->lock);
	for (unsigned i = 0; i < collected; i++)
		*purged += purge_slab(store, &batch[i]);
	ebbi_lock_acquire(&bin->lock);
	for (unsigned i = 0; i < collected; i++)
		restore_locked(bin, &batch[i], &leaving);
	more = looking->slabs > 0 && !ebbi_list_is_empty(&bin->look);
	ebbi_lock_release(&bin->lock);
	ebbi_bin_destroy_leaving(store, &leaving);
	ebbi_lock_release(&store->pages.purge_lock);
	return more;
}

size_t ebbi_bin_purge(struct ebbi_store *store, struct ebbi_bin *bin, bool everything, size_t *ret_left)
{
	struct looking looking = {.everything = everything};
	size_t purged = 0;

	ebbi_lock_acquire(&bin->lock);
	looking.slabs = bin->looks;
	ebbi_lock_release(&bin->lock);
	while (looking.slabs > 0 && purge_batch(store, bin, &looking, &purged, ret_left))
		;
	if (EBBI_PARANOID)
		ebbi_bin_check(bin);
	return purged;
}
