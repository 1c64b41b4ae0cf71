/* Blocks above the size classes: runs, mappings, what is retained, resizing, refusals. */
#include "slabs/large.h"

#include <errno.h>

#include "check.h"
#include "fake_vm.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static struct ebbi_store store;
static struct ebbi_large large;

static void begin(size_t page_bytes)
{
	memset(&store, 0, sizeof(store));
	memset(&large, 0, sizeof(large));
	fake_vm_reset(page_bytes);
	ebbi_store_init(&store, &fake_vm, page_bytes, EBBI_HUGE_ADVICE_NONE);
	ebbi_large_init(&large, &store);
}

static uint64_t entry_of(const void *block)
{
	return ebbi_pagemap_get((uintptr_t)block);
}

static char *take(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	void *block = NULL;

	CHECK_EQ(ebbi_large_alloc(&large, bytes, align_bytes, content, &block), 0);
	CHECK_EQ((uintptr_t)block % align_bytes, 0u);
	CHECK_GE(ebbi_entry_run_pages(entry_of(block)) * EBBI_PAGE_BYTES, bytes);
	return block;
}

static void release(char *block)
{
	ebbi_large_free(&large, block, entry_of(block));
}

static bool resize(char **block, size_t bytes)
{
	void *moved = NULL;
	bool done = ebbi_large_resize_try(&large, *block, entry_of(*block), bytes, &moved);

	if (done)
		*block = moved;
	return done;
}

static bool is_all(const char *block, char value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (block[i] != value)
			return false;
	return true;
}

TEST(runs)
{
	char *a;
	char *b;

	begin(4096);
	a = take(40000, 16, EBBI_CONTENT_ANY);
	CHECK_EQ(ebbi_entry_kind(entry_of(a)), EBBI_KIND_RUN);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 10u);
	CHECK_EQ(large.run_pages, 10u);
	b = take(100000, 65536, EBBI_CONTENT_ANY);
	CHECK_EQ(large.run_pages, 35u);
	memset(a, 1, 40960);
	memset(b, 2, 100000);
	CHECK(is_all(a, 1, 40960));
	release(a);
	CHECK_EQ(ebbi_entry_kind(entry_of(a)), EBBI_KIND_FREE);
	release(b);
	CHECK_EQ(large.run_pages, 0u);
	CHECK_EQ(large.mapping_pages, 0u);
	ebbi_pages_check(&store.pages);
}

TEST(zero_content_after_reuse)
{
	char *a;
	size_t left;

	begin(4096);
	a = take(64 * KIB, 16, EBBI_CONTENT_ZERO);
	CHECK(is_all(a, 0, 64 * KIB));
	memset(a, 7, 64 * KIB);
	release(a);
	CHECK(take(64 * KIB, 16, EBBI_CONTENT_ZERO) == a);
	CHECK(is_all(a, 0, 64 * KIB));
	memset(a, 7, 64 * KIB);
	release(a);
	/* Given back in part: only the rest is to be overwritten. */
	a = take(32 * KIB, 16, EBBI_CONTENT_ANY);
	(void)ebbi_pages_purge(&store.pages, /* everything= */ true, &left);
	release(a);
	CHECK(take(64 * KIB, 16, EBBI_CONTENT_ZERO) == a);
	CHECK(is_all(a, 0, 64 * KIB));
	CHECK_EQ(fake_vm_resident_pages((uintptr_t)a, 64 * KIB), 16u); /* the check read them in */
	release(a);
	/* A mapping. */
	a = take(8 * MIB, 16, EBBI_CONTENT_ANY);
	memset(a, 7, 8 * MIB);
	release(a);
	CHECK(take(8 * MIB, 16, EBBI_CONTENT_ZERO) == a);
	CHECK(is_all(a, 0, 8 * MIB));
}

TEST(refaults_are_counted)
{
	char *a;
	size_t left;

	begin(4096);
	a = take(64 * KIB, 16, EBBI_CONTENT_ANY);
	memset(a, 1, 64 * KIB);
	release(a);
	CHECK_EQ(ebbi_pages_purge(&store.pages, /* everything= */ true, &left), 16u);
	CHECK_EQ(large.refault_pages, 0u);
	a = take(32 * KIB, 16, EBBI_CONTENT_ANY);
	CHECK_EQ(large.refault_pages, 8u);
	(void)a;
}

