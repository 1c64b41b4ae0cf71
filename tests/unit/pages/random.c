/*
 * Random operations on page runs against a plain map of who has which page: nothing is handed out
 * twice, nothing is lost, contents stay, and a page that was given back reads as zeros. The kernel
 * refuses now and then.
 *
 *	unit.pages.random [seed [steps]]
 */
#include "pages/pages.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "fake_vm.h"
#include "seeded.h"

#define AT(base, page) ((base) + (uintptr_t)(page)*EBBI_PAGE_BYTES)
#define RUNS_MOST 256u

struct run {
	uintptr_t base;
	size_t count;
	uint64_t mark; /* in the first word of every page */
};

static struct ebbi_pages pages;
static struct run runs[RUNS_MOST];
static unsigned run_count;
static size_t live;
static uint64_t state;

static void write_marks(const struct run *run, size_t from)
{
	for (size_t page = from; page < run->count; page++)
		*(uint64_t *)AT(run->base, page) = run->mark + page;
}

static void check_marks(const struct run *run)
{
	for (size_t page = 0; page < run->count; page++)
		if (*(uint64_t *)AT(run->base, page) != run->mark + page)
			CHECK_FAIL("page %zu of the run at %#zx was written by somebody else", page, (size_t)run->base);
}

/* Does anybody have a page of it? */
static bool is_taken(uintptr_t base, size_t count)
{
	for (unsigned i = 0; i < run_count; i++)
		if (base < AT(runs[i].base, runs[i].count) && runs[i].base < AT(base, count))
			return true;
	return false;
}

/* Pages that are not resident read as zeros. */
static void check_zeros(uintptr_t base, size_t count)
{
	for (size_t page = 0; page < count; page++)
		if (ebbi_pagemap_bits_count(EBBI_PAGE_RESIDENT, AT(base, page), 1) == 0)
			CHECK_EQ(*(uint64_t *)AT(base, page), 0u);
}

static size_t some_count(void)
{
	size_t most = (size_t)1 << seeded_below(&state, 10);

	return ebbi_pages_round(&pages, 1 + seeded_below(&state, most));
}

static void step_alloc(void)
{
	struct run run = {.count = some_count(), .mark = seeded_next(&state)};
	size_t align = seeded_below(&state, 4) == 0 ? (size_t)1 << seeded_below(&state, 9) : 1;

	if (run_count == RUNS_MOST || ebbi_pages_alloc(&pages, run.count, align, &run.base) != 0)
		return;
	CHECK_EQ(run.base % (align * EBBI_PAGE_BYTES), 0u);
	CHECK(fake_vm_is_committed(run.base, run.count * EBBI_PAGE_BYTES));
	CHECK(!is_taken(run.base, run.count));
	check_zeros(run.base, run.count);
	ebbi_pagemap_set(run.base, ebbi_entry_run(EBBI_KIND_RUN, run.count));
	write_marks(&run, 0);
	runs[run_count++] = run;
	live += run.count;
}

static void step_free(unsigned i)
{
	check_marks(&runs[i]);
	live -= runs[i].count;
	if (runs[i].count <= 64 && seeded_below(&state, 2) == 0) {
		uint64_t all = ebbi_bit_range(0, (unsigned)runs[i].count);
		uint64_t absent = 0;

		/* As a slab does whose pages went back before: whole pages of the kernel. */
		for (unsigned page = 0; page < runs[i].count; page += (unsigned)pages.unit_pages)
			if (seeded_below(&state, 3) == 0 &&
			    fake_vm.purge((void *)AT(runs[i].base, page), pages.unit_pages * EBBI_PAGE_BYTES) == 0)
				absent |= ebbi_bit_range(page, (unsigned)pages.unit_pages);
		ebbi_pages_free_known(&pages, runs[i].base, (unsigned)runs[i].count, all & ~absent, 0, absent);
	} else {
		ebbi_pages_free(&pages, runs[i].base, runs[i].count);
	}
	runs[i] = runs[--run_count];
}

/* Give the tail back, as a shrinking block does. */
static void step_shrink(unsigned i)
{
	size_t keep = ebbi_pages_round(&pages, 1 + seeded_below(&state, runs[i].count));

	if (keep >= runs[i].count)
		return;
	ebbi_pages_free(&pages, AT(runs[i].base, keep), runs[i].count - keep);
	live -= runs[i].count - keep;
	runs[i].count = keep;
}

static void step_extend(unsigned i)
{
	size_t more = some_count();
	size_t old = runs[i].count;

	if (!ebbi_pages_extend_try(&pages, runs[i].base, old, more))
		return;
	CHECK(!is_taken(AT(runs[i].base, old), more));
	check_zeros(AT(runs[i].base, old), more);
	runs[i].count += more;
	live += more;
	write_marks(&runs[i], old);
}

static void step_purge(bool everything)
{
	size_t dirty = pages.dirty_pages;
	unsigned refused = fake_vm_refused(FAKE_PURGE);
	size_t left = 0;
	size_t purged = ebbi_pages_purge(&pages, everything, &left);

	CHECK_EQ(purged + left, dirty);
	CHECK_EQ(left, pages.dirty_pages);
	if (everything && fake_vm_refused(FAKE_PURGE) == refused)
		CHECK_EQ(left, 0u);
}

static void check_all(void)
{
	ebbi_pages_check(&pages);
	CHECK_EQ(pages.live_pages, live);
	for (unsigned i = 0; i < run_count; i++)
		check_marks(&runs[i]);
}

static void one_step(void)
{
	unsigned i = run_count == 0 ? 0 : (unsigned)seeded_below(&state, run_count);

	switch (seeded_below(&state, 20)) {
	default:
		step_alloc();
		break;
	case 8:
	case 9:
	case 10:
	case 11:
	case 12:
	case 13:
		if (run_count > 0)
			step_free(i);
		break;
	case 14:
		if (run_count > 0)
			step_shrink(i);
		break;
	case 15:
	case 16:
		if (run_count > 0)
			step_extend(i);
		break;
	case 17:
		step_purge(seeded_below(&state, 10) == 0);
		break;
	}
}

static void run_steps(size_t page_bytes, unsigned per_mille, unsigned steps)
{
	size_t left;

	memset(&pages, 0, sizeof(pages));
	run_count = 0;
	live = 0;
	fake_vm_reset(page_bytes);
	ebbi_pages_init(&pages, &fake_vm, page_bytes, EBBI_HUGE_ADVICE_NONE);
	fake_vm_refuse_randomly(FAKE_ALL, per_mille, seeded_next(&state));
	for (unsigned step = 0; step < steps; step++) {
		one_step();
		if (step % 64 == 0)
			check_all();
	}
	check_all();
	while (run_count > 0)
		step_free(run_count - 1);
	fake_vm_refuse_randomly(0, 0, 0);
	CHECK_EQ(pages.live_pages, 0u);
	(void)ebbi_pages_purge(&pages, /* everything= */ true, &left);
	CHECK_EQ(left, 0u);
	ebbi_pages_check(&pages);
}

static uint64_t seed = 1;
static unsigned steps = EBBI_TSAN || EBBI_ASAN ? 1000 : 6000;

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

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		steps = (unsigned)strtoul(argv[2], NULL, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	RUN(random);
	return check_report();
}
