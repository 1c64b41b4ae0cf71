#include <errno.h>

#include "slabs/binqueue.h"

/* Pages of a claim: 16 KiB of slots, or one of up to 32 KiB, and where it begins. */
#define CLAIM_PAGES_MOST 10u

/* Slabs that are searched for resident slots where there is no room for pages that are not. */
#define SEARCH_MOST 64u

/* A new slab, all slots free, on no queue. No lock is held. */
static struct ebbi_slab *slab_create(struct ebbi_store *store, const struct ebbi_bin *bin)
{
	unsigned size_class = bin->size_class;
	size_t pages = ebbi_slab_span_pages(store, size_class);
	struct ebbi_slab *slab = ebbi_meta_alloc(&store->meta, ebbi_slab_descriptor_bytes(size_class), EBBI_META_BRIEF);
	uintptr_t base;

	if (slab == NULL)
		return NULL;
	if (ebbi_pages_alloc(&store->pages, pages, 1, &base) != 0) {
		ebbi_meta_free(&store->meta, slab, ebbi_slab_descriptor_bytes(size_class));
		return NULL;
	}
	ebbi_slab_init(slab, size_class, base);
	slab->resident = ebbi_pagemap_bits_load(EBBI_PAGE_RESIDENT, base, (unsigned)pages);
	slab->marked = ebbi_pagemap_bits_load(EBBI_PAGE_PURGED, base, (unsigned)pages) & ~slab->resident;
	ebbi_slab_enter(store, bin, slab);
	return slab;
}

static bool is_parted(const struct ebbi_bin *bin)
{
	return bin->slabs >= EBBI_BIN_PARTED_SLABS;
}

/* The party of a taker, which from now on may have slabs. */
static unsigned party_locked(struct ebbi_bin *bin, unsigned taker)
{
	unsigned party = is_parted(bin) ? taker % EBBI_BIN_PARTIES : 0;

	for (; bin->parties <= party; bin->parties++)
		for (unsigned queue = 0; queue < EBBI_BIN_QUEUES; queue++)
			ebbi_list_init(&bin->others[bin->parties - 1][queue]);
	return party;
}

/* The last slab of a queue; of the fullest queue of a party that is busy with its first slab, not that one. */
static struct ebbi_slab *spare_locked(struct ebbi_bin *bin, unsigned party, unsigned queue)
{
	struct ebbi_list *queues = ebbi_bin_queues(bin, party);
	struct ebbi_list *last = queues[queue].prev;
	bool is_first = last == queues[queue].next;

	if (ebbi_list_is_empty(&queues[queue]))
		return NULL;
	for (unsigned fuller = 0; fuller < queue && is_first; fuller++)
		is_first = ebbi_list_is_empty(&queues[fuller]);
	return is_first && is_parted(bin) ? NULL : EBBI_CONTAINER(last, struct ebbi_slab, link);
}

/* A slab of another party becomes one of `party`. */
static struct ebbi_slab *take_over_locked(struct ebbi_bin *bin, unsigned party)
{
	for (unsigned queue = 0; queue < EBBI_BIN_QUEUES; queue++) {
		for (unsigned other = 0; other < bin->parties; other++) {
			struct ebbi_slab *slab = other == party ? NULL : spare_locked(bin, other, queue);

			if (slab == NULL)
				continue;
			slab->party = party & 0xf;
			ebbi_list_remove(&slab->link);
			ebbi_list_push_front(&ebbi_bin_queues(bin, party)[queue], &slab->link);
			return slab;
		}
	}
	return NULL;
}

static struct ebbi_slab *fullest_locked(struct ebbi_bin *bin, unsigned party)
{
	struct ebbi_list *queues = ebbi_bin_queues(bin, party);

	for (unsigned queue = 0; queue < EBBI_BIN_QUEUES; queue++)
		if (!ebbi_list_is_empty(&queues[queue]))
			return EBBI_CONTAINER(queues[queue].next, struct ebbi_slab, link);
	return bin->parties > 1 ? take_over_locked(bin, party) : NULL;
}

