#include "caches/cache.h"

#include <string.h>

#include "platform/report.h"
#include "policy/budget.h"

/*
 * Where the grown stack of a class lies in the shelf: the stacks of all classes one behind the other,
 * from the second page on. The enumerators count on from each other.
 */
enum {
	MORE_BEFORE = EBBI_PAGE_BYTES - 1,
#define EBBI_SIZE(bytes, pages) \
	MORE_##bytes, MORE_LAST_##bytes = MORE_##bytes + (int)(EBBI_POLICY_STACK_MOST(bytes) * sizeof(void *)) - 1,
#include "slabs/sizes.def"
#undef EBBI_SIZE
	MORE_END
};

/* What the stacks of a class are like; offsets in bytes from the start of the shelf. */
static const struct {
	uint16_t first;
	uint16_t more;
	uint16_t first_places;
	uint16_t most_places;
} stacks[EBBI_CLASSES] = {
#define EBBI_SIZE(bytes, pages) \
	[EBBI_CLASS_##bytes] = {offsetof(struct ebbi_shelf, first) + EBBI_FIRST_##bytes * sizeof(void *), \
				MORE_##bytes, (uint16_t)EBBI_POLICY_STACK_FIRST(bytes), \
				(uint16_t)EBBI_POLICY_STACK_MOST(bytes)},
#include "slabs/sizes.def"
#undef EBBI_SIZE
};

_Static_assert(sizeof(struct ebbi_rack) == 32, "two racks to a cache line");
_Static_assert(sizeof(struct ebbi_rack) == EBBI_CLASS_SCALE, "racks are found by scaled class");
_Static_assert(sizeof(struct ebbi_rack) == (size_t)1 << EBBI_ENTRY_CLASS_SHIFT, "and by what the page map says");
_Static_assert(offsetof(struct ebbi_shelf, racks) == 0, "from the start of the shelf");
_Static_assert(MORE_END <= UINT16_MAX, "a place in the shelf fits in 16 bits");
_Static_assert(sizeof(struct ebbi_shelf) < EBBI_PAGE_BYTES, "a small cache costs one page");

size_t ebbi_shelf_bytes(size_t page_bytes)
{
	return ebbi_round_up(MORE_END, page_bytes);
}

static size_t first_offset(unsigned size_class)
{
	return stacks[size_class].first;
}

/* Where the stack starts that has this place: the first stacks lie in the first page, the others behind it. */
static size_t bottom(unsigned size_class, size_t place)
{
	return place >= EBBI_PAGE_BYTES ? stacks[size_class].more : first_offset(size_class);
}

/* Of a top or an end of 0, too. */
static unsigned places_below(unsigned size_class, size_t place)
{
	return place == 0 ? 0 : (unsigned)((place - bottom(size_class, place)) / sizeof(void *));
}

unsigned ebbi_rack_count(const struct ebbi_rack *rack, unsigned size_class)
{
	return places_below(size_class, ebbi_load_relaxed(&rack->top));
}

unsigned ebbi_rack_places(const struct ebbi_rack *rack, unsigned size_class)
{
	return places_below(size_class, rack->end);
}

size_t ebbi_rack_bytes(const struct ebbi_rack *rack, unsigned size_class)
{
	unsigned slots = ebbi_rack_count(rack, size_class) + ebbi_bit_count(ebbi_load_relaxed(&rack->bits));

	return slots * (size_t)ebbi_sizes[size_class].bytes;
}

/* The stack's places from its lowest on. */
static void **places_of(const struct ebbi_shelf *shelf, const struct ebbi_rack *rack, unsigned size_class)
{
	return ebbi_shelf_place(shelf, bottom(size_class, rack->end));
}

/* An empty stack of `places` from `offset` on. */
static void lay_out(struct ebbi_shelf *shelf, struct ebbi_rack *rack, size_t offset, unsigned places)
{
	*ebbi_shelf_place(shelf, offset) = NULL;
	rack->hot = NULL;
	rack->end = (uint16_t)(offset + places * sizeof(void *));
	ebbi_store_relaxed(&rack->top, (uint16_t)offset);
}

static void set_up(struct ebbi_stand *stand, unsigned size_class)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];

	rack->magic = ebbi_sizes[size_class].magic;
	lay_out(stand->shelf, rack, first_offset(size_class), stacks[size_class].first_places);
}

/* `top` and `bits` apart from the rest, since statistics read them at any time. */
static void clear(struct ebbi_rack *rack)
{
	ebbi_store_relaxed(&rack->top, (uint16_t)0);
	ebbi_store_relaxed(&rack->bits, (uint64_t)0);
	rack->end = 0;
	rack->magic = 0;
	rack->hot = NULL;
	rack->base = NULL;
}

static void *pop(struct ebbi_shelf *shelf, struct ebbi_rack *rack)
{
	void *slot = rack->hot;

	ebbi_rack_pop(shelf, rack);
	return slot;
}

