#include "slabs/retained.h"

#include "pages/release.h"
#include "policy/budget.h"

/*
 * A retained mapping that is larger than what is asked for by more than a quarter is cut: the rest stays
 * retained, so that resident pages serve before fresh ones whatever the sizes are.
 */
#define WHOLE_PART 4u

/* Retained mappings may hold this many bytes, or an eighth of what lives in mappings, if that is more. */
#define RETAIN_BYTES ((size_t)32 << 20)
#define RETAIN_LIVE_PART 8u
#define KEEP_LEAST_PAGES ((size_t)256) /* of a mapping for which there is not enough room */

static uintptr_t end_of(const struct ebbi_retained *mapping)
{
	return mapping->base + ((uintptr_t)mapping->pages << EBBI_PAGE_SHIFT);
}

static void retained_remove_locked(struct ebbi_large *large, struct ebbi_retained *at)
{
	ebbi_counter_sub(&large->retained_pages, at->pages);
	*at = large->retained[--large->retained_count];
}

/* Its first `pages` leave the list. */
static void retained_cut_locked(struct ebbi_large *large, struct ebbi_retained *at, size_t pages)
{
	if (pages == at->pages) {
		retained_remove_locked(large, at);
		return;
	}
	ebbi_counter_sub(&large->retained_pages, pages);
	at->base += (uintptr_t)pages << EBBI_PAGE_SHIFT;
	at->pages -= pages;
}

/* Of two retained mappings: the smaller one that serves, or else the larger. */
static bool is_better(const struct ebbi_retained *at, const struct ebbi_retained *best, size_t pages)
{
	if (best == NULL)
		return true;
	return at->pages >= pages ? best->pages < pages || at->pages < best->pages : at->pages > best->pages;
}

bool ebbi_retained_take(struct ebbi_large *large, size_t pages, size_t least, size_t align_bytes,
			struct ebbi_retained *ret_mapping)
{
	struct ebbi_retained *best = NULL;

	ebbi_lock_acquire(&large->lock);
	for (unsigned i = 0; i < large->retained_count; i++) {
		struct ebbi_retained *at = &large->retained[i];

		if (at->pages >= least && (at->base & (align_bytes - 1)) == 0 && is_better(at, best, pages))
			best = at;
	}
	if (best != NULL) {
		*ret_mapping = *best;
		if (best->pages > pages && best->pages - pages > pages / WHOLE_PART)
			ret_mapping->pages = pages;
		retained_cut_locked(large, best, ret_mapping->pages);
	}
	ebbi_lock_release(&large->lock);
	return best != NULL;
}

bool ebbi_retained_take_at(struct ebbi_large *large, uintptr_t base, size_t pages)
{
	bool taken = false;

	ebbi_lock_acquire(&large->lock);
	for (unsigned i = 0; i < large->retained_count && !taken; i++) {
		struct ebbi_retained *at = &large->retained[i];

		taken = at->base == base && at->pages >= pages;
		if (taken)
			retained_cut_locked(large, at, pages);
	}
	ebbi_lock_release(&large->lock);
	return taken;
}

/*
 * Unite it with its retained neighbours: what was cut shall serve large requests again. Not with aged ones: the
 * rest of a mapping whose first part is in constant use shall go back. Where the kernel has two mappings
 * there, mremap refuses to move a block over both, and the caller copies.
 */
static void retained_merge_locked(struct ebbi_large *large, struct ebbi_retained *mapping)
{
	for (unsigned i = 0; i < large->retained_count;) {
		struct ebbi_retained *at = &large->retained[i];

		if (at->aged || (end_of(at) != mapping->base && at->base != end_of(mapping))) {
			i++;
			continue;
		}
		mapping->base = at->base < mapping->base ? at->base : mapping->base;
		mapping->pages += at->pages;
		retained_remove_locked(large, at);
		i = 0;
	}
}

size_t ebbi_retained_put(struct ebbi_large *large, uintptr_t base, size_t pages)
{
	struct ebbi_retained mapping = {base, pages, /* aged= */ false};
	size_t unit = large->store->pages.unit_pages;
	size_t kept = 0;
	size_t room;
	size_t most = ebbi_max_size(RETAIN_BYTES >> EBBI_PAGE_SHIFT,
				    ebbi_load_relaxed(&large->mapping_pages) / RETAIN_LIVE_PART);

	most = ebbi_policy_under_pressure(most, ebbi_load_relaxed(&large->store->pages.pressure));

	ebbi_lock_acquire(&large->lock);
	room = most > large->retained_pages ? most - large->retained_pages : 0;
	mapping.pages = pages <= room ? pages : room / unit * unit;
	if (mapping.pages >= ebbi_min_size(pages, KEEP_LEAST_PAGES)) {
		kept = mapping.pages;
		retained_merge_locked(large, &mapping);
		/* There is room after a merge; without one, perhaps not. */
		if (large->retained_count < EBBI_RETAIN_SLOTS) {
			large->retained[large->retained_count++] = mapping;
			ebbi_counter_add(&large->retained_pages, mapping.pages);
		} else {
			kept = 0;
		}
	}
	ebbi_lock_release(&large->lock);
	return kept;
}

size_t ebbi_large_purge(struct ebbi_large *large, bool everything, size_t *ret_left)
{
	struct ebbi_retained going[EBBI_RETAIN_SLOTS];
	unsigned count = 0;
	size_t purged = 0;

	ebbi_lock_acquire(&large->store->pages.purge_lock);
	ebbi_lock_acquire(&large->lock);
	for (unsigned i = 0; i < large->retained_count;) {
		struct ebbi_retained *at = &large->retained[i];

		if (!everything && !at->aged) {
			at->aged = true;
			i++;
			continue;
		}
		going[count++] = *at;
		retained_remove_locked(large, at);
	}
	*ret_left += large->retained_pages;
	ebbi_lock_release(&large->lock);
	for (unsigned i = 0; i < count; i++) {
		ebbi_pages_dissolve(&large->store->pages, going[i].base, going[i].pages);
		purged += going[i].pages;
	}
	ebbi_lock_release(&large->store->pages.purge_lock);
	return purged;
}
