/* Runs of pages: taking, freeing, growing, giving back, and every way the kernel may refuse. */
#include "pages/pages.h"

#include <errno.h>
#include <sys/resource.h>

#include "check.h"
#include "child.h"
#include "fake_vm.h"
#include "pages/grow.h"

#define AT(base, page) ((base) + (uintptr_t)(page)*EBBI_PAGE_BYTES)
#define MIB ((size_t)1 << 20)

static struct ebbi_pages pages;

static void begin(size_t page_bytes)
{
	memset(&pages, 0, sizeof(pages));
	fake_vm_reset(page_bytes);
	ebbi_pages_init(&pages, &fake_vm, page_bytes, EBBI_HUGE_ADVICE_NONE);
}

static uintptr_t take(size_t count)
{
	uintptr_t base = 0;

	CHECK_EQ(ebbi_pages_alloc(&pages, count, 1, &base), 0);
	return base;
}

static void touch(uintptr_t base, size_t count)
{
	for (size_t i = 0; i < count; i++)
		memset((void *)AT(base, i), 0xa5, 16);
}

static bool is_zero(uintptr_t base, size_t count)
{
	for (size_t i = 0; i < count * EBBI_PAGE_BYTES; i++)
		if (((const char *)base)[i] != 0)
			return false;
	return true;
}

TEST(init_asks_for_nothing)
{
	begin(4096);
	for (unsigned op = 0; op < FAKE_OPS; op++)
		CHECK_EQ(fake_vm_calls(op), 0u);
	ebbi_pages_check(&pages);
}

TEST(take_and_free)
{
	uintptr_t a;
	uintptr_t b;
	uintptr_t c;

	begin(4096);
	a = take(3);
	b = take(5);
	c = take(7);
	CHECK_EQ(b, AT(a, 3));
	CHECK_EQ(c, AT(b, 5));
	CHECK(is_zero(a, 15));
	touch(a, 15);
	CHECK_EQ(pages.live_pages, 15u);
	CHECK_EQ(pages.dirty_pages, 0u);
	ebbi_pages_free(&pages, b, 5);
	ebbi_pages_check(&pages);
	CHECK_EQ(pages.live_pages, 10u);
	CHECK_EQ(pages.dirty_pages, 5u);
	/* Resident before fresh, exact before split. */
	CHECK_EQ(take(2), b);
	CHECK_EQ(take(3), AT(b, 2));
	CHECK_EQ(pages.dirty_pages, 0u);
	ebbi_pages_free(&pages, a, 3);
	ebbi_pages_free(&pages, AT(b, 2), 3);
	ebbi_pages_free(&pages, c, 7);
	ebbi_pages_check(&pages);
	ebbi_pages_free(&pages, b, 2);
	ebbi_pages_check(&pages);
	/* All fifteen are one again. */
	CHECK_EQ(take(15), a);
	CHECK_EQ(pages.live_pages, 15u);
}

TEST(best_fit)
{
	uintptr_t small;
	uintptr_t large;

	begin(4096);
	large = take(20);
	(void)take(1);
	small = take(6);
	(void)take(1);
	ebbi_pages_free(&pages, small, 6);
	ebbi_pages_free(&pages, large, 20);
	CHECK_EQ(take(5), small);
	CHECK_EQ(take(10), large);
	CHECK_EQ(take(10), AT(large, 10));
	CHECK_EQ(take(1), AT(small, 5));
	ebbi_pages_check(&pages);
}

TEST(dirty_before_clean)
{
	uintptr_t clean;
	uintptr_t dirty;
	size_t left;

	begin(4096);
	clean = take(8);
	(void)take(1);
	dirty = take(16);
	(void)take(1);
	ebbi_pages_free(&pages, clean, 8);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ true, &left), 8u);
	ebbi_pages_free(&pages, dirty, 16);
	CHECK_EQ(take(8), dirty);
	CHECK_EQ(take(8), AT(dirty, 8));
	CHECK_EQ(take(8), clean);
	ebbi_pages_check(&pages);
}

