/* A bin: where slots come from, where they go, and what goes back to the kernel. */
#include "slabs/store.h"

#include <errno.h>

#include "check.h"
#include "child.h"
#include "fake_vm.h"

#define MOST 4096u

static struct ebbi_store store;
static void *out[MOST]; /* slots that the test holds, in the order they came */
static unsigned out_count;
static unsigned taker; /* who takes */

static void begin(size_t page_bytes)
{
	memset(&store, 0, sizeof(store));
	fake_vm_reset(page_bytes);
	ebbi_store_init(&store, &fake_vm, page_bytes, EBBI_HUGE_ADVICE_NONE);
	out_count = 0;
	taker = 0;
}

static void check(void)
{
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		ebbi_bin_check(&store.home.bins[size_class]);
	ebbi_pages_check(&store.pages);
}

/* Append what one take gives. Returns how many, 0 when it was refused. */
static unsigned take(unsigned size_class, unsigned wanted)
{
	unsigned before = out_count;
	void *slots[8];
	struct ebbi_taking taking = {.wanted = wanted, .taker = taker, .slots = slots, .room = 8};
	int error = ebbi_bin_take(&store, &store.home.bins[size_class], &taking);

	if (error != 0) {
		CHECK_EQ(error, -ENOMEM);
		return 0;
	}
	CHECK_LE(taking.count, 8u);
	for (unsigned i = taking.count; i-- > 0;)
		out[out_count++] = slots[i];
	for (; taking.bits != 0; taking.bits &= taking.bits - 1)
		out[out_count++] = taking.base + ebbi_bit_lowest(taking.bits) * (size_t)ebbi_sizes[size_class].bytes;
	CHECK_GE(out_count - before, 1u);
	CHECK_LE(out_count - before, wanted);
	return out_count - before;
}

static void take_many(unsigned size_class, unsigned count)
{
	while (out_count < count)
		if (take(size_class, count - out_count < 64 ? count - out_count : 64) == 0)
			break;
	CHECK_EQ(out_count, count);
}

/* Give back out[first] to out[first + count - 1], a batch at a time. */
static void give(unsigned size_class, unsigned first, unsigned count)
{
	while (count > 0) {
		unsigned here = count < EBBI_GIVE_MOST ? count : EBBI_GIVE_MOST;

		ebbi_bin_give(&store, &store.home.bins[size_class], out + first, here);
		first += here;
		count -= here;
	}
}

static struct ebbi_slab *slab_of(const void *slot)
{
	return ebbi_entry_slab_pointer(ebbi_pagemap_get((uintptr_t)slot));
}

TEST(slots_are_apart_and_in_order)
{
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		uint32_t bytes = ebbi_sizes[size_class].bytes;

		begin(4096);
		take_many(size_class, ebbi_sizes[size_class].slots);
		CHECK_EQ(store.home.bins[size_class].slabs, 1u);
		CHECK_EQ(store.home.bins[size_class].used_slots, out_count);
		for (unsigned i = 0; i < out_count; i++) {
			CHECK_EQ((uintptr_t)out[i], slab_of(out[0])->base + (uintptr_t)i * bytes);
			CHECK(!ebbi_bin_slot_is_free(&store, ebbi_pagemap_get((uintptr_t)out[i]), out[i]));
			memset(out[i], 0xff, bytes);
		}
		CHECK_EQ(store.home.bins[size_class].resident_pages, ebbi_divide_up((size_t)out_count * bytes, 4096));
		check();
		give(size_class, 0, out_count);
		check();
		CHECK_EQ(store.home.bins[size_class].used_slots, 0u);
		CHECK_EQ(store.home.bins[size_class].slabs, 1u);
		CHECK(ebbi_bin_slot_is_free(&store, ebbi_pagemap_get((uintptr_t)out[0]), out[0]));
	}
}

TEST(give_bits)
{
	void *slots[8];
	struct ebbi_taking taking = {.wanted = 64, .slots = slots, .room = 8};

	begin(4096);
	REQUIRE(ebbi_bin_take(&store, &store.home.bins[EBBI_CLASS_128], &taking) == 0);
	CHECK_EQ(taking.count, 0u);
	CHECK_EQ(taking.bits, UINT64_MAX);
	ebbi_bin_give_bits(&store, &store.home.bins[EBBI_CLASS_128], 0xff00ff00ff00ff00, taking.base);
	check();
	CHECK_EQ(store.home.bins[EBBI_CLASS_128].used_slots, 32u);
	CHECK(ebbi_bin_slot_is_free(&store, ebbi_pagemap_get((uintptr_t)taking.base), taking.base + 8 * 128));
	CHECK(!ebbi_bin_slot_is_free(&store, ebbi_pagemap_get((uintptr_t)taking.base), taking.base));
	ebbi_bin_give_bits(&store, &store.home.bins[EBBI_CLASS_128], 0x00ff00ff00ff00ff, taking.base);
	check();
	CHECK_EQ(store.home.bins[EBBI_CLASS_128].used_slots, 0u);
}

