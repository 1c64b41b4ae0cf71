/* One thread's cache: refills, spills, growth, draining, and the cap over all of them. */
#include "caches/cache.h"

#include "check.h"
#include "child.h"
#include "fake_vm.h"

#define MOST 20000u

static struct ebbi_store store;
static struct ebbi_cache_pool pool;
static struct ebbi_cache caches[2];
static void *out[MOST];

static void begin(void)
{
	memset(&store, 0, sizeof(store));
	memset(&pool, 0, sizeof(pool));
	memset(caches, 0, sizeof(caches));
	fake_vm_reset(4096);
	ebbi_store_init(&store, &fake_vm, 4096, EBBI_HUGE_ADVICE_NONE);
	pool.store = &store;
	for (unsigned i = 0; i < 2; i++) {
		caches[i].home.shelf = ebbi_meta_area(&store.meta, ebbi_shelf_bytes(4096));
		CHECK(caches[i].home.shelf != NULL);
		caches[i].home.set = &store.home;
		ebbi_shelf_check(caches[i].home.shelf);
	}
}

static void check(void)
{
	for (unsigned i = 0; i < 2; i++)
		ebbi_shelf_check(caches[i].home.shelf);
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		ebbi_bin_check(&store.home.bins[size_class]);
	CHECK_EQ(pool.grown_bytes, caches[0].home.grown_bytes + caches[1].home.grown_bytes);
}

static void take_many(struct ebbi_cache *cache, unsigned size_class, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		out[i] = ebbi_stand_take(&pool, &cache->home, size_class);
		CHECK(out[i] != NULL);
	}
}

static size_t put_many(struct ebbi_cache *cache, unsigned size_class, unsigned count)
{
	size_t given = 0;

	for (unsigned i = 0; i < count; i++)
		given += ebbi_stand_put(&pool, &cache->home, size_class, out[i]);
	return given;
}

/* Slots of a class that are with caches. */
static unsigned cached(unsigned size_class)
{
	uint32_t slots[EBBI_CLASSES] = {0};

	for (unsigned i = 0; i < 2; i++)
		(void)ebbi_stand_held_bytes(&caches[i].home, slots);
	return slots[size_class];
}

TEST(slots_are_apart)
{
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		size_t bytes = ebbi_sizes[size_class].bytes;

		begin();
		take_many(&caches[0], size_class, 200);
		for (unsigned i = 0; i < 200; i++)
			memset(out[i], (int)i, bytes);
		for (unsigned i = 0; i < 200; i++) {
			CHECK_EQ(*(unsigned char *)out[i], i);
			CHECK_EQ(((unsigned char *)out[i])[bytes - 1], i);
			CHECK(!ebbi_stand_holds(&caches[0].home, size_class, out[i]));
		}
		CHECK_EQ(store.home.bins[size_class].used_slots, 200u + cached(size_class));
		check();
		(void)put_many(&caches[0], size_class, 200);
		check();
		CHECK_EQ(store.home.bins[size_class].used_slots, cached(size_class));
		CHECK_EQ(ebbi_stand_holds(&caches[0].home, size_class, out[199]), EBBI_POLICY_STACK_MOST(bytes) > 0);
	}
}

TEST(last_in_first_out)
{
	begin();
	take_many(&caches[0], EBBI_CLASS_64, 4);
	(void)put_many(&caches[0], EBBI_CLASS_64, 4);
	for (unsigned i = 4; i-- > 0;)
		CHECK(ebbi_stand_take(&pool, &caches[0].home, EBBI_CLASS_64) == out[i]);
}

TEST(refills_grow)
{
	uint64_t first;

	begin();
	take_many(&caches[0], EBBI_CLASS_64, 64);
	first = store.home.bins[EBBI_CLASS_64].refills;
	CHECK_GE(first, 3u);
	take_many(&caches[0], EBBI_CLASS_64, 6400);
	CHECK_LE(store.home.bins[EBBI_CLASS_64].refills - first, 110u);
	/* Large slots come a few at a time. */
	take_many(&caches[0], EBBI_CLASS_32768, 1);
	CHECK_LE(cached(EBBI_CLASS_32768), 1u);
}

TEST(spills_give_the_older_half)
{
	unsigned most = EBBI_POLICY_STACK_MOST(ebbi_sizes[EBBI_CLASS_64].bytes);
	size_t given;

	begin();
	take_many(&caches[0], EBBI_CLASS_64, 2000);
	(void)ebbi_cache_drain(&pool, &caches[0]);
	given = put_many(&caches[0], EBBI_CLASS_64, 2000);
	CHECK_LE(cached(EBBI_CLASS_64), most);
	CHECK_GE(cached(EBBI_CLASS_64), most / 2);
	/* What is told covers what went, and what the stack may hold now. */
	CHECK_GE(given, (2000 - cached(EBBI_CLASS_64)) * (size_t)64);
	CHECK_EQ(store.home.bins[EBBI_CLASS_64].used_slots, cached(EBBI_CLASS_64));
	/* The newest are still here. */
	CHECK(ebbi_stand_take(&pool, &caches[0].home, EBBI_CLASS_64) == out[1999]);
	CHECK(!ebbi_stand_holds(&caches[0].home, EBBI_CLASS_64, out[0]));
	check();
}