TEST(aligned)
{
	begin(4096);
	for (size_t align = 1; align <= 1024; align *= 2) {
		uintptr_t base = 0;
		size_t before;

		(void)take(1);
		before = pages.live_pages;
		CHECK_EQ(ebbi_pages_alloc(&pages, 3, align, &base), 0);
		CHECK_EQ(base % (align * EBBI_PAGE_BYTES), 0u);
		CHECK_EQ(pages.live_pages, before + 3);
		CHECK(fake_vm_is_committed(base, 3 * EBBI_PAGE_BYTES));
		ebbi_pages_check(&pages);
	}
	/* From a free run: what is skipped on either side stays free. */
	begin(4096);
	ebbi_pages_free(&pages, take(100), 100);
	for (unsigned i = 0; i < 2; i++) {
		uintptr_t base = 0;

		CHECK_EQ(ebbi_pages_alloc(&pages, 8, 32, &base), 0);
		CHECK_EQ(base % (32 * EBBI_PAGE_BYTES), 0u);
		CHECK_EQ(pages.dirty_pages, 100u - 8 * (i + 1));
		ebbi_pages_check(&pages);
	}
}

TEST(extend)
{
	uintptr_t a;
	uintptr_t b;

	begin(4096);
	a = take(4);
	/* Into the wilderness. */
	CHECK(ebbi_pages_extend_try(&pages, a, 4, 4));
	CHECK_EQ(pages.live_pages, 8u);
	b = take(10);
	CHECK_EQ(b, AT(a, 8));
	CHECK(!ebbi_pages_extend_try(&pages, a, 8, 1));
	/* Into a free neighbour, whole or in part. */
	(void)take(1);
	ebbi_pages_free(&pages, b, 10);
	CHECK(!ebbi_pages_extend_try(&pages, a, 8, 11));
	CHECK(ebbi_pages_extend_try(&pages, a, 8, 4));
	CHECK_EQ(pages.dirty_pages, 6u);
	ebbi_pages_check(&pages);
	CHECK(ebbi_pages_extend_try(&pages, a, 12, 6));
	CHECK_EQ(pages.dirty_pages, 0u);
	CHECK_EQ(pages.live_pages, 19u);
	ebbi_pages_check(&pages);
	/* Not over the end of what is committed. */
	CHECK(!ebbi_pages_extend_try(&pages, AT(a, 18), 1, 1 * MIB / EBBI_PAGE_BYTES));
}

TEST(two_looks)
{
	uintptr_t a;
	uintptr_t b;
	size_t left = 0;

	begin(4096);
	a = take(10);
	touch(a, 10);
	b = take(10);
	touch(b, 10);
	(void)take(1);
	ebbi_pages_free(&pages, a, 10);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 0u);
	CHECK_EQ(left, 10u);
	/* What is freed between the looks merges, and still waits for its own second look. */
	ebbi_pages_free(&pages, b, 10);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 10u);
	CHECK_EQ(left, 10u);
	CHECK(is_zero(a, 10));
	CHECK_EQ(fake_vm_resident_pages(b, 10 * EBBI_PAGE_BYTES), 10u);
	CHECK_EQ(ebbi_pagemap_bits_count(EBBI_PAGE_PURGED, a, 20), 10u);
	ebbi_pages_check(&pages);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 10u);
	CHECK_EQ(left, 0u);
	CHECK_EQ(pages.dirty_pages, 0u);
	CHECK_EQ(pages.purged_pages, 20u);
	CHECK_EQ(fake_vm_resident_pages(b, 10 * EBBI_PAGE_BYTES), 0u);
	/* Nothing left: no call. */
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 0u);
	CHECK_EQ(fake_vm_calls(FAKE_PURGE), 2u);
	ebbi_pages_check(&pages);
}

TEST(taken_between_looks_is_not_given_back)
{
	uintptr_t a;
	size_t left;

	begin(4096);
	a = take(10);
	(void)take(1);
	touch(a, 10);
	ebbi_pages_free(&pages, a, 10);
	(void)ebbi_pages_purge(&pages, /* everything= */ false, &left);
	CHECK_EQ(take(10), a);
	touch(a, 10);
	ebbi_pages_free(&pages, a, 10);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 0u);
	CHECK_EQ(left, 10u);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 10u);
}

TEST(everything_at_once)
{
	uintptr_t runs[100];
	size_t left;

	begin(4096);
	for (unsigned i = 0; i < 100; i++) {
		runs[i] = take(1 + i % 7);
		touch(runs[i], 1 + i % 7);
		(void)take(1);
	}
	for (unsigned i = 0; i < 100; i++)
		ebbi_pages_free(&pages, runs[i], 1 + i % 7);
	/* More runs than a batch. */
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ true, &left), 395u);
	CHECK_EQ(left, 0u);
	CHECK_EQ(pages.dirty_pages, 0u);
	for (unsigned i = 0; i < 100; i++)
		CHECK(is_zero(runs[i], 1 + i % 7));
	ebbi_pages_check(&pages);
}

