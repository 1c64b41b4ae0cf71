/*
 * Random operations on bins against a list of who has which slot: nothing is handed out twice, nothing
 * is lost, contents stay. The kernel refuses now and then.
 *
 *	unit.slabs.random [seed [steps]]
 */
#include "slabs/store.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "fake_vm.h"
#include "seeded.h"

#define SLOTS_MOST 6000u

/* A few classes that share one set of pages. */
static const unsigned classes[] = {EBBI_CLASS_16,   EBBI_CLASS_48,   EBBI_CLASS_256,  EBBI_CLASS_1024,
				   EBBI_CLASS_1280, EBBI_CLASS_4096, EBBI_CLASS_5120, EBBI_CLASS_32768};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

struct held {
	void *slots[SLOTS_MOST];
	unsigned count;
};

static struct ebbi_store store;
static struct held held[CLASSES];
static uint64_t state;

/* First and last word of a slot in use: which slot it is. Free slots may hold anything. */
static void mark(unsigned which, void *slot)
{
	size_t bytes = ebbi_sizes[classes[which]].bytes;

	((uint64_t *)slot)[0] = (uintptr_t)slot * 3 + which;
	((uint64_t *)slot)[bytes / 8 - 1] = (uintptr_t)slot * 5 + which;
}

static void check_mark(unsigned which, const void *slot)
{
	size_t bytes = ebbi_sizes[classes[which]].bytes;

	if (((const uint64_t *)slot)[0] != (uintptr_t)slot * 3 + which ||
	    ((const uint64_t *)slot)[bytes / 8 - 1] != (uintptr_t)slot * 5 + which)
		CHECK_FAIL("slot %p of %zu bytes was written by somebody else", slot, bytes);
}

/* A slot that is handed out twice carries its mark; one that was freed has it erased. */
static void hold(unsigned which, void *slot)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)slot);

	CHECK_EQ(ebbi_entry_kind(entry), classes[which]);
	if (*(uint64_t *)slot == (uintptr_t)slot * 3 + which)
		CHECK_FAIL("slot %p was handed out twice", slot);
	mark(which, slot);
	held[which].slots[held[which].count++] = slot;
}

static void drop(unsigned which, unsigned i, void **ret_slot)
{
	*ret_slot = held[which].slots[i];
	check_mark(which, *ret_slot);
	*(uint64_t *)*ret_slot = 0;
	held[which].slots[i] = held[which].slots[--held[which].count];
}

static void step_take(unsigned which)
{
	void *slots[64];
	struct ebbi_taking taking = {
		.wanted = 1 + (unsigned)seeded_below(&state, 64),
		.taker = (unsigned)seeded_below(&state, 6),
		.slots = slots,
		.room = 1 + (unsigned)seeded_below(&state, 64),
	};
	unsigned got;

	if (held[which].count + 64 > SLOTS_MOST ||
	    ebbi_bin_take(&store, &store.home.bins[classes[which]], &taking) != 0)
		return;
	got = taking.count + ebbi_bit_count(taking.bits);
	CHECK(got >= 1 && got <= taking.wanted && taking.count <= taking.room);
	for (unsigned i = 0; i < taking.count; i++)
		hold(which, slots[i]);
	/* Now and then the claim goes back unused, as it does when a cache is drained. */
	if (taking.bits != 0 && seeded_below(&state, 8) == 0) {
		ebbi_bin_give_bits(&store, &store.home.bins[classes[which]], taking.bits, taking.base);
		return;
	}
	for (; taking.bits != 0; taking.bits &= taking.bits - 1)
		hold(which, taking.base + ebbi_bit_lowest(taking.bits) * (size_t)ebbi_sizes[classes[which]].bytes);
}

static void step_give(unsigned which, bool neighbours)
{
	unsigned count = 1 + (unsigned)seeded_below(&state, EBBI_GIVE_MOST);
	void *slots[EBBI_GIVE_MOST];

	if (count > held[which].count)
		count = held[which].count;
	if (count == 0)
		return;
	for (unsigned i = 0; i < count; i++) {
		unsigned at = (unsigned)seeded_below(&state, held[which].count);

		drop(which, neighbours ? held[which].count - 1 : at, &slots[i]);
	}
	ebbi_bin_give(&store, &store.home.bins[classes[which]], slots, count);
}

