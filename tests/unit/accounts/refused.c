/* Samples while the kernel has no memory for their tables: blocks lie where samples lie, and nobody knows of them. */
#include "accounts/sampling.h"

#include <errno.h>

#include "accounts/tables.h"
#include "check.h"
#include "heap/fast.h"
#include "heap/sampled.h"
#include "platform/objects.h"

static int refuse(size_t bytes, size_t align_bytes, void **ret_base)
{
	(void)bytes;
	(void)align_bytes;
	(void)ret_base;
	return -ENOMEM;
}

static void *sample(size_t bytes)
{
	void *block;

	/* The countdown is over. */
	ebbi_thread_self.left = 1;
	block = ebbi_fast_alloc(bytes);
	CHECK(block != NULL);
	return block;
}

static uint64_t taken(void)
{
	struct ebbi_sampling_figures figures;

	ebbi_sampling_figures(&figures);
	return figures.taken;
}

TEST(without_tables)
{
	const struct ebbi_vm *vm = ebbi_heap.store.pages.vm;
	struct ebbi_vm refusing = *vm;
	void *small;
	void *large;
	void *kept;

	/* What the heap needs is there. */
	ebbi_fast_free(ebbi_fast_alloc(100));
	refusing.map = refuse;
	ebbi_heap.store.pages.vm = &refusing;
	CHECK(!ebbi_load_relaxed(&ebbi_tables.ready));
	small = sample(100);
	large = sample(100000);
	kept = sample(1000);
	CHECK(ebbi_is_sampled(ebbi_pagemap_get((uintptr_t)small)));
	CHECK_EQ(taken(), 0u);
	ebbi_fast_free(small);
	ebbi_fast_free(large);
	CHECK(!ebbi_load_relaxed(&ebbi_tables.ready));
	ebbi_heap.store.pages.vm = vm;
	/* With memory again, one from before is freed among those that are known. */
	small = sample(100);
	CHECK_EQ(taken(), 1u);
	ebbi_fast_free(kept);
	CHECK_EQ(ebbi_tables.samples_live, 1u);
	ebbi_fast_free(small);
	CHECK_EQ(ebbi_tables.samples_live, 0u);
	ebbi_heap_check();
}

int main(void)
{
	if (!ebbi_objects_known())
		return 0; /* by another C library */
	ebbi_heap_boot();
	ebbi_sampling_start();
	RUN(without_tables);
	return check_report();
}