TEST(free_known)
{
	uintptr_t a;
	size_t left;

	begin(4096);
	a = take(16);
	(void)take(1);
	touch(a, 16);
	ebbi_pages_free_known(&pages, a, 16, /* resident= */ 0xf0f0, /* aged= */ 0xf000, /* purged= */ 0x000f);
	CHECK_EQ(pages.dirty_pages, 8u);
	ebbi_pages_check(&pages);
	CHECK_EQ(ebbi_pagemap_bits_load(EBBI_PAGE_RESIDENT, a, 16), 0xf0f0u);
	CHECK_EQ(ebbi_pagemap_bits_load(EBBI_PAGE_PURGED, a, 16), 0x000fu);
	/* The aged ones go at the first look. */
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 4u);
	CHECK_EQ(left, 4u);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 4u);
	ebbi_pages_check(&pages);
}

TEST(refused_purge)
{
	uintptr_t a;
	uintptr_t b;
	size_t left;

	begin(4096);
	a = take(10);
	(void)take(1);
	b = take(20);
	(void)take(1);
	touch(a, 10);
	touch(b, 20);
	ebbi_pages_free(&pages, a, 10);
	ebbi_pages_free(&pages, b, 20);
	fake_vm_refuse(FAKE_PURGE, 0, 1);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ true, &left) + left, 30u);
	CHECK_EQ(pages.purge_refused, 1u);
	CHECK_EQ(pages.dirty_pages, left);
	CHECK_EQ(fake_vm_resident_pages(a, 10 * EBBI_PAGE_BYTES) + fake_vm_resident_pages(b, 20 * EBBI_PAGE_BYTES),
		 left);
	ebbi_pages_check(&pages);
	/* Refused for good: ends, and nothing is lost. */
	fake_vm_refuse(FAKE_PURGE, 0, UINT32_MAX);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ true, &left), 0u);
	ebbi_pages_check(&pages);
	(void)take(10);
	(void)take(20);
	CHECK_EQ(pages.dirty_pages, 0u);
}

/* More runs than a batch, every call refused: the walk ends. */
TEST(many_refused_purges)
{
	uintptr_t runs[200];
	size_t left;

	begin(4096);
	for (unsigned i = 0; i < 200; i++) {
		runs[i] = take(1);
		(void)take(1);
	}
	for (unsigned i = 0; i < 200; i++)
		ebbi_pages_free(&pages, runs[i], 1);
	fake_vm_refuse(FAKE_PURGE, 0, UINT32_MAX);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ true, &left), 0u);
	CHECK_EQ(left, 200u);
	CHECK_LT(fake_vm_calls(FAKE_PURGE), 1000u);
	ebbi_pages_check(&pages);
	fake_vm_refuse(FAKE_PURGE, 0, 0);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ true, &left), 200u);
	ebbi_pages_check(&pages);
}

TEST(growth_steps)
{
	size_t step = 0;
	size_t committed = 0;
	unsigned regions;

	begin(4096);
	(void)take(1);
	CHECK_EQ(pages.wild_end - pages.wild_start, MIB - EBBI_PAGE_BYTES);
	CHECK_EQ(pages.mapped_bytes, 64 * MIB);
	/* Steps double up to 32 MiB: far fewer calls than mebibytes. */
	for (unsigned i = 0; i < 200; i++)
		(void)take(MIB / EBBI_PAGE_BYTES);
	committed = pages.wild_end - pages.wild_start;
	CHECK_LE(committed, 32 * MIB);
	CHECK_LT(fake_vm_calls(FAKE_COMMIT), 20u);
	regions = fake_vm_calls(FAKE_RESERVE);
	CHECK_EQ(regions, 3u);
	CHECK_EQ(pages.mapped_bytes, (64 + 128 + 256) * MIB);
	CHECK_EQ(pages.map_calls, fake_vm_calls(FAKE_COMMIT) + fake_vm_calls(FAKE_RESERVE));
	ebbi_pages_check(&pages);
	(void)step;
}

