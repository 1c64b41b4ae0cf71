#include "caches/cache.h"

#include <string.h>

#include "platform/report.h"

_Static_assert(sizeof(struct ebbi_rack) == 32, "two racks to a cache line");
_Static_assert(sizeof(struct ebbi_rack) == EBBI_CLASS_SCALE, "racks are found by scaled class");
_Static_assert(sizeof(struct ebbi_rack) == (size_t)1 << EBBI_ENTRY_CLASS_SHIFT, "and by what the page map says");
_Static_assert(offsetof(struct ebbi_shelf, racks) == 0, "from the start of the shelf");
_Static_assert(EBBI_PAGE_BYTES + EBBI_CLASSES * EBBI_STACK_MOST * sizeof(void *) <= UINT16_MAX,
	       "a stack's place in the shelf fits in 16 bits");
_Static_assert(sizeof(struct ebbi_shelf) <= EBBI_PAGE_BYTES, "a small cache costs one page");
_Static_assert(EBBI_STACK_MOST / 2 <= EBBI_GIVE_MOST, "half a stack is given back at once");

/*
 * Where the grown stack of a class lies in the shelf, as a byte offset: the stacks of all classes that
 * can outgrow their first size, one behind the other, from the second page on.
 */
static size_t more_offset(unsigned size_class)
{
	size_t offset = EBBI_PAGE_BYTES;

	for (unsigned i = 1; i < size_class; i++)
		offset += ebbi_policy_stack_most(ebbi_sizes[i].bytes) * sizeof(void *);
	return offset;
}

size_t ebbi_shelf_bytes(size_t page_bytes)
{
	return ebbi_round_up(more_offset(EBBI_CLASSES), page_bytes);
}

static void set_up(struct ebbi_cache *cache, unsigned size_class)
{
	struct ebbi_rack *rack = &cache->shelf->racks[size_class];

	rack->cap = (uint8_t)ebbi_policy_stack_first(ebbi_sizes[size_class].bytes);
	rack->magic = ebbi_sizes[size_class].magic;
	rack->stack = (uint16_t)((uintptr_t)cache->shelf->first[size_class] - (uintptr_t)cache->shelf);
}

/* `count` and `bits` apart from the rest, since statistics read them at any time. */
static void clear(struct ebbi_rack *rack)
{
	ebbi_store_relaxed(&rack->count, (uint8_t)0);
	ebbi_store_relaxed(&rack->bits, (uint64_t)0);
	rack->cap = 0;
	rack->magic = 0;
	rack->stack = 0;
	rack->hot = NULL;
	rack->base = NULL;
}

static void set_count(struct ebbi_cache *cache, struct ebbi_rack *rack, unsigned count)
{
	ebbi_store_relaxed(&rack->count, (uint8_t)count);
	rack->hot = count > 0 ? ebbi_rack_slots(cache->shelf, rack)[count - 1] : NULL;
}

static void *pop(struct ebbi_cache *cache, struct ebbi_rack *rack)
{
	void *slot = rack->hot;

	set_count(cache, rack, rack->count - 1u);
	return slot;
}

void *ebbi_cache_take(struct ebbi_cache_pool *pool, struct ebbi_cache *cache, unsigned size_class)
{
	struct ebbi_rack *rack = &cache->shelf->racks[size_class];
	uint8_t *step = &cache->shelf->steps[size_class];
	size_t bytes = ebbi_sizes[size_class].bytes;
	struct ebbi_taken taken;
	unsigned bit;

	if (rack->cap == 0)
		set_up(cache, size_class);
	if (rack->count > 0)
		return pop(cache, rack);
	if (rack->bits == 0) {
		if (ebbi_bin_take(pool->store, size_class, ebbi_policy_claim(bytes, *step),
				  ebbi_rack_slots(cache->shelf, rack), rack->cap, &taken) != 0)
			return NULL;
		*step += *step < 8;
		set_count(cache, rack, taken.count);
		ebbi_store_relaxed(&rack->bits, taken.bits);
		rack->base = taken.base;
		if (EBBI_PARANOID)
			ebbi_shelf_check(cache->shelf);
		if (rack->count > 0)
			return pop(cache, rack);
	}
	bit = ebbi_bit_lowest(rack->bits);
	ebbi_store_relaxed(&rack->bits, rack->bits & (rack->bits - 1));
	return rack->base + bit * bytes;
}