TEST(mappings)
{
	char *a;
	char *b;

	begin(4096);
	a = take(EBBI_MAPPING_LEAST, 16, EBBI_CONTENT_ANY);
	CHECK_EQ(ebbi_entry_kind(entry_of(a)), EBBI_KIND_MAPPING);
	CHECK_EQ(large.mapping_pages, EBBI_MAPPING_LEAST / 4096);
	b = take(100, 16 * MIB, EBBI_CONTENT_ANY);
	CHECK_EQ(ebbi_entry_kind(entry_of(b)), EBBI_KIND_MAPPING);
	CHECK_EQ(large.map_calls, 2u);
	memset(a, 1, EBBI_MAPPING_LEAST);
	release(a);
	CHECK_EQ(entry_of(a), 0u);
	CHECK_EQ(large.retained_pages, EBBI_MAPPING_LEAST / 4096);
	release(b);
	CHECK_EQ(large.mapping_pages, 0u);
}

TEST(retained)
{
	char *a;
	char *b;
	char *c;
	size_t left = 0;

	begin(4096);
	a = take(10 * MIB, 16, EBBI_CONTENT_ANY);
	b = take(12 * MIB, 16, EBBI_CONTENT_ANY);
	c = take(20 * MIB, 16, EBBI_CONTENT_ANY);
	release(b);
	release(a);
	CHECK_EQ(fake_vm_calls(FAKE_UNMAP), 0u);
	memset(c, 1, 20 * MIB);
	/* What is above the bound of 32 MiB goes at once: half of this one. */
	release(c);
	CHECK_EQ(fake_vm_calls(FAKE_UNMAP), 1u);
	CHECK_EQ(large.retained_pages, 32 * MIB / 4096);
	/* The smallest that serves. */
	CHECK(take(10 * MIB + 1, 16, EBBI_CONTENT_ANY) == b);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(b)), 12 * MIB / 4096);
	CHECK(take(9 * MIB, 16, EBBI_CONTENT_ANY) != NULL);
	CHECK(take(8 * MIB, 16, EBBI_CONTENT_ANY) != NULL);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 10 * MIB / 4096);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(c)), 10 * MIB / 4096);
	CHECK(is_all(c, 1, 10 * MIB));
	CHECK_EQ(large.retained_pages, 0u);
	release(c);
	left = 0;
	CHECK_EQ(ebbi_large_purge(&large, /* everything= */ true, &left), 10 * MIB / 4096);
	/* Two looks. */
	release(a);
	CHECK_EQ(ebbi_large_purge(&large, /* everything= */ false, &left), 0u);
	CHECK_EQ(left, 10 * MIB / 4096);
	release(b);
	left = 0;
	CHECK_EQ(ebbi_large_purge(&large, /* everything= */ false, &left), 10 * MIB / 4096);
	CHECK_EQ(left, 12 * MIB / 4096);
	left = 0;
	CHECK_EQ(ebbi_large_purge(&large, /* everything= */ true, &left), 12 * MIB / 4096);
	CHECK_EQ(left, 0u);
	CHECK_EQ(large.retained_pages, 0u);
	CHECK_EQ(large.retained_count, 0u);
}