TEST(a_run_larger_than_a_region)
{
	uintptr_t base = 0;

	begin(4096);
	(void)take(1);
	CHECK_EQ(ebbi_pages_alloc(&pages, 300 * MIB / EBBI_PAGE_BYTES, 1, &base), 0);
	CHECK(fake_vm_is_committed(base, 300 * MIB));
	/* The rest of the first region is found again. */
	CHECK_EQ(fake_vm_calls(FAKE_RESERVE), 2u);
	(void)take(MIB / EBBI_PAGE_BYTES - 1);
	CHECK_EQ(fake_vm_calls(FAKE_RESERVE), 2u);
	ebbi_pages_check(&pages);
}

TEST(refused_reserve)
{
	uintptr_t base = 7;

	begin(4096);
	fake_vm_refuse(FAKE_RESERVE, 0, UINT32_MAX);
	CHECK_EQ(ebbi_pages_alloc(&pages, 10, 1, &base), -ENOMEM);
	CHECK_EQ(pages.live_pages, 0u);
	CHECK_EQ(pages.mapped_bytes, 0u);
	ebbi_pages_check(&pages);
	/* 64 MiB refused, 32 MiB granted. */
	fake_vm_refuse(FAKE_RESERVE, 0, 1);
	CHECK_EQ(ebbi_pages_alloc(&pages, 10, 1, &base), 0);
	CHECK_EQ(pages.mapped_bytes, 32 * MIB);
	ebbi_pages_check(&pages);
}

TEST(refused_commit)
{
	uintptr_t base = 0;

	begin(4096);
	fake_vm_refuse(FAKE_COMMIT, 0, UINT32_MAX);
	CHECK_EQ(ebbi_pages_alloc(&pages, 10, 1, &base), -ENOMEM);
	CHECK_EQ(pages.live_pages, 0u);
	/* The region is kept and the step refused once: the bare need is asked for. */
	fake_vm_refuse(FAKE_COMMIT, 0, 1);
	CHECK_EQ(ebbi_pages_alloc(&pages, 10, 1, &base), 0);
	CHECK_EQ(fake_vm_calls(FAKE_RESERVE), 1u);
	CHECK_LE(pages.wild_end - base, 16 * EBBI_PAGE_BYTES);
	ebbi_pages_check(&pages);
}

TEST(refused_leaf)
{
	uintptr_t base = 0;
	unsigned attempts = 0;

	begin(4096);
	/* Some regions lie on leaves that earlier tests mapped: take until a new leaf is needed. */
	fake_vm_refuse(FAKE_MAP, 0, UINT32_MAX);
	while (attempts < 64 && ebbi_pages_alloc(&pages, 60 * MIB / EBBI_PAGE_BYTES, 1, &base) == 0)
		attempts++;
	CHECK_GT(fake_vm_refused(FAKE_MAP), 0u);
	/* The address space whose leaf was refused is not kept. */
	CHECK_EQ(fake_vm_calls(FAKE_UNMAP), 1u);
	ebbi_pages_check(&pages);
	fake_vm_refuse(FAKE_MAP, 0, 0);
	CHECK_EQ(ebbi_pages_alloc(&pages, 60 * MIB / EBBI_PAGE_BYTES, 1, &base), 0);
	ebbi_pages_check(&pages);
}

TEST(absurd_counts)
{
	uintptr_t base = 0;

	begin(4096);
	CHECK_EQ(ebbi_pages_alloc(&pages, (size_t)1 << 35, 1, &base), -ENOMEM);
	CHECK_EQ(ebbi_pages_alloc(&pages, (size_t)1 << 50, 1, &base), -ENOMEM);
	CHECK_EQ(pages.live_pages, 0u);
	ebbi_pages_check(&pages);
}

/* Kernels with pages of 16 and 64 KiB: the fake refuses ranges that are not whole pages of theirs. */
TEST(large_kernel_pages)
{
	static const size_t units[] = {16384, 65536};

	for (unsigned i = 0; i < 2; i++) {
		size_t unit = units[i] / EBBI_PAGE_BYTES;
		uintptr_t a;
		uintptr_t b;
		size_t left;

		begin(units[i]);
		CHECK_EQ(ebbi_pages_round(&pages, 1), unit);
		CHECK_EQ(ebbi_pages_round(&pages, unit), unit);
		CHECK_EQ(ebbi_pages_round(&pages, unit + 1), 2 * unit);
		a = take(ebbi_pages_round(&pages, 3));
		b = take(2 * unit);
		(void)take(unit);
		CHECK_EQ(a % units[i], 0u);
		CHECK_EQ(b % units[i], 0u);
		touch(a, unit);
		touch(b, 2 * unit);
		ebbi_pages_free(&pages, a, unit);
		ebbi_pages_free(&pages, b, 2 * unit);
		CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 0u);
		CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 3 * unit);
		CHECK(is_zero(a, 3 * unit));
		ebbi_pages_check(&pages);
	}
}