/* Double the stack's room, if all stacks together may have it. Returns the bytes it can hold beyond before. */
static size_t grow_try(struct ebbi_cache_pool *pool, struct ebbi_cache *cache, unsigned size_class)
{
	struct ebbi_rack *rack = &cache->shelf->racks[size_class];
	size_t bytes = ebbi_sizes[size_class].bytes;
	unsigned most = ebbi_policy_stack_most(bytes);
	unsigned cap = rack->cap * 2u < most ? rack->cap * 2u : most;
	size_t grown = (cap - rack->cap) * bytes;
	size_t live = ebbi_load_relaxed(&pool->store->pages.live_pages) << EBBI_PAGE_SHIFT;

	if (cap == rack->cap)
		return 0;
	if (ebbi_fetch_add_relaxed(&pool->grown_bytes, grown) + grown > ebbi_policy_stacks_bytes(live)) {
		ebbi_fetch_sub_relaxed(&pool->grown_bytes, grown);
		return 0;
	}
	cache->grown_bytes += grown;
	if (ebbi_rack_slots(cache->shelf, rack) == cache->shelf->first[size_class]) {
		rack->stack = (uint16_t)more_offset(size_class);
		memcpy(ebbi_rack_slots(cache->shelf, rack), cache->shelf->first[size_class],
		       rack->count * sizeof(void *));
	}
	rack->cap = (uint8_t)cap;
	return grown;
}

size_t ebbi_cache_put(struct ebbi_cache_pool *pool, struct ebbi_cache *cache, unsigned size_class, void *slot)
{
	struct ebbi_rack *rack = &cache->shelf->racks[size_class];
	size_t given = 0;
	void **slots;

	if (rack->cap == 0)
		set_up(cache, size_class);
	if (rack->count == rack->cap)
		given = grow_try(pool, cache, size_class);
	slots = ebbi_rack_slots(cache->shelf, rack);
	if (rack->count == rack->cap) {
		/* The older half goes: what was freed last is in the CPU's cache and is used next. */
		unsigned half = (rack->count + 1u) / 2;

		ebbi_bin_give(pool->store, size_class, slots, half);
		memmove(slots, slots + half, (rack->count - half) * sizeof(void *));
		set_count(cache, rack, rack->count - half);
		given = half * (size_t)ebbi_sizes[size_class].bytes;
		if (EBBI_PARANOID)
			ebbi_shelf_check(cache->shelf);
	}
	slots[rack->count] = slot;
	set_count(cache, rack, rack->count + 1u);
	return given;
}

bool ebbi_cache_holds(const struct ebbi_cache *cache, unsigned size_class, const void *slot)
{
	const struct ebbi_rack *rack = &cache->shelf->racks[size_class];
	size_t bytes = ebbi_sizes[size_class].bytes;
	size_t offset = (size_t)((uintptr_t)slot - (uintptr_t)rack->base);

	for (unsigned i = 0; i < rack->count; i++)
		if (ebbi_rack_slots(cache->shelf, rack)[i] == slot)
			return true;
	return rack->bits != 0 && offset < 64 * bytes && (rack->bits >> offset / bytes & 1) != 0;
}

size_t ebbi_cache_drain(struct ebbi_cache_pool *pool, struct ebbi_cache *cache)
{
	size_t given = 0;

	if (EBBI_PARANOID)
		ebbi_shelf_check(cache->shelf);
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		struct ebbi_rack *rack = &cache->shelf->racks[size_class];

		if (rack->count > 0)
			ebbi_bin_give(pool->store, size_class, ebbi_rack_slots(cache->shelf, rack), rack->count);
		if (rack->bits != 0)
			ebbi_bin_give_bits(pool->store, size_class, rack->bits, rack->base);
		given += ebbi_rack_bytes(rack, size_class);
		clear(rack);
		cache->shelf->steps[size_class] = 0;
	}
	ebbi_fetch_sub_relaxed(&pool->grown_bytes, cache->grown_bytes);
	cache->grown_bytes = 0;
	return given;
}

size_t ebbi_cache_held_bytes(const struct ebbi_cache *cache, uint32_t ret_slots[EBBI_CLASSES])
{
	size_t held = 0;

	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		const struct ebbi_rack *rack = &cache->shelf->racks[size_class];
		unsigned slots = ebbi_load_relaxed(&rack->count) + ebbi_bit_count(ebbi_load_relaxed(&rack->bits));

		held += slots * (size_t)ebbi_sizes[size_class].bytes;
		if (ret_slots != NULL)
			ret_slots[size_class] += slots;
	}
	return held;
}

void ebbi_shelf_check(const struct ebbi_shelf *shelf)
{
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		const struct ebbi_rack *rack = &shelf->racks[size_class];

		if (rack->count > rack->cap || rack->cap > ebbi_policy_stack_most(ebbi_sizes[size_class].bytes))
			ebbi_report_internal("a cache's stack is longer than it may be");
		if ((rack->cap != 0) != (rack->stack != 0) || (rack->bits != 0 && rack->base == NULL))
			ebbi_report_internal("a cache's rack is set up by half");
		if (rack->count > 0 && rack->hot != ebbi_rack_slots(shelf, rack)[rack->count - 1])
			ebbi_report_internal("a cache's hot slot is not the top of its stack");
	}
}