/* A retained mapping far larger than a request is cut, grown into, and united again. */
TEST(retained_parts)
{
	char *a;
	char *b;
	char *c;
	size_t left = 0;

	begin(4096);
	a = take(30 * MIB, 16, EBBI_CONTENT_ANY);
	memset(a, 1, 30 * MIB);
	release(a);
	CHECK(take(5 * MIB, 16, EBBI_CONTENT_ANY) == a);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 5 * MIB / 4096);
	CHECK_EQ(large.mapping_pages, 5 * MIB / 4096);
	CHECK_EQ(large.retained_pages, 25 * MIB / 4096);
	/* Into the part behind it, without a call. */
	b = a;
	CHECK(resize(&b, 8 * MIB) && b == a);
	CHECK_EQ(fake_vm_calls(FAKE_REMAP), 0u);
	CHECK_EQ(large.mapping_pages, 8 * MIB / 4096);
	CHECK_EQ(large.retained_pages, 22 * MIB / 4096);
	c = take(6 * MIB, 16, EBBI_CONTENT_ZERO);
	CHECK(c == a + 8 * MIB);
	CHECK(is_all(c, 0, 6 * MIB));
	CHECK(is_all(a, 1, 8 * MIB));
	release(c);
	CHECK_EQ(large.retained_count, 1u);
	CHECK_EQ(large.retained_pages, 22 * MIB / 4096);
	CHECK_EQ(fake_vm_calls(FAKE_MAP), 1u);
	/* All of it serves a large request again. */
	CHECK(take(20 * MIB, 16, EBBI_CONTENT_ANY) == c);
	release(c);
	/* With an aged part nothing unites: it goes, though its neighbour came and went. */
	CHECK_EQ(ebbi_large_purge(&large, /* everything= */ false, &left), 0u);
	CHECK(take(5 * MIB, 16, EBBI_CONTENT_ANY) == c);
	release(c);
	CHECK_EQ(large.retained_count, 2u);
	left = 0;
	CHECK_EQ(ebbi_large_purge(&large, /* everything= */ false, &left), 17 * MIB / 4096);
	CHECK_EQ(left, 5 * MIB / 4096);
	release(b);
	(void)ebbi_large_purge(&large, /* everything= */ true, &left);
	CHECK_EQ(large.retained_pages, 0u);
	CHECK_EQ(large.mapping_pages, 0u);
}

/* Where all are too small the largest is grown and keeps what it held; but not where that would not be right. */
TEST(retained_grow)
{
	char *a;

	begin(4096);
	a = take(6 * MIB, 16, EBBI_CONTENT_ANY);
	memset(a, 1, 6 * MIB);
	release(a);
	/* More than four times as large; to stand where it may not be moved to; zeros. */
	(void)take(25 * MIB, 16, EBBI_CONTENT_ANY);
	(void)take(8 * MIB, 8192, EBBI_CONTENT_ANY);
	CHECK(is_all(take(8 * MIB, 16, EBBI_CONTENT_ZERO), 0, 8 * MIB));
	CHECK_EQ(fake_vm_calls(FAKE_REMAP), 0u);
	CHECK_EQ(large.retained_pages, 6 * MIB / 4096);
	a = take(11 * MIB, 16, EBBI_CONTENT_ANY);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 11 * MIB / 4096);
	CHECK(is_all(a, 1, 6 * MIB));
	CHECK_EQ(large.retained_pages, 0u);
	CHECK_EQ(large.mapping_pages, (25 + 8 + 8 + 11) * MIB / 4096);
	/* Refused: it stays what it was. */
	release(a);
	fake_vm_refuse(FAKE_REMAP, 0, UINT32_MAX);
	CHECK(take(15 * MIB, 16, EBBI_CONTENT_ANY) != NULL);
	CHECK_EQ(large.retained_pages, 11 * MIB / 4096);
	CHECK(take(11 * MIB, 16, EBBI_CONTENT_ANY) == a);
	CHECK_EQ(large.mapping_pages, (25 + 8 + 8 + 15 + 11) * MIB / 4096);
}

TEST(retained_alignment)
{
	char *a;

	begin(4096);
	do
		a = take(4 * MIB, 16, EBBI_CONTENT_ANY);
	while ((uintptr_t)a % (4 * MIB) == 0);
	release(a);
	CHECK(take(4 * MIB, 4 * MIB, EBBI_CONTENT_ANY) != a);
	CHECK(take(4 * MIB, 16, EBBI_CONTENT_ANY) == a);
}

TEST(more_than_the_slots_can_retain)
{
	char *blocks[EBBI_RETAIN_SLOTS + 10];
	size_t left = 0;

	begin(4096);
	/* Much alive in mappings raises the bound in bytes, so that the slots are what runs out. */
	(void)take((size_t)4 << 30, 16, EBBI_CONTENT_ANY);
	for (unsigned i = 0; i < EBBI_RETAIN_SLOTS + 10; i++)
		blocks[i] = take(EBBI_MAPPING_LEAST, 16, EBBI_CONTENT_ANY);
	for (unsigned i = 0; i < EBBI_RETAIN_SLOTS + 10; i++)
		release(blocks[i]);
	CHECK_EQ(large.retained_count, EBBI_RETAIN_SLOTS);
	CHECK_EQ(fake_vm_calls(FAKE_UNMAP), 10u);
	(void)ebbi_large_purge(&large, /* everything= */ true, &left);
	CHECK_EQ(fake_vm_calls(FAKE_UNMAP), EBBI_RETAIN_SLOTS + 10u);
}