/* The stack and the claim are empty: get more of both. False when there is no memory. */
static bool refill(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	void **places = places_of(stand->shelf, rack, size_class);
	uint8_t *step = &stand->shelf->steps[size_class];
	unsigned room = ebbi_rack_places(rack, size_class);
	struct ebbi_taking taking = {
		.wanted = ebbi_policy_claim(ebbi_sizes[size_class].bytes, *step),
		.taker = stand->taker,
		.slots = places + 1, /* above the lowest place, which stays NULL; the newest moves to `hot` */
		.room = room == 0 ? 0 : room - 1,
	};

	if (ebbi_bin_take(pool->store, &stand->set->bins[size_class], &taking) != 0)
		return false;
	*step += *step < 8;
	rack->hot = places[taking.count];
	ebbi_store_relaxed(&rack->top, (uint16_t)(rack->top + taking.count * sizeof(void *)));
	ebbi_store_relaxed(&rack->bits, taking.bits);
	rack->base = taking.base;
	if (EBBI_PARANOID)
		ebbi_shelf_check(stand->shelf);
	return true;
}

void *ebbi_stand_take(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	unsigned bit;

	if (rack->end == 0)
		set_up(stand, size_class);
	if (rack->hot == NULL && rack->bits == 0 && !refill(pool, stand, size_class))
		return NULL;
	if (rack->hot != NULL)
		return pop(stand->shelf, rack);
	bit = ebbi_bit_lowest(rack->bits);
	ebbi_store_relaxed(&rack->bits, rack->bits & (rack->bits - 1));
	return rack->base + bit * (size_t)ebbi_sizes[size_class].bytes;
}

/* Double the stack's room, if all stacks together may have it. Returns the bytes it can hold beyond before. */
static size_t grow_try(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	unsigned before = ebbi_rack_places(rack, size_class);
	unsigned after = (unsigned)ebbi_min_size(before == 0 ? 1 : before * 2, stacks[size_class].most_places);
	size_t grown = (after - before) * (size_t)ebbi_sizes[size_class].bytes;
	size_t live = ebbi_load_relaxed(&pool->store->pages.live_pages) << EBBI_PAGE_SHIFT;
	unsigned count = ebbi_rack_count(rack, size_class);
	void **old = places_of(stand->shelf, rack, size_class);
	size_t more = stacks[size_class].more;

	if (after == before)
		return 0;
	if (ebbi_fetch_add_relaxed(&pool->grown_bytes, grown) + grown >
	    ebbi_policy_under_pressure(ebbi_policy_stacks_bytes(live),
				       ebbi_load_relaxed(&pool->store->pages.pressure))) {
		ebbi_fetch_sub_relaxed(&pool->grown_bytes, grown);
		return 0;
	}
	stand->grown_bytes += grown;
	if (rack->end < EBBI_PAGE_BYTES) {
		/* The NULL, and all but the newest. */
		memcpy(ebbi_shelf_place(stand->shelf, more), old, ebbi_max_size(count, 1) * sizeof(void *));
		ebbi_store_relaxed(&rack->top, (uint16_t)(more + count * sizeof(void *)));
	}
	rack->end = (uint16_t)(more + after * sizeof(void *));
	return grown;
}

/* The older half of a full stack goes: what was freed last is in the CPU's cache and is used next. */
static size_t give_half(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	void **oldest = places_of(stand->shelf, rack, size_class) + 1; /* above the NULL */
	unsigned count = ebbi_rack_count(rack, size_class);
	unsigned half = count / 2;

	ebbi_bin_give(pool->store, &stand->set->bins[size_class], oldest, half);
	memmove(oldest, oldest + half, (count - 1 - half) * sizeof(void *));
	ebbi_store_relaxed(&rack->top, (uint16_t)(rack->top - half * sizeof(void *)));
	if (EBBI_PARANOID)
		ebbi_shelf_check(stand->shelf);
	return half * (size_t)ebbi_sizes[size_class].bytes;
}

/* A full stack of one place, or of none: the newest stays where there is room for it, the other one goes. */
static size_t give_older(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class, void *newest)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	void *going = newest;

	if (rack->hot != NULL) {
		going = rack->hot;
		rack->hot = newest;
	}
	ebbi_bin_give(pool->store, &stand->set->bins[size_class], &going, 1);
	return ebbi_sizes[size_class].bytes;
}

size_t ebbi_stand_put(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class, void *slot)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	size_t given = 0;

	if (rack->end == 0)
		set_up(stand, size_class);
	if (rack->top == rack->end)
		given = grow_try(pool, stand, size_class);
	if (rack->top == rack->end && ebbi_rack_places(rack, size_class) < 2)
		return give_older(pool, stand, size_class, slot);
	if (rack->top == rack->end)
		given = give_half(pool, stand, size_class);
	ebbi_rack_push(stand->shelf, rack, rack->top, slot);
	return given;
}