static void step_purge(bool everything)
{
	size_t left = 0;

	for (unsigned which = 0; which < CLASSES; which++)
		(void)ebbi_bin_purge(&store, &store.home.bins[classes[which]], everything, &left);
	(void)ebbi_pages_purge(&store.pages, everything, &left);
}

static void check_all(void)
{
	for (unsigned which = 0; which < CLASSES; which++) {
		struct ebbi_bin *bin = &store.home.bins[classes[which]];

		ebbi_bin_check(&store.home.bins[classes[which]]);
		CHECK_EQ(bin->used_slots, held[which].count);
		for (unsigned i = 0; i < held[which].count; i++)
			check_mark(which, held[which].slots[i]);
	}
	ebbi_pages_check(&store.pages);
}

static void one_step(void)
{
	unsigned which = (unsigned)seeded_below(&state, CLASSES);

	switch (seeded_below(&state, 16)) {
	default:
		step_take(which);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
		step_give(which, /* neighbours= */ false);
		break;
	case 11:
	case 12:
		for (unsigned i = 0; i < 8; i++)
			step_give(which, /* neighbours= */ true);
		break;
	case 13:
		step_purge(seeded_below(&state, 8) == 0);
		break;
	}
}

static void run_steps(size_t page_bytes, unsigned per_mille, unsigned steps)
{
	size_t left;

	memset(&store, 0, sizeof(store));
	memset(held, 0, sizeof(held));
	fake_vm_reset(page_bytes);
	ebbi_store_init(&store, &fake_vm, page_bytes, EBBI_HUGE_ADVICE_NONE);
	fake_vm_refuse_randomly(FAKE_ALL, per_mille, seeded_next(&state));
	for (unsigned step = 0; step < steps; step++) {
		one_step();
		if (step % 128 == 0)
			check_all();
	}
	check_all();
	for (unsigned which = 0; which < CLASSES; which++)
		while (held[which].count > 0)
			step_give(which, /* neighbours= */ false);
	check_all();
	fake_vm_refuse_randomly(0, 0, 0);
	step_purge(/* everything= */ true);
	CHECK_EQ(store.pages.live_pages, 0u);
	CHECK_EQ(store.meta.used_bytes, 0u);
	(void)ebbi_pages_purge(&store.pages, /* everything= */ true, &left);
	CHECK_EQ(left, 0u);
}

static uint64_t seed = 1;
static unsigned steps = EBBI_TSAN || EBBI_ASAN ? 1500 : 5000;

TEST(random)
{
	static const size_t units[] = {4096, 16384, 65536};

	for (unsigned i = 0; i < 3; i++) {
		state = seed + i;
		run_steps(units[i], 0, steps);
		run_steps(units[i], 50, steps);
		run_steps(units[i], 400, steps / 4);
	}
}

/* User space ends there with 39 bits of address, as on small arm64 kernels, and with 47. */
TEST(at_the_end_of_address_space)
{
	static const unsigned bits[] = {39, 47};

	if (EBBI_TSAN || EBBI_ASAN)
		return; /* their shadows lie there */
	for (unsigned i = 0; i < 2; i++) {
		uintptr_t top = (uintptr_t)1 << bits[i];
		uintptr_t base;
		size_t bytes;

		fake_vm_place_below(top);
		state = seed + i;
		run_steps(4096, 0, steps / 4);
		run_steps(65536, 50, steps / 4);
		fake_vm_last(FAKE_RESERVE, &base, &bytes);
		/* The stack and libraries are near the end as well, and their places random. */
		CHECK(base < top && top - base < (uintptr_t)1 << 38);
	}
	fake_vm_place_below(0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		steps = (unsigned)strtoul(argv[2], NULL, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	RUN(random);
	RUN(at_the_end_of_address_space);
	return check_report();
}