TEST(huge_page_advice)
{
	begin(4096);
	pages.advice = EBBI_HUGE_ADVICE_OFF;
	fake_vm_refuse(FAKE_ADVISE, 0, UINT32_MAX);
	(void)take(1);
	CHECK_EQ(fake_vm_calls(FAKE_ADVISE), 1u);
	begin(4096);
	(void)take(1);
	CHECK_EQ(fake_vm_calls(FAKE_ADVISE), 0u);
}

/* In a child, since the limit also counts what the test itself has mapped. */
static void under_a_limit(void *argument)
{
	const struct rlimit limit = {512 * MIB, 512 * MIB};
	uintptr_t base;

	(void)argument;
	begin(4096);
	(void)setrlimit(RLIMIT_AS, &limit);
	if (ebbi_pages_alloc(&pages, 1, 1, &base) == 0 && pages.mapped_bytes == 32 * MIB)
		fprintf(stderr, "a sixteenth");
}

TEST(address_space_limit)
{
	char text[256];

	/* Sanitizers' own reservations are beyond any limit. */
	if (EBBI_ASAN || EBBI_TSAN)
		return;
	CHECK_EQ(child_run(under_a_limit, NULL, text, sizeof(text)), 0);
	CHECK_STR_EQ(text, "a sixteenth");
}

static void break_an_end(void *argument)
{
	uintptr_t base = take(5);

	(void)argument;
	(void)take(1);
	ebbi_pages_free(&pages, base, 5);
	ebbi_pagemap_set(AT(base, 4), 0);
	ebbi_pages_check(&pages);
}

static void break_the_count(void *argument)
{
	(void)argument;
	ebbi_pages_free(&pages, take(5), 5);
	pages.dirty_pages--;
	ebbi_pages_check(&pages);
}

TEST(check_finds_faults)
{
	begin(4096);
	CHECK_DIES(break_an_end, NULL, "ebb: internal error: the ends of a free run differ");
	CHECK_DIES(break_the_count, NULL, "ebb: internal error: free runs hold more resident pages than were counted");
}

/* More runs than are looked at before the lock is given up: the first look marks each, the second takes each. */
TEST(many_runs_in_a_look)
{
	enum { RUNS = 300 };
	static uintptr_t base[RUNS];
	size_t left;

	begin(4096);
	for (unsigned i = 0; i < RUNS; i++) {
		base[i] = take(4);
		(void)take(1);
	}
	for (unsigned i = 0; i < RUNS; i++) {
		touch(base[i], 4);
		ebbi_pages_free(&pages, base[i], 4);
	}
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), 0u);
	CHECK_EQ(left, (size_t)RUNS * 4);
	ebbi_pages_check(&pages);
	CHECK_EQ(ebbi_pages_purge(&pages, /* everything= */ false, &left), (size_t)RUNS * 4);
	CHECK_EQ(left, 0u);
	ebbi_pages_check(&pages);
}

int main(void)
{
	/* First: later tests leave more mapped than this one allows. */
	RUN(address_space_limit);
	RUN(init_asks_for_nothing);
	RUN(take_and_free);
	RUN(best_fit);
	RUN(dirty_before_clean);
	RUN(aligned);
	RUN(extend);
	RUN(two_looks);
	RUN(many_runs_in_a_look);
	RUN(taken_between_looks_is_not_given_back);
	RUN(everything_at_once);
	RUN(free_known);
	RUN(refused_purge);
	RUN(many_refused_purges);
	RUN(growth_steps);
	RUN(a_run_larger_than_a_region);
	RUN(refused_reserve);
	RUN(refused_commit);
	RUN(refused_leaf);
	RUN(absurd_counts);
	RUN(large_kernel_pages);
	RUN(huge_page_advice);
	RUN(check_finds_faults);
	return check_report();
}