/* The fullest slab of a party that has a slot on resident pages, among the first. */
static struct ebbi_slab *resident_of_party_locked(struct ebbi_bin *bin, unsigned party)
{
	unsigned searched = 0;

	for (unsigned queue = 0; queue < EBBI_BIN_QUEUES; queue++) {
		struct ebbi_list *head = &ebbi_bin_queues(bin, party)[queue];

		for (struct ebbi_list *at = head->next; at != head && searched < SEARCH_MOST;
		     at = at->next, searched++) {
			struct ebbi_slab *slab = EBBI_CONTAINER(at, struct ebbi_slab, link);

			if (ebbi_slab_has_resident(slab))
				return slab;
		}
	}
	return NULL;
}

/* Of any party: memory is scarcer than time. */
static struct ebbi_slab *resident_locked(struct ebbi_bin *bin, unsigned party)
{
	struct ebbi_slab *slab = resident_of_party_locked(bin, party);

	for (unsigned other = 0; other < bin->parties && slab == NULL; other++)
		slab = resident_of_party_locked(bin, other);
	return slab;
}

/* What may be claimed: pages that are not resident only as long as there is room for those of any claim. */
static enum ebbi_claim_of claim_of(const struct ebbi_store *store, unsigned size_class)
{
	size_t room = ebbi_load_relaxed(&store->pages.room_pages);

	if (EBBI_LIKELY(room == EBBI_ROOM_WITHOUT_END))
		return EBBI_CLAIM_ANY;
	room -= ebbi_min_size(room, ebbi_room_rest(&store->pages, ebbi_sizes[size_class].bytes));
	return room >= CLAIM_PAGES_MOST * store->pages.unit_pages ? EBBI_CLAIM_ANY : EBBI_CLAIM_RESIDENT;
}

/* Where the kernel's page is larger than ours, using a part of it makes all of it resident and young. */
static void widen_use(struct ebbi_slab *slab, unsigned unit_pages)
{
	for (unsigned page = 0; page < 64; page += unit_pages) {
		uint64_t unit = ebbi_bit_range(page, unit_pages);

		if ((slab->resident & unit) == 0)
			continue;
		if ((ebbi_slab_aged(slab) & unit) != unit)
			slab->marked &= ~unit;
		slab->resident |= unit;
	}
}

/* Claim up to `wanted` slots of one word; returns how many. */
static unsigned claim_locked(struct ebbi_store *store, struct ebbi_bin *bin, struct ebbi_slab *slab,
			     enum ebbi_claim_of of, unsigned wanted, struct ebbi_taking *taking)
{
	bool was_empty = ebbi_slab_is_empty(slab);
	uint64_t resident = slab->resident;
	unsigned before = slab->nfree;
	unsigned refaults;
	unsigned word = ebbi_slab_claim(slab, of, wanted, &taking->bits, &refaults);
	unsigned got = before - slab->nfree;

	if (EBBI_UNLIKELY(bin->unit_pages > 1))
		widen_use(slab, bin->unit_pages);
	taking->base = (char *)slab->base + (size_t)word * 64 * ebbi_sizes[slab->size_class].bytes;
	bin->empty_slabs -= was_empty;
	bin->used_slots += got;
	if (slab->resident != resident) {
		bin->resident_pages += ebbi_bit_count(slab->resident & ~resident);
		ebbi_room_use(&store->pages, ebbi_bit_count(slab->resident & ~resident));
	}
	ebbi_counter_add(&bin->refault_pages, refaults);
	ebbi_bin_requeue_locked(bin, slab);
	if (EBBI_PARANOID)
		ebbi_slab_check(slab);
	return got;
}

/*
 * The slots of the claim as pointers, which are quicker to hand out one by one (36 instructions in place of 43).
 * Highest first: the cache is a stack, so the lowest address is handed out first.
 */