/* The slab of the next slot that somebody gets. */
static struct ebbi_slab *next_slab(unsigned who)
{
	taker = who;
	CHECK_EQ(take(EBBI_CLASS_4096, 1), 1u);
	return slab_of(out[out_count - 1]);
}

/* In a large bin takers have slabs of their own, but none is made while others have some to spare. */
TEST(parties)
{
	const struct ebbi_bin *bin = &store.home.bins[EBBI_CLASS_4096];
	unsigned in_slab = ebbi_sizes[EBBI_CLASS_4096].slots;
	struct ebbi_slab *of_first;
	struct ebbi_slab *of_second;

	begin(4096);
	of_first = next_slab(0);
	CHECK(next_slab(1) == of_first);
	take_many(EBBI_CLASS_4096, in_slab * EBBI_BIN_PARTED_SLABS);
	of_first = next_slab(0);
	of_second = next_slab(1);
	CHECK(of_second != of_first);
	CHECK(next_slab(0) == of_first);
	CHECK(next_slab(EBBI_BIN_PARTIES + 1) == of_second);
	CHECK_EQ(bin->slabs, EBBI_BIN_PARTED_SLABS + 2u);
	/* Two of the first party's slabs have a free slot again, and the third party takes the older of them. */
	ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_4096], &out[0], 1);
	ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_4096], &out[in_slab], 1);
	check();
	CHECK(next_slab(2) == slab_of(out[0]));
	/* What is left to it then is the slab that it is busy with, so that another one may go. */
	CHECK(next_slab(2) == of_first);
	CHECK_EQ(bin->slabs, EBBI_BIN_PARTED_SLABS + 2u);
	CHECK(next_slab(3) != of_second);
	CHECK_EQ(bin->slabs, EBBI_BIN_PARTED_SLABS + 3u);
	check();
	/* In a bin that has become small everybody gets what there is. */
	ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_4096], &out[1], in_slab - 1);
	for (unsigned i = 1; i < EBBI_BIN_PARTED_SLABS; i++)
		ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_4096], &out[i * in_slab + (i == 1)],
			      in_slab - (i == 1));
	check();
	CHECK_LE(bin->slabs, 5u);
	for (unsigned i = 0; i < 3 * in_slab; i++)
		(void)next_slab(3);
	CHECK_LE(bin->slabs, 5u);
	check();
}

/* A few scattered slots come as pointers, and the claim is filled up from further words. */
TEST(scattered_slots)
{
	begin(4096);
	take_many(EBBI_CLASS_64, 1024);
	for (unsigned i = 0; i < 1024; i += 100)
		ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_64], &out[i], 1);
	out_count = 0;
	CHECK_EQ(take(EBBI_CLASS_64, 4), 4u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_64].slabs, 1u);
	check();
	CHECK_EQ(take(EBBI_CLASS_64, 7), 7u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_64].slabs, 1u);
	check();
}

TEST(fullest_first)
{
	unsigned slots = ebbi_sizes[EBBI_CLASS_1024].slots;
	const struct ebbi_slab *nearly_full;

	begin(4096);
	take_many(EBBI_CLASS_1024, 4 * slots);
	nearly_full = slab_of(out[2 * slots]);
	give(EBBI_CLASS_1024, 0, slots - 2);
	give(EBBI_CLASS_1024, slots, slots - 8);
	give(EBBI_CLASS_1024, 2 * slots, 3);
	give(EBBI_CLASS_1024, 3 * slots, slots / 2);
	check();
	out_count = 0;
	CHECK_EQ(take(EBBI_CLASS_1024, 3), 3u);
	for (unsigned i = 0; i < 3; i++)
		CHECK(slab_of(out[i]) == nearly_full);
	check();
}

