#include "slabs/bin.h"

#include "platform/report.h"
#include "slabs/binqueue.h"

void ebbi_slab_enter(const struct ebbi_store *store, const struct ebbi_bin *bin, const struct ebbi_slab *slab)
{
	uint64_t entry = ebbi_entry_slab(slab, slab->base, bin->entry);
	size_t pages = ebbi_slab_span_pages(store, bin->size_class);

	for (size_t page = 0; page < pages; page++)
		ebbi_pagemap_set(slab->base + ((uintptr_t)page << EBBI_PAGE_SHIFT), entry);
}

void ebbi_slab_destroy(struct ebbi_store *store, struct ebbi_slab *slab)
{
	size_t bytes = ebbi_slab_descriptor_bytes(slab->size_class);

	ebbi_pages_free_known(&store->pages, slab->base, (unsigned)ebbi_slab_span_pages(store, slab->size_class),
			      slab->resident, ebbi_slab_aged(slab), ebbi_slab_purged(slab));
	/* Whoever still has a pointer to the descriptor, from a slot freed twice, must find it dead. */
	slab->size_class = EBBI_CLASS_NONE;
	ebbi_meta_free(&store->meta, slab, bytes);
}

static bool is_looked_at(const struct ebbi_slab *slab)
{
	return !ebbi_list_is_empty(&slab->look);
}

void ebbi_bin_add_locked(struct ebbi_bin *bin, struct ebbi_slab *slab)
{
	bin->slabs++;
	bin->resident_pages += ebbi_bit_count(slab->resident);
	ebbi_bin_requeue_locked(bin, slab);
	ebbi_bin_look_later_locked(bin, slab);
}

void ebbi_bin_drop_locked(struct ebbi_bin *bin, struct ebbi_slab *slab)
{
	if (slab->queue != EBBI_SLAB_QUEUE_NONE)
		bin->empty_slabs--;
	ebbi_list_remove(&slab->link);
	bin->looks -= is_looked_at(slab);
	ebbi_list_remove(&slab->look);
	bin->slabs--;
	bin->resident_pages -= ebbi_bit_count(slab->resident);
	bin->hole_pages -= slab->hole_pages;
}

/*
 * Slots become free one by one, and the bin cares rarely: when the slab belongs on the next queue, when
 * it is empty, and at the first one after a look.
 */
static void plan_settling(struct ebbi_slab *slab)
{
	unsigned slots = ebbi_sizes[slab->size_class].slots;

	if (slab->queue == EBBI_SLAB_QUEUE_NONE || !is_looked_at(slab))
		slab->settle_at = 0;
	else
		slab->settle_at = (uint16_t)ebbi_divide_up((slab->queue + 1u) * slots, EBBI_BIN_QUEUES);
}

void ebbi_bin_requeue_locked(struct ebbi_bin *bin, struct ebbi_slab *slab)
{
	unsigned slots = ebbi_sizes[slab->size_class].slots;
	unsigned queue = EBBI_SLAB_QUEUE_NONE;

	if (slab->nfree > 0)
		queue = slab->nfree == slots ? EBBI_BIN_QUEUES - 1 : slab->nfree * EBBI_BIN_QUEUES / slots;
	if (queue == slab->queue)
		return;
	ebbi_list_remove(&slab->link);
	slab->queue = queue & 0xf;
	plan_settling(slab);
	if (queue != EBBI_SLAB_QUEUE_NONE)
		ebbi_list_push_front(&ebbi_bin_queues(bin, slab->party)[queue], &slab->link);
}

void ebbi_bin_look_later_locked(struct ebbi_bin *bin, struct ebbi_slab *slab)
{
	if (is_looked_at(slab))
		return;
	ebbi_list_push_back(&bin->look, &slab->look);
	bin->looks++;
	plan_settling(slab);
}

void ebbi_bin_looked_locked(struct ebbi_bin *bin, struct ebbi_slab *slab)
{
	bin->looks -= is_looked_at(slab);
	ebbi_list_remove(&slab->look);
	plan_settling(slab);
}

void ebbi_bin_regain_locked(struct ebbi_bin *bin, struct ebbi_slab *slab, struct ebbi_list *leaving)
{
	ebbi_bin_requeue_locked(bin, slab);
	if (!ebbi_slab_is_empty(slab))
		return;
	bin->empty_slabs++;
	if (bin->empty_slabs > bin->empty_most) {
		ebbi_bin_drop_locked(bin, slab);
		ebbi_list_push_back(leaving, &slab->link);
	}
}