bool ebbi_stand_holds(const struct ebbi_stand *stand, unsigned size_class, const void *slot)
{
	const struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	size_t bytes = ebbi_sizes[size_class].bytes;
	size_t offset = (size_t)((uintptr_t)slot - (uintptr_t)rack->base);

	if (rack->hot == slot)
		return true;
	for (unsigned i = 1; i < ebbi_rack_count(rack, size_class); i++)
		if (places_of(stand->shelf, rack, size_class)[i] == slot)
			return true;
	return rack->bits != 0 && offset < 64 * bytes && (rack->bits >> offset / bytes & 1) != 0;
}

/* Everything of one class. */
static size_t drain_class(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class)
{
	struct ebbi_rack *rack = &stand->shelf->racks[size_class];
	size_t given = ebbi_rack_bytes(rack, size_class);
	unsigned count = ebbi_rack_count(rack, size_class);
	void **places = places_of(stand->shelf, rack, size_class);

	if (count > 0) {
		places[0] = rack->hot; /* where NULL was, so that all stand in one row */
		ebbi_bin_give(pool->store, &stand->set->bins[size_class], places, count);
	}
	if (rack->bits != 0)
		ebbi_bin_give_bits(pool->store, &stand->set->bins[size_class], rack->bits, rack->base);
	clear(rack);
	stand->shelf->steps[size_class] = 0;
	return given;
}

static size_t drain_stand(struct ebbi_cache_pool *pool, struct ebbi_stand *stand)
{
	size_t given = 0;

	if (EBBI_PARANOID)
		ebbi_shelf_check(stand->shelf);
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		if (stand->shelf->racks[size_class].end != 0)
			given += drain_class(pool, stand, size_class);
	ebbi_fetch_sub_relaxed(&pool->grown_bytes, stand->grown_bytes);
	stand->grown_bytes = 0;
	return given;
}

size_t ebbi_cache_drain(struct ebbi_cache_pool *pool, struct ebbi_cache *cache)
{
	size_t given = 0;

	for (struct ebbi_stand *stand = &cache->home; stand != NULL; stand = stand->next)
		given += drain_stand(pool, stand);
	return pool->drain_more != NULL ? given + pool->drain_more(cache) : given;
}

struct ebbi_stand *ebbi_cache_add_stand(struct ebbi_cache_pool *pool, struct ebbi_cache *cache, struct ebbi_set *set)
{
	struct ebbi_meta *meta = &pool->store->meta;
	struct ebbi_stand *stand = ebbi_meta_alloc(meta, sizeof(struct ebbi_stand), EBBI_META_LASTING);

	if (stand == NULL)
		return NULL;
	stand->shelf = ebbi_meta_area(meta, ebbi_shelf_bytes(meta->page_bytes));
	if (stand->shelf == NULL) {
		ebbi_meta_free(meta, stand, sizeof(struct ebbi_stand));
		return NULL;
	}
	stand->set = set;
	stand->taker = cache->number;
	stand->entry = ebbi_entry_bin(EBBI_CLASS_NONE, set->number);
	stand->next = cache->home.next;
	ebbi_store_release(&cache->home.next, stand); /* partner: ebbi_cache_stand */
	return stand;
}

size_t ebbi_stand_held_bytes(const struct ebbi_stand *stand, uint32_t ret_slots[EBBI_CLASSES])
{
	size_t held = 0;

	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		size_t bytes = ebbi_rack_bytes(&stand->shelf->racks[size_class], size_class);

		held += bytes;
		if (ret_slots != NULL)
			ret_slots[size_class] += (uint32_t)(bytes / ebbi_sizes[size_class].bytes);
	}
	return held;
}

static void check_stack(const struct ebbi_shelf *shelf, const struct ebbi_rack *rack, unsigned size_class)
{
	unsigned places = ebbi_rack_places(rack, size_class);
	size_t lowest = bottom(size_class, rack->end);

	if (places < stacks[size_class].first_places || places > stacks[size_class].most_places || rack->top < lowest ||
	    rack->top > rack->end)
		ebbi_report_internal("a cache's stack is not within its places");
	if ((rack->hot == NULL) != (rack->top == lowest))
		ebbi_report_internal("a cache's newest slot does not fit its stack");
	if (rack->top > lowest && *ebbi_shelf_place(shelf, lowest) != NULL)
		ebbi_report_internal("a cache's stack has no bottom");
}

void ebbi_shelf_check(const struct ebbi_shelf *shelf)
{
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		const struct ebbi_rack *rack = &shelf->racks[size_class];

		if ((rack->end != 0) != (rack->top != 0) || (rack->bits != 0 && rack->base == NULL))
			ebbi_report_internal("a cache's rack is set up by half");
		if (rack->end != 0)
			check_stack(shelf, rack, size_class);
	}
}