TEST(one_empty_slab_is_kept)
{
	unsigned slots = ebbi_sizes[EBBI_CLASS_256].slots;
	unsigned entries = 0;
	size_t live;

	begin(4096);
	take_many(EBBI_CLASS_256, 3 * slots);
	live = store.pages.live_pages;
	give(EBBI_CLASS_256, 0, slots);
	CHECK_EQ(store.home.bins[EBBI_CLASS_256].empty_slabs, 1u);
	CHECK_EQ(store.pages.live_pages, live);
	give(EBBI_CLASS_256, slots, 2 * slots);
	check();
	CHECK_EQ(store.home.bins[EBBI_CLASS_256].empty_slabs, 1u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_256].slabs, 1u);
	CHECK_EQ(store.pages.live_pages, live / 3);
	CHECK_EQ(store.meta.used_bytes, ebbi_round_up(ebbi_slab_descriptor_bytes(EBBI_CLASS_256), 64));
	/* The page map forgets a slab that left. */
	for (unsigned slab = 0; slab < 3; slab++)
		entries +=
			ebbi_entry_kind(ebbi_pagemap_get((uintptr_t)out[slab * slots + slots / 2])) == EBBI_CLASS_256;
	CHECK_EQ(entries, 1u);
}

/* Page by page: a hole goes at the second look, the pages around it stay. */
TEST(holes_go_at_the_second_look)
{
	struct ebbi_bin *bin = &store.home.bins[EBBI_CLASS_128];
	size_t left = 0;
	uintptr_t base;

	begin(4096);
	take_many(EBBI_CLASS_128, 512);
	for (unsigned i = 0; i < 512; i++)
		memset(out[i], (int)i, 128);
	base = slab_of(out[0])->base;
	give(EBBI_CLASS_128, 0, 32);  /* page 0 */
	give(EBBI_CLASS_128, 96, 40); /* page 3 and a quarter of page 4 */
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_128], /* everything= */ false, &left), 0u);
	CHECK_EQ(left, 2u);
	CHECK_EQ(bin->hole_pages, 2u);
	left = 0;
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_128], /* everything= */ false, &left), 2u);
	CHECK_EQ(left, 0u);
	CHECK_EQ(bin->hole_pages, 0u);
	CHECK_EQ(bin->resident_pages, 14u);
	CHECK_EQ(fake_vm_calls(FAKE_PURGE), 2u);
	CHECK_EQ(fake_vm_resident_pages(base, 16 * 4096), 14u);
	check();
	/* Nothing to look at: no call. */
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_128], /* everything= */ false, &left), 0u);
	CHECK_EQ(fake_vm_calls(FAKE_PURGE), 2u);
	/* Slots on resident pages first, then the others, which read as zeros and are counted. */
	out_count = 512;
	CHECK_EQ(take(EBBI_CLASS_128, 8), 8u);
	CHECK_EQ((uintptr_t)out[512], base + 4 * 4096);
	CHECK_EQ(bin->refault_pages, 0u);
	CHECK_EQ(take(EBBI_CLASS_128, 64), 32u);
	CHECK_EQ(bin->refault_pages, 1u);
	CHECK_EQ(*(char *)out[out_count - 1], 0);
	CHECK_EQ(bin->resident_pages, 15u);
	check();
}

TEST(used_between_looks_stays)
{
	size_t left = 0;

	begin(4096);
	take_many(EBBI_CLASS_128, 512);
	give(EBBI_CLASS_128, 0, 32);
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_128], /* everything= */ false, &left), 0u);
	out_count = 0;
	CHECK_EQ(take(EBBI_CLASS_128, 1), 1u);
	give(EBBI_CLASS_128, 0, 1);
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_128], /* everything= */ false, &left), 0u);
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_128], /* everything= */ false, &left), 1u);
	check();
}

TEST(the_kept_empty_slab_goes_at_the_second_look)
{
	unsigned slots = ebbi_sizes[EBBI_CLASS_512].slots;
	size_t left = 0;

	begin(4096);
	take_many(EBBI_CLASS_512, slots);
	for (unsigned i = 0; i < slots; i++)
		memset(out[i], 1, 512);
	give(EBBI_CLASS_512, 0, slots);
	(void)ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_512], /* everything= */ false, &left);
	CHECK_EQ(store.home.bins[EBBI_CLASS_512].slabs, 1u);
	(void)ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_512], /* everything= */ false, &left);
	CHECK_EQ(store.home.bins[EBBI_CLASS_512].slabs, 0u);
	CHECK_EQ(store.pages.live_pages, 0u);
	/* Its pages come aged to the free runs, which give them back at once. */
	CHECK_EQ(ebbi_pages_purge(&store.pages, /* everything= */ false, &left), 16u);
	CHECK_EQ(left, 0u);
	CHECK_EQ(store.meta.used_bytes, 0u);
	check();
}