void ebbi_bin_destroy_leaving(struct ebbi_store *store, struct ebbi_list *leaving)
{
	while (!ebbi_list_is_empty(leaving)) {
		struct ebbi_slab *slab = EBBI_CONTAINER(leaving->next, struct ebbi_slab, link);

		ebbi_list_remove(&slab->link);
		ebbi_slab_destroy(store, slab);
	}
}

/* The slots of one word become free together: one test, one store, one look at the queues. */
static inline void put_word_locked(struct ebbi_bin *bin, struct ebbi_slab *slab, unsigned word, uint64_t bits,
				   struct ebbi_list *leaving)
{
	uint64_t twice = ebbi_slab_put_word(slab, word, bits);

	if (EBBI_UNLIKELY(twice != 0)) {
		size_t bytes = ebbi_sizes[bin->size_class].bytes;

		ebbi_report_free_slot("free", (char *)slab->base + (word * 64 + ebbi_bit_lowest(twice)) * bytes, bytes);
	}
	if (EBBI_PARANOID)
		ebbi_slab_check(slab);
	if (EBBI_UNLIKELY(slab->nfree >= slab->settle_at)) {
		ebbi_bin_look_later_locked(bin, slab);
		ebbi_bin_regain_locked(bin, slab, leaving);
	}
}

/* Slots of one word of a slab's bitmap that become free together. */
struct batch {
	struct ebbi_slab *slab;
	const void *first; /* of them, for a report */
	uint64_t bits;
	unsigned word;
};

/*
 * Sort slots into words, neighbours in time being often neighbours in space; before the lock is taken, so that
 * the misses overlap and none of them is paid under the lock. A slot twice in one row opens a new batch, so that
 * it is found free by the next one. Returns the number of batches.
 */
static unsigned sort_slots(const struct ebbi_bin *bin, void *const *slots, unsigned count, struct batch *batches)
{
	const struct ebbi_size *size = &ebbi_sizes[bin->size_class];
	const uint32_t magic = size->magic;
	const uint32_t slab_bytes = size->slots * size->bytes;
	struct ebbi_slab *slab = NULL;
	uintptr_t base = 0;
	struct batch *batch = batches;
	struct batch *next = batches;
	uint64_t bits = 0; /* of the last batch; 0: the next slot opens one */

	for (unsigned i = 0; i < count; i++) {
		uintptr_t offset = (uintptr_t)slots[i] - base;
		unsigned index;

		if (offset >= slab_bytes) {
			uint64_t entry = ebbi_pagemap_get((uintptr_t)slots[i]);

			/* Freed twice, and its slab was given up after the first time. */
			if (EBBI_UNLIKELY((entry & EBBI_ENTRY_BIN) != bin->entry))
				ebbi_report_free_slot("free", slots[i], size->bytes);
			offset = ebbi_entry_slab_offset(ebbi_entry_plain(entry), (uintptr_t)slots[i]);
			base = (uintptr_t)slots[i] - offset;
			slab = ebbi_entry_slab_pointer(entry);
			__builtin_prefetch(slab, 1);
			bits = 0;
		}
		index = (uint32_t)((uint64_t)offset * magic >> 32);
		if (bits == 0 || batch->word != index / 64 || EBBI_UNLIKELY((bits >> index % 64 & 1) != 0)) {
			batch = next++;
			batch->slab = slab;
			batch->first = slots[i];
			batch->word = index / 64;
			bits = 0;
		}
		bits |= (uint64_t)1 << index % 64;
		batch->bits = bits;
	}
	return (unsigned)(next - batches);
}

/* Slots of a counted set came back. */
static void uncount(const struct ebbi_bin *bin, unsigned slots)
{
	if (ebbi_set_is_counted(bin->set))
		ebbi_set_give(bin->set, slots * (size_t)ebbi_sizes[bin->size_class].bytes);
}