TEST(runs_resize_in_place)
{
	char *a;
	char *b;

	begin(4096);
	a = take(40 * KIB, 16, EBBI_CONTENT_ANY);
	memset(a, 3, 40 * KIB);
	CHECK(resize(&a, 39 * KIB));
	CHECK_EQ(large.run_pages, 10u);
	/* Grow into the wilderness, shrink, grow back. */
	CHECK(resize(&a, 80 * KIB));
	CHECK_EQ(large.run_pages, 20u);
	CHECK(is_all(a, 3, 40 * KIB));
	CHECK(resize(&a, 40 * KIB));
	CHECK_EQ(store.pages.dirty_pages, 10u);
	CHECK(resize(&a, 60 * KIB));
	CHECK_EQ(store.pages.dirty_pages, 5u);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 15u);
	/* A neighbour in the way. */
	b = take(20 * KIB, 16, EBBI_CONTENT_ANY);
	CHECK(b == a + 60 * KIB);
	CHECK(!resize(&a, 100 * KIB));
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 15u);
	CHECK_EQ(large.run_pages, 20u);
	/* A run does not become a mapping, the caller copies. */
	CHECK(!resize(&b, 8 * MIB));
	CHECK(is_all(a, 3, 40 * KIB));
	ebbi_pages_check(&store.pages);
}

TEST(mappings_resize)
{
	char *a;
	char *first;

	begin(4096);
	a = first = take(8 * MIB, 16, EBBI_CONTENT_ANY);
	memset(a, 5, 8 * MIB);
	CHECK(resize(&a, 5 * MIB));
	CHECK(a == first);
	CHECK_EQ(large.mapping_pages, 5 * MIB / 4096);
	/* In place refused: the pages move. */
	fake_vm_refuse(FAKE_REMAP, 0, 1);
	CHECK(resize(&a, 64 * MIB));
	CHECK(a != first);
	CHECK_EQ(entry_of(first), 0u);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 64 * MIB / 4096);
	CHECK_EQ(large.mapping_pages, 64 * MIB / 4096);
	CHECK(is_all(a, 5, 5 * MIB));
	CHECK(is_all(a + 5 * MIB, 0, 1 * MIB));
	/* A mapping does not become a run. */
	CHECK(!resize(&a, 1 * MIB));
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 64 * MIB / 4096);
}

TEST(refused_resizes_change_nothing)
{
	char *a;
	char *first;

	begin(4096);
	a = first = take(8 * MIB, 16, EBBI_CONTENT_ANY);
	memset(a, 5, 8 * MIB);
	fake_vm_refuse(FAKE_REMAP, 0, UINT32_MAX);
	CHECK(!resize(&a, 16 * MIB));
	CHECK(a == first);
	CHECK_EQ(ebbi_entry_kind(entry_of(a)), EBBI_KIND_MAPPING);
	CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), 8 * MIB / 4096);
	CHECK_EQ(large.mapping_pages, 8 * MIB / 4096);
	CHECK_EQ(fake_vm_calls(FAKE_RESERVE), fake_vm_calls(FAKE_UNMAP));
	fake_vm_refuse(FAKE_REMAP, 0, 1);
	fake_vm_refuse(FAKE_RESERVE, 0, 1);
	CHECK(!resize(&a, 16 * MIB));
	CHECK(is_all(a, 5, 8 * MIB));
	CHECK(!resize(&a, SIZE_MAX));
	CHECK(!resize(&a, (size_t)1 << 47));
	release(a);
}