TEST(everything_at_once)
{
	unsigned slots = ebbi_sizes[EBBI_CLASS_64].slots;
	size_t left = 0;

	begin(4096);
	take_many(EBBI_CLASS_64, 4 * slots);
	for (unsigned i = 0; i < out_count; i++)
		memset(out[i], 1, 64);
	give(EBBI_CLASS_64, 0, slots);
	give(EBBI_CLASS_64, slots + 64, slots - 64); /* all of the second but its first page */
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_64], /* everything= */ true, &left), 15u);
	CHECK_EQ(left, 0u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_64].slabs, 3u);
	check();
}

TEST(refused_purge_keeps_the_slots)
{
	size_t left = 0;

	begin(4096);
	take_many(EBBI_CLASS_128, 512);
	give(EBBI_CLASS_128, 0, 64);
	give(EBBI_CLASS_128, 128, 64);
	fake_vm_refuse(FAKE_PURGE, 0, 1);
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_128], /* everything= */ true, &left), 2u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_128].resident_pages, 14u);
	CHECK_EQ(store.pages.purge_refused, 1u);
	check();
	out_count = 0;
	while (out_count < 128)
		(void)take(EBBI_CLASS_128, 64);
	CHECK_EQ(store.home.bins[EBBI_CLASS_128].slabs, 1u);
	check();
}

TEST(more_slabs_than_a_batch)
{
	unsigned slots = ebbi_sizes[EBBI_CLASS_2048].slots;
	size_t left = 0;

	begin(4096);
	take_many(EBBI_CLASS_2048, 100 * slots);
	for (unsigned slab = 0; slab < 100; slab++)
		give(EBBI_CLASS_2048, slab * slots, slots - 2);
	CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_2048], /* everything= */ true, &left), 1100u);
	CHECK_EQ(left, 0u);
	check();
}

/* A thousand slabs, of which one in sixteen lives: their descriptors come together, and the rest of the pages goes. */
TEST(descriptors_move_together)
{
	enum { SLABS = 1000, SLOTS = 4, KEPT_OF = 16 };
	unsigned kept = 0;
	uint64_t moves;
	size_t left = 0;

	begin(4096);
	take_many(EBBI_CLASS_32768, SLABS * SLOTS);
	for (unsigned i = 0; i < SLABS * SLOTS; i++)
		*(char *)out[i] = (char)(i % 100);
	for (unsigned slab = 0; slab < SLABS; slab++)
		give(EBBI_CLASS_32768, slab * SLOTS, slab % KEPT_OF == 0 ? 2 : SLOTS);
	CHECK_GE(store.meta.brief_pages, SLABS / 32u);
	(void)ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_32768], /* everything= */ true, &left);
	ebbi_store_gather_metadata(&store);
	CHECK_LE(store.meta.brief_pages, 5u);
	CHECK_GE(ebbi_store_purge_metadata(&store), SLABS / 32u - 6);
	check();
	/* There is nothing more to do. */
	moves = store.home.bins[EBBI_CLASS_32768].moves;
	CHECK_GE(moves, SLABS / KEPT_OF / 2u);
	ebbi_store_gather_metadata(&store);
	CHECK_EQ(store.home.bins[EBBI_CLASS_32768].moves, moves);
	/* Where they lie now they are written and found. */
	for (unsigned slab = 0; slab < SLABS; slab += KEPT_OF) {
		void *const *slots = &out[slab * SLOTS + 2];
		uint64_t entry = ebbi_pagemap_get((uintptr_t)slots[0]);

		CHECK_EQ(*(char *)slots[0], (char)((slab * SLOTS + 2) % 100));
		CHECK_EQ(slab_of(slots[0])->base, ebbi_round_down((uintptr_t)slots[0] - 2 * 32768, 4096));
		CHECK(!ebbi_bin_slot_is_free(&store, entry, slots[0]));
		ebbi_bin_give_bits(&store, &store.home.bins[EBBI_CLASS_32768], 0xc, (char *)slots[0] - 2 * 32768);
		CHECK(ebbi_bin_slot_is_free(&store, entry, slots[0]));
		kept++;
	}
	CHECK_EQ(kept, SLABS / KEPT_OF + 1u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_32768].used_slots, 0u);
	CHECK_LE(store.home.bins[EBBI_CLASS_32768].slabs, 1u);
	check();
}