/* At most EBBI_GIVE_MOST slots. */
static void give_some(struct ebbi_store *store, struct ebbi_bin *bin, void *const *slots, unsigned count)
{
	uint64_t moves = ebbi_load_acquire(&bin->moves); /* partner: ebbi_bin_move_locked */
	struct batch batches[EBBI_GIVE_MOST];
	unsigned used = sort_slots(bin, slots, count, batches);
	struct ebbi_list leaving;

	ebbi_list_init(&leaving);
	ebbi_lock_acquire(&bin->lock);
	if (EBBI_UNLIKELY(bin->moves != moves))
		used = sort_slots(bin, slots, count, batches);
	bin->used_slots -= count;
	for (unsigned i = 0; i < used; i++) {
		const struct batch *batch = &batches[i];

		/* Its slab was given up since: only a slot freed twice can see that. */
		if (EBBI_UNLIKELY(batch->slab == NULL || batch->slab->size_class != bin->size_class))
			ebbi_report_free_slot("free", batch->first, ebbi_sizes[bin->size_class].bytes);
		put_word_locked(bin, batch->slab, batch->word, batch->bits, &leaving);
	}
	ebbi_lock_release(&bin->lock);
	uncount(bin, count);
	ebbi_bin_destroy_leaving(store, &leaving);
}

void ebbi_bin_give(struct ebbi_store *store, struct ebbi_bin *bin, void *const *slots, unsigned count)
{
	while (count > 0) {
		unsigned here = count < EBBI_GIVE_MOST ? count : EBBI_GIVE_MOST;

		give_some(store, bin, slots, here);
		slots += here;
		count -= here;
	}
}

void ebbi_bin_give_bits(struct ebbi_store *store, struct ebbi_bin *bin, uint64_t bits, char *base)
{
	struct ebbi_slab *slab;
	struct ebbi_list leaving;
	unsigned word;

	ebbi_list_init(&leaving);
	ebbi_lock_acquire(&bin->lock);
	slab = ebbi_entry_slab_pointer(ebbi_pagemap_get((uintptr_t)base));
	word = ebbi_slot_index(bin->size_class, (uint32_t)((uintptr_t)base - slab->base)) / 64;
	bin->used_slots -= ebbi_bit_count(bits);
	put_word_locked(bin, slab, word, bits, &leaving);
	ebbi_lock_release(&bin->lock);
	uncount(bin, ebbi_bit_count(bits));
	ebbi_bin_destroy_leaving(store, &leaving);
}

bool ebbi_bin_slot_is_free(struct ebbi_store *store, uint64_t entry, const void *pointer)
{
	struct ebbi_bin *bin = ebbi_store_bin(store, entry);
	unsigned size_class = bin->size_class;
	bool is_free = true;

	ebbi_lock_acquire(&bin->lock);
	/* The descriptor may have moved; and of a slab that is gone by now every slot was free. */
	entry = ebbi_pagemap_get((uintptr_t)pointer);
	if ((entry & EBBI_ENTRY_BIN) == bin->entry) {
		const struct ebbi_slab *slab = ebbi_entry_slab_pointer(entry);
		uint32_t offset = ebbi_entry_slab_offset(ebbi_entry_plain(entry), (uintptr_t)pointer);
		unsigned index = ebbi_slot_index(size_class, offset);

		is_free = slab->size_class != size_class || (slab->free[index / 64] >> index % 64 & 1) != 0;
	}
	ebbi_lock_release(&bin->lock);
	return is_free;
}

void ebbi_bin_check(struct ebbi_bin *bin)
{
	size_t free_slots = 0;
	unsigned empty = 0;

	ebbi_lock_acquire(&bin->lock);
	for (unsigned i = 0; i < bin->parties * EBBI_BIN_QUEUES; i++) {
		unsigned party = i / EBBI_BIN_QUEUES;
		unsigned queue = i % EBBI_BIN_QUEUES;
		struct ebbi_list *head = &ebbi_bin_queues(bin, party)[queue];

		for (struct ebbi_list *at = head->next; at != head; at = at->next) {
			struct ebbi_slab *slab = EBBI_CONTAINER(at, struct ebbi_slab, link);

			ebbi_slab_check(slab);
			if (slab->party != party || slab->queue != queue || slab->nfree == 0)
				ebbi_report_internal("a slab is on the wrong queue");
			free_slots += slab->nfree;
			empty += ebbi_slab_is_empty(slab);
		}
	}
	if (empty != bin->empty_slabs)
		ebbi_report_internal("a bin's count of empty slabs is wrong");
	if (bin->slabs * ebbi_sizes[bin->size_class].slots < bin->used_slots + free_slots)
		ebbi_report_internal("a bin counts more slots than it has");
	ebbi_lock_release(&bin->lock);
}