TEST(stacks_grow_and_keep_their_order)
{
	unsigned first = EBBI_POLICY_STACK_FIRST(64);
	unsigned most = EBBI_POLICY_STACK_MOST(64);

	begin();
	take_many(&caches[0], EBBI_CLASS_64, most);
	(void)ebbi_cache_drain(&pool, &caches[0]);
	for (unsigned i = 0; i < most; i++) {
		(void)ebbi_stand_put(&pool, &caches[0].home, EBBI_CLASS_64, out[i]);
		CHECK_EQ(cached(EBBI_CLASS_64), i + 1);
		check();
	}
	CHECK_EQ(ebbi_rack_places(&caches[0].home.shelf->racks[EBBI_CLASS_64], EBBI_CLASS_64), most);
	CHECK_EQ(caches[0].home.grown_bytes, (most - first) * (size_t)64);
	for (unsigned i = most; i-- > 0;)
		CHECK(ebbi_stand_take(&pool, &caches[0].home, EBBI_CLASS_64) == out[i]);
	(void)ebbi_cache_drain(&pool, &caches[0]);
	CHECK_EQ(pool.grown_bytes, 0u);
}

/* Every class grown as far as it goes: no stack runs into another, or past the shelf. */
TEST(all_stacks_fit_the_shelf)
{
	static void *all[EBBI_CLASSES][EBBI_STACK_MOST];

	begin();
	store.pages.live_pages += (size_t)1 << 24; /* as if much were alive: the cap is far */
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		unsigned most = EBBI_POLICY_STACK_MOST(ebbi_sizes[size_class].bytes);

		take_many(&caches[0], size_class, most);
		memcpy(all[size_class], out, most * sizeof(void *));
	}
	(void)ebbi_cache_drain(&pool, &caches[0]);
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		for (unsigned i = 0; i < EBBI_POLICY_STACK_MOST(ebbi_sizes[size_class].bytes); i++)
			(void)ebbi_stand_put(&pool, &caches[0].home, size_class, all[size_class][i]);
	check();
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		const struct ebbi_rack *rack = &caches[0].home.shelf->racks[size_class];
		unsigned most = EBBI_POLICY_STACK_MOST(ebbi_sizes[size_class].bytes);
		void **places = ebbi_shelf_place(caches[0].home.shelf, rack->top - most * sizeof(void *));

		CHECK_LE(rack->end, ebbi_shelf_bytes(4096));
		CHECK_EQ(ebbi_rack_count(rack, size_class), most);
		if (most == 0)
			continue;
		CHECK(places[0] == NULL);
		CHECK(memcmp(places + 1, all[size_class], (most - 1) * sizeof(void *)) == 0);
		CHECK(rack->hot == all[size_class][most - 1]);
	}
	store.pages.live_pages -= (size_t)1 << 24;
}

/* Large slots go straight to their bin, and a stack of one place keeps the newest. */
TEST(stacks_without_room)
{
	begin();
	CHECK_EQ(EBBI_POLICY_STACK_MOST(ebbi_sizes[EBBI_CLASS_32768].bytes), 0u);
	CHECK_EQ(EBBI_POLICY_STACK_MOST(ebbi_sizes[EBBI_CLASS_16384].bytes), 1u);
	for (unsigned round = 0; round < 3; round++) {
		take_many(&caches[0], EBBI_CLASS_32768, 5);
		CHECK_EQ(put_many(&caches[0], EBBI_CLASS_32768, 5), 5 * (size_t)32768);
		CHECK_EQ(cached(EBBI_CLASS_32768), 0u);
		CHECK_EQ(store.home.bins[EBBI_CLASS_32768].used_slots, 0u);
		take_many(&caches[0], EBBI_CLASS_16384, 5);
		(void)put_many(&caches[0], EBBI_CLASS_16384, 5);
		CHECK_EQ(cached(EBBI_CLASS_16384), 1u);
		CHECK(ebbi_stand_holds(&caches[0].home, EBBI_CLASS_16384, out[4]));
		CHECK_EQ(store.home.bins[EBBI_CLASS_16384].used_slots, 1u);
		check();
	}
	(void)ebbi_cache_drain(&pool, &caches[0]);
	CHECK_EQ(pool.grown_bytes, 0u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_16384].used_slots, 0u);
	check();
}