TEST(nested)
{
	void *block = NULL;

	begin(4096);
	CHECK_EQ(ebbi_large_alloc_nested(&large, 100, 64, &block), 0);
	CHECK_EQ(ebbi_entry_kind(entry_of(block)), EBBI_KIND_NESTED);
	CHECK_EQ(large.mapping_pages, 1u);
	memset(block, 1, 4096);
	ebbi_large_free(&large, block, entry_of(block));
	CHECK_EQ(large.mapping_pages, 0u);
	CHECK_EQ(large.retained_count, 0u);
	CHECK_EQ(fake_vm_calls(FAKE_UNMAP), 1u);
	fake_vm_refuse(FAKE_MAP, 0, 1);
	CHECK_EQ(ebbi_large_alloc_nested(&large, 100, 64, &block), -ENOMEM);
	CHECK_EQ(ebbi_large_alloc_nested(&large, SIZE_MAX, 64, &block), -ENOMEM);
}

/* Where a mapping cannot be split any more munmap fails: it is emptied at least. */
TEST(refused_unmap)
{
	char *a;
	size_t left = 0;

	begin(4096);
	a = take(8 * MIB, 16, EBBI_CONTENT_ANY);
	memset(a, 1, 8 * MIB);
	release(a);
	fake_vm_refuse(FAKE_UNMAP, 0, 1);
	(void)ebbi_large_purge(&large, /* everything= */ true, &left);
	CHECK_EQ(fake_vm_resident_pages((uintptr_t)a, 8 * MIB), 0u);
}

TEST(refused_memory)
{
	void *block = NULL;

	begin(4096);
	CHECK_EQ(ebbi_large_alloc(&large, SIZE_MAX, 16, EBBI_CONTENT_ANY, &block), -ENOMEM);
	CHECK_EQ(ebbi_large_alloc(&large, (size_t)1 << 48, 16, EBBI_CONTENT_ANY, &block), -ENOMEM);
	fake_vm_refuse_randomly(FAKE_BIT(FAKE_RESERVE) | FAKE_BIT(FAKE_COMMIT) | FAKE_BIT(FAKE_MAP), 1000, 1);
	CHECK_EQ(ebbi_large_alloc(&large, 100 * KIB, 16, EBBI_CONTENT_ANY, &block), -ENOMEM);
	CHECK_EQ(ebbi_large_alloc(&large, 8 * MIB, 16, EBBI_CONTENT_ANY, &block), -ENOMEM);
	CHECK_EQ(large.run_pages + large.mapping_pages, 0u);
	fake_vm_refuse_randomly(0, 0, 0);
	CHECK_EQ(ebbi_large_alloc(&large, 8 * MIB, 16, EBBI_CONTENT_ANY, &block), 0);
}

TEST(large_kernel_pages)
{
	static const size_t units[] = {16384, 65536};

	for (unsigned i = 0; i < 2; i++) {
		char *a;
		size_t left = 0;

		begin(units[i]);
		a = take(33000, 16, EBBI_CONTENT_ANY);
		CHECK_EQ(ebbi_entry_run_pages(entry_of(a)), ebbi_round_up(33000, units[i]) / 4096);
		CHECK(resize(&a, 200 * KIB));
		CHECK(resize(&a, 100 * KIB));
		memset(a, 1, 100 * KIB);
		release(a);
		(void)ebbi_pages_purge(&store.pages, /* everything= */ true, &left);
		CHECK_EQ(store.pages.dirty_pages, 0u);
		a = take(5 * MIB + 1, 16, EBBI_CONTENT_ANY);
		CHECK(resize(&a, 7 * MIB + 1));
		release(a);
		(void)ebbi_large_purge(&large, /* everything= */ true, &left);
		ebbi_pages_check(&store.pages);
	}
}

int main(void)
{
	RUN(runs);
	RUN(zero_content_after_reuse);
	RUN(refaults_are_counted);
	RUN(mappings);
	RUN(retained);
	RUN(retained_parts);
	RUN(retained_grow);
	RUN(retained_alignment);
	RUN(more_than_the_slots_can_retain);
	RUN(runs_resize_in_place);
	RUN(mappings_resize);
	RUN(refused_resizes_change_nothing);
	RUN(nested);
	RUN(refused_unmap);
	RUN(refused_memory);
	RUN(large_kernel_pages);
	return check_report();
}
