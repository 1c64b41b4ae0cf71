#include "heap/sampled.h"

#include <string.h>
#include <sys/auxv.h>

#include "heap/budget.h"
#include "heap/fast.h"
#include "heap/hardened.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "platform/thread.h"
#include "policy/sampling.h"

#define NEVER (SIZE_MAX / 4)

static uint64_t draws; /* relaxed; each draw takes the next number and stirs it */

/* SplitMix64 (Steele, Lea, Flood, 2014), started by what the kernel put behind AT_RANDOM. */
static uint64_t random_bits(void)
{
	const void *kernels = (const void *)getauxval(AT_RANDOM); /* aligned to nothing */
	uint64_t x = ebbi_fetch_add_relaxed(&draws, UINT64_C(0x9e3779b97f4a7c15));
	uint64_t start = 0;

	if (kernels != NULL)
		memcpy(&start, kernels, sizeof(start));
	x += start;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* 0: no samples are taken. */
static uint64_t interval_of(unsigned doublings)
{
	if (ebbi_is_hardened() || ebbi_load_acquire(&ebbi_heap.sampler) == NULL)
		return 0;
	return ebbi_heap.config.sample << doublings;
}

static ptrdiff_t draw(struct ebbi_thread *self)
{
	uint64_t interval;

	self->doublings = (uint8_t)ebbi_load_relaxed(&ebbi_heap.sample_doublings);
	interval = interval_of(self->doublings);
	return (ptrdiff_t)(interval == 0 ? NEVER
					 : ebbi_min_size(ebbi_policy_sample_distance(random_bits(), interval), NEVER));
}

/*
 * What the countdown's end means. Without a cache the thread has its countdown aside, so that each of its allocations comes
 * here. So do those of a handler that interrupted another one in here, or on its way: they draw for it. Returns
 * the interval that the sample was drawn with, 0 when this is none.
 */
static uint64_t settle(size_t bytes)
{
	struct ebbi_thread *self = &ebbi_thread_self;
	ptrdiff_t left = ebbi_countdown_before(bytes);
	uint64_t interval = 0;

	ebbi_heap_boot();
	if (left <= 0)
		left = self->left_aside;
	if (left <= 0)
		left = draw(self);
	if ((ptrdiff_t)bytes < left) {
		left -= (ptrdiff_t)bytes;
	} else {
		interval = interval_of(self->doublings);
		left = draw(self);
	}
	self->left_aside = self->cache == NULL ? left : 0;
	self->left = self->cache == NULL ? 0 : left;
	return interval;
}

/* The samples' set, made for the first of them. NULL when there is no memory. */
static struct ebbi_set *samples_set(void)
{
	struct ebbi_store *store = &ebbi_heap.store;
	struct ebbi_set *set = ebbi_load_acquire(&store->sets[EBBI_SET_SAMPLES]); /* partner: ebbi_store_add */
	struct ebbi_set *made;

	if (EBBI_LIKELY(set != NULL))
		return set;
	made = ebbi_set_create(store);
	if (made == NULL)
		return NULL;
	ebbi_set_keep_nothing(made);
	/* Whoever comes second has made one in vain: 16 KiB of addresses. */
	ebbi_lock_acquire(&ebbi_heap.registry.lock);
	if (store->sets[EBBI_SET_SAMPLES] == NULL)
		ebbi_store_add(store, made, EBBI_SET_SAMPLES);
	ebbi_lock_release(&ebbi_heap.registry.lock);
	return store->sets[EBBI_SET_SAMPLES];
}

/* Straight from the bin: samples are rare. */
static void *slot_of_samples(unsigned size_class)
{
	struct ebbi_set *set = samples_set();

	return set == NULL ? NULL : ebbi_bin_take_one(&ebbi_heap.store, &set->bins[size_class]);
}

/* A small request's slot. NULL: there is none to be had, or not here. */
static void *slot_alloc(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	struct ebbi_cache *cache = ebbi_thread_self.cache;
	unsigned size_class = ebbi_class_for(bytes, align_bytes);
	void *slot;
	uint64_t mask;

	if (size_class == EBBI_CLASS_NONE)
		return NULL;
	if (cache == NULL)
		ebbi_signals_block(&mask);
	else if (ebbi_set_is_counted(ebbi_thread_self.stand->set) || ebbi_heap_enter(cache) == EBBI_NESTED)
		return NULL;
	slot = slot_of_samples(size_class);
	ebbi_budget_note();
	if (cache == NULL)
		ebbi_signals_restore(&mask);
	else
		ebbi_handshake_leave(&cache->handshake);
	ebbi_budget_settle();
	if (slot != NULL && content == EBBI_CONTENT_ZERO)
		memset(slot, 0, bytes);
	return slot;
}

/* Blocks that are not where samples lie, as those of an explicit account, are none. */
static void take(void *block, size_t bytes, uint64_t interval)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);
	unsigned kind = ebbi_entry_kind(entry);
	bool is_large = kind == EBBI_KIND_RUN || kind == EBBI_KIND_MAPPING;

	if (!ebbi_is_sampled(entry) && (!is_large || ebbi_entry_run_set(entry) != 0))
		return;
	if (ebbi_heap.sampler->take(block, bytes, ebbi_misuse_block_bytes(entry), interval) && is_large)
		ebbi_pagemap_set((uintptr_t)block, entry | EBBI_ENTRY_SAMPLED);
}

void *ebbi_sampled_alloc(size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	uint64_t interval = settle(bytes);
	void *block = NULL;

	if (EBBI_LIKELY(interval == 0))
		return ebbi_heap_alloc_uncounted(bytes, align_bytes, content);
	if (bytes <= EBBI_SMALL_MOST)
		block = slot_alloc(bytes, align_bytes, content);
	if (block == NULL)
		block = ebbi_heap_alloc_uncounted(bytes, align_bytes, content);
	if (block != NULL)
		take(block, bytes, interval);
	return block;
}

void ebbi_sampled_drop(void *block)
{
	ebbi_heap.sampler->drop(block);
}

void ebbi_sampled_resized(void *block, size_t bytes)
{
	uint64_t interval = ebbi_count_down(&ebbi_thread_self.left, bytes) ? settle(bytes) : 0;

	if (EBBI_UNLIKELY(interval != 0))
		take(block, bytes, interval);
}