TEST(the_cap_over_all_caches)
{
	size_t cap = ebbi_policy_stacks_bytes(0);

	begin();
	/* Somebody else has used all of it. */
	pool.grown_bytes = cap;
	take_many(&caches[0], EBBI_CLASS_64, 100);
	(void)ebbi_cache_drain(&pool, &caches[0]);
	(void)put_many(&caches[0], EBBI_CLASS_64, 100);
	CHECK_EQ(ebbi_rack_places(&caches[0].home.shelf->racks[EBBI_CLASS_64], EBBI_CLASS_64),
		 EBBI_POLICY_STACK_FIRST(64));
	CHECK_EQ(caches[0].home.grown_bytes, 0u);
	CHECK_EQ(pool.grown_bytes, cap);
	pool.grown_bytes = 0;
	check();
}

TEST(draining)
{
	begin();
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		take_many(&caches[0], size_class, 3);
		(void)put_many(&caches[0], size_class, 2);
	}
	CHECK_EQ(ebbi_stand_held_bytes(&caches[0].home, NULL), ebbi_cache_drain(&pool, &caches[0]));
	CHECK_EQ(ebbi_stand_held_bytes(&caches[0].home, NULL), 0u);
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		CHECK_EQ(store.home.bins[size_class].used_slots, 1u);
	CHECK_EQ(ebbi_cache_drain(&pool, &caches[0]), 0u);
	check();
	/* A shelf of zeros works on. */
	CHECK_EQ(fake_vm.purge(caches[0].home.shelf, ebbi_shelf_bytes(4096)), 0);
	CHECK(ebbi_stand_take(&pool, &caches[0].home, EBBI_CLASS_64) != NULL);
	check();
}

TEST(slots_wander_between_caches)
{
	begin();
	for (unsigned round = 0; round < 100; round++) {
		take_many(&caches[0], EBBI_CLASS_48, 300);
		(void)put_many(&caches[1], EBBI_CLASS_48, 300);
	}
	check();
	/* The same slots over and over. */
	CHECK_LE(store.home.bins[EBBI_CLASS_48].slabs, 1u);
	(void)ebbi_cache_drain(&pool, &caches[0]);
	(void)ebbi_cache_drain(&pool, &caches[1]);
	CHECK_EQ(store.home.bins[EBBI_CLASS_48].used_slots, 0u);
	check();
}

TEST(without_memory)
{
	begin();
	fake_vm_refuse(FAKE_RESERVE, 0, UINT32_MAX);
	fake_vm_refuse(FAKE_COMMIT, 0, UINT32_MAX);
	CHECK(ebbi_stand_take(&pool, &caches[0].home, EBBI_CLASS_64) == NULL);
	check();
	fake_vm_refuse(FAKE_RESERVE, 0, 0);
	fake_vm_refuse(FAKE_COMMIT, 0, 0);
	CHECK(ebbi_stand_take(&pool, &caches[0].home, EBBI_CLASS_64) != NULL);
}

static void too_long(void *argument)
{
	(void)argument;
	caches[0].home.shelf->racks[EBBI_CLASS_64].top = UINT16_MAX;
	check();
}

static void by_half(void *argument)
{
	(void)argument;
	caches[0].home.shelf->racks[EBBI_CLASS_64].top = 0;
	check();
}

static void without_newest(void *argument)
{
	(void)argument;
	caches[0].home.shelf->racks[EBBI_CLASS_64].hot = NULL;
	check();
}

static void without_bottom(void *argument)
{
	struct ebbi_rack *rack = &caches[0].home.shelf->racks[EBBI_CLASS_64];

	(void)argument;
	*ebbi_shelf_place(caches[0].home.shelf, rack->top - ebbi_rack_count(rack, EBBI_CLASS_64) * sizeof(void *)) =
		rack;
	check();
}

TEST(check_finds_faults)
{
	begin();
	take_many(&caches[0], EBBI_CLASS_64, 4);
	(void)put_many(&caches[0], EBBI_CLASS_64, 2);
	CHECK_DIES(too_long, NULL, "ebb: internal error: a cache's stack is not within its places");
	CHECK_DIES(without_newest, NULL, "ebb: internal error: a cache's newest slot does not fit its stack");
	CHECK_DIES(without_bottom, NULL, "ebb: internal error: a cache's stack has no bottom");
	CHECK_DIES(by_half, NULL, "ebb: internal error: a cache's rack is set up by half");
}

int main(void)
{
	RUN(slots_are_apart);
	RUN(last_in_first_out);
	RUN(refills_grow);
	RUN(spills_give_the_older_half);
	RUN(stacks_grow_and_keep_their_order);
	RUN(all_stacks_fit_the_shelf);
	RUN(stacks_without_room);
	RUN(the_cap_over_all_caches);
	RUN(draining);
	RUN(slots_wander_between_caches);
	RUN(without_memory);
	RUN(check_finds_faults);
	return check_report();
}