static void unpack(struct ebbi_taking *taking, size_t bytes)
{
	void **slots = taking->slots + taking->count;
	uint64_t bits = taking->bits;

	taking->count += ebbi_bit_count(bits);
	taking->bits = 0;
	if (bits == UINT64_MAX) {
		for (unsigned bit = 64; bit-- > 0;)
			*slots++ = taking->base + bit * bytes;
		return;
	}
	for (; bits != 0; bits &= ~((uint64_t)1 << ebbi_bit_highest(bits)))
		*slots++ = taking->base + ebbi_bit_highest(bits) * bytes;
}

static void take_locked(struct ebbi_store *store, struct ebbi_bin *bin, unsigned party, unsigned wanted,
			struct ebbi_taking *taking)
{
	size_t bytes = ebbi_sizes[bin->size_class].bytes;

	while (wanted > 0) {
		enum ebbi_claim_of of = claim_of(store, bin->size_class);
		struct ebbi_slab *slab =
			of == EBBI_CLAIM_ANY ? fullest_locked(bin, party) : resident_locked(bin, party);
		unsigned got;

		if (slab == NULL)
			return;
		got = claim_locked(store, bin, slab, of, wanted, taking);
		if (got > taking->room - taking->count)
			return;
		wanted -= got;
		unpack(taking, bytes);
	}
}

static unsigned taken(const struct ebbi_taking *taking)
{
	return taking->count + ebbi_bit_count(taking->bits);
}

/* With a slab of its own, where no other has a slot. */
static int take_from_new(struct ebbi_store *store, struct ebbi_bin *bin, unsigned wanted, struct ebbi_taking *taking)
{
	struct ebbi_slab *slab = slab_create(store, bin);
	unsigned party;

	if (slab == NULL)
		return -ENOMEM;
	if (claim_of(store, bin->size_class) == EBBI_CLAIM_RESIDENT && !ebbi_slab_has_resident(slab)) {
		ebbi_slab_destroy(store, slab);
		return -ENOMEM;
	}
	ebbi_lock_acquire(&bin->lock);
	bin->empty_slabs++;
	party = party_locked(bin, taking->taker);
	slab->party = party & 0xf;
	ebbi_bin_add_locked(bin, slab);
	take_locked(store, bin, party, wanted, taking);
	ebbi_lock_release(&bin->lock);
	/* The room may have gone between two looks at it. */
	return taken(taking) > 0 ? 0 : -ENOMEM;
}

static int take(struct ebbi_store *store, struct ebbi_bin *bin, unsigned wanted, struct ebbi_taking *taking)
{
	ebbi_lock_acquire(&bin->lock);
	ebbi_counter_add(&bin->refills, 1u);
	take_locked(store, bin, party_locked(bin, taking->taker), wanted, taking);
	ebbi_lock_release(&bin->lock);
	return EBBI_LIKELY(taken(taking) > 0) ? 0 : take_from_new(store, bin, wanted, taking);
}

/* As many as the limit of the set allows. */
static __attribute__((noinline)) int take_counted(struct ebbi_store *store, struct ebbi_bin *bin,
						  struct ebbi_taking *taking)
{
	size_t bytes = ebbi_sizes[bin->size_class].bytes;
	size_t allowed = ebbi_set_take(bin->set, taking->wanted * bytes, bytes);
	int error = allowed == 0 ? -EDQUOT : take(store, bin, (unsigned)(allowed / bytes), taking);

	ebbi_set_give(bin->set, allowed - taken(taking) * bytes);
	return error;
}

int ebbi_bin_take(struct ebbi_store *store, struct ebbi_bin *bin, struct ebbi_taking *taking)
{
	taking->count = 0;
	taking->bits = 0;
	taking->base = NULL;
	if (EBBI_UNLIKELY(ebbi_set_is_counted(bin->set)))
		return take_counted(store, bin, taking);
	return take(store, bin, taking->wanted, taking);
}

void *ebbi_bin_take_one(struct ebbi_store *store, struct ebbi_bin *bin)
{
	/* Without room for pointers it is a claim of one. */
	struct ebbi_taking taking = {.wanted = 1};

	if (ebbi_bin_take(store, bin, &taking) != 0)
		return NULL;
	return taking.base + ebbi_bit_lowest(taking.bits) * (size_t)ebbi_sizes[bin->size_class].bytes;
}