TEST(refused_memory)
{
	begin(4096);
	fake_vm_refuse(FAKE_RESERVE, 0, UINT32_MAX);
	CHECK_EQ(take(EBBI_CLASS_64, 10), 0u);
	CHECK_EQ(store.meta.used_bytes, 0u);
	check();
	/* The descriptor is there, the span is not. */
	fake_vm_refuse(FAKE_RESERVE, 1, UINT32_MAX);
	CHECK_EQ(take(EBBI_CLASS_64, 10), 0u);
	CHECK_EQ(store.meta.used_bytes, 0u);
	CHECK_EQ(store.home.bins[EBBI_CLASS_64].slabs, 0u);
	fake_vm_refuse(FAKE_RESERVE, 0, 0);
	CHECK_EQ(take(EBBI_CLASS_64, 10), 10u);
	check();
}

TEST(large_kernel_pages)
{
	static const size_t units[] = {16384, 65536};

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
			unsigned slots = ebbi_sizes[size_class].slots;
			size_t left = 0;

			begin(units[i]);
			take_many(size_class, 2 * slots);
			give(size_class, 0, slots - 1);
			CHECK_EQ(ebbi_bin_purge(&store, &store.home.bins[size_class], /* everything= */ true, &left) %
					 (units[i] / 4096),
				 0u);
			check();
			give(size_class, slots - 1, slots + 1);
			(void)ebbi_bin_purge(&store, &store.home.bins[size_class], /* everything= */ true, &left);
			CHECK_EQ(store.pages.live_pages, 0u);
			check();
		}
	}
}

static void free_twice(void *argument)
{
	(void)argument;
	ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_96], &out[5], 1);
	ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_96], &out[5], 1);
}

static void free_twice_in_a_batch(void *argument)
{
	void *twice[3] = {out[5], out[6], out[5]};

	(void)argument;
	ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_96], twice, 3);
}

/* The first time emptied a slab, which left: its pages are somebody else's by now, or nobody's. */
static void free_twice_with_the_slab_gone(void *argument)
{
	size_t left = 0;

	(void)argument;
	give(EBBI_CLASS_96, 0, 100);
	(void)ebbi_bin_purge(&store, &store.home.bins[EBBI_CLASS_96], /* everything= */ true, &left);
	ebbi_bin_give(&store, &store.home.bins[EBBI_CLASS_96], &out[5], 1);
}

TEST(misuse)
{
	char line[128];

	begin(4096);
	take_many(EBBI_CLASS_96, 100);
	snprintf(line, sizeof(line), "ebb: double free of %p: a 96-byte slot that is already free", out[5]);
	CHECK_DIES(free_twice, NULL, line);
	CHECK_DIES(free_twice_in_a_batch, NULL, line);
	CHECK_DIES(free_twice_with_the_slab_gone, NULL, line);
}

static void wrong_empty(void *argument)
{
	(void)argument;
	store.home.bins[EBBI_CLASS_96].empty_slabs++;
	check();
}

static void wrong_queue(void *argument)
{
	(void)argument;
	slab_of(out[0])->queue ^= 1;
	check();
}

static void wrong_used(void *argument)
{
	(void)argument;
	store.home.bins[EBBI_CLASS_96].used_slots++;
	check();
}

TEST(check_finds_faults)
{
	begin(4096);
	take_many(EBBI_CLASS_96, 100);
	CHECK_DIES(wrong_empty, NULL, "ebb: internal error: a bin's count of empty slabs is wrong");
	CHECK_DIES(wrong_queue, NULL, "ebb: internal error: a slab is on the wrong queue");
	CHECK_DIES(wrong_used, NULL, "ebb: internal error: a bin counts more slots than it has");
}

int main(void)
{
	RUN(slots_are_apart_and_in_order);
	RUN(give_bits);
	RUN(parties);
	RUN(scattered_slots);
	RUN(fullest_first);
	RUN(one_empty_slab_is_kept);
	RUN(holes_go_at_the_second_look);
	RUN(used_between_looks_stays);
	RUN(the_kept_empty_slab_goes_at_the_second_look);
	RUN(everything_at_once);
	RUN(refused_purge_keeps_the_slots);
	RUN(more_slabs_than_a_batch);
	RUN(descriptors_move_together);
	RUN(refused_memory);
	RUN(large_kernel_pages);
	RUN(misuse);
	RUN(check_finds_faults);
	return check_report();
}
