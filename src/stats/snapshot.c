#include "stats/snapshot.h"

#include <stddef.h>
#include <string.h>

#include "accounts/sampling.h"
#include "heap/account.h"
#include "heap/budget.h"
#include "heap/guarded.h"
#include "heap/hardened.h"
#include "heap/heap.h"
#include "heap/quarantine.h"
#include "heap/reclaim.h"
#include "heap/scavenger.h"

/*
 * Seen from outside but not to be copied into a program (which a default visible variable is, by a copy
 * relocation): readers look for it in this library.
 */
__attribute__((visibility("protected"))) struct ebb_shared ebb_shared_snapshot = {.magic = EBB_SHARED_MAGIC};

static struct ebbi_lock publishing = EBBI_LOCK_INIT(EBBI_RANK_SNAPSHOT); /* guards ebb_shared_snapshot */

static void count_cache(struct ebbi_cache *cache, uint32_t cached[EBBI_CLASSES])
{
	for (struct ebbi_stand *stand = &cache->home; stand != NULL; stand = ebbi_load_acquire(&stand->next))
		(void)ebbi_stand_held_bytes(stand, cached);
	if (ebbi_is_hardened())
		ebbi_quarantine_count(cache, cached);
}

/* What all caches hold, in slots of each class. */
static unsigned count_caches(uint32_t cached[EBBI_CLASSES])
{
	const struct ebbi_registry *registry = &ebbi_heap.registry;
	unsigned caches = 0;

	for (struct ebbi_cache *cache = ebbi_load_acquire(&registry->all); cache != NULL; cache = cache->next) {
		caches++;
		if (!ebbi_load_relaxed(&cache->drained) || !ebbi_handshake_looks_idle(&cache->handshake))
			count_cache(cache, cached);
	}
	return caches;
}

/* A class's figures over all sets. */
struct class_sums {
	uint64_t slabs;
	uint64_t used_slots;
	uint64_t resident_pages;
	uint64_t hole_pages;
};

static struct class_sums sum_class(struct ebb_snapshot *snapshot, unsigned size_class)
{
	struct class_sums sum = {0};

	for (unsigned number = 0; number < EBBI_SETS; number++) {
		struct ebbi_set *set = ebbi_load_acquire(&ebbi_heap.store.sets[number]); /* partner: ebbi_store_add */
		struct ebbi_bin *bin;

		if (set == NULL)
			continue;
		bin = &set->bins[size_class];
		ebbi_lock_acquire(&bin->lock);
		sum.slabs += bin->slabs;
		sum.used_slots += bin->used_slots;
		sum.resident_pages += bin->resident_pages;
		sum.hole_pages += bin->hole_pages;
		snapshot->refault_pages += bin->refault_pages;
		ebbi_lock_release(&bin->lock);
	}
	return sum;
}

static void add_class(struct ebb_snapshot *snapshot, unsigned size_class, uint32_t cached)
{
	struct class_sums sums = sum_class(snapshot, size_class);
	struct ebb_class *figures = &snapshot->classes[size_class - 1];
	uint64_t bytes = ebbi_sizes[size_class].bytes;
	uint64_t resident = sums.resident_pages << EBBI_PAGE_SHIFT;
	uint64_t holes = sums.hole_pages << EBBI_PAGE_SHIFT;
	uint64_t used = sums.used_slots;

	figures->slabs = sums.slabs;
	figures->size_bytes = bytes;
	figures->cached_slots = cached;
	figures->live_slots = ebbi_excess(used, cached);
	figures->free_slots = ebbi_excess(figures->slabs * ebbi_sizes[size_class].slots, used);
	snapshot->live_bytes += figures->live_slots * bytes;
	snapshot->held_cache_bytes += cached * bytes;
	snapshot->held_hole_bytes += holes;
	snapshot->held_slack_bytes += ebbi_excess(resident, used * bytes + holes);
	snapshot->resident_bytes += resident;
}

/* Pages of large blocks that the program has; what a hardened heap lets wait is held, and its guards are neither. */
static uint64_t live_large_pages(struct ebb_snapshot *snapshot, uint64_t *held_pages)
{
	const struct ebbi_large *large = &ebbi_heap.large;
	struct ebbi_guarded_figures guarded = {0};

	if (ebbi_is_hardened())
		guarded = ebbi_guarded_count();
	snapshot->guards_refused = guarded.refused;
	*held_pages += guarded.held_pages;
	return ebbi_excess(ebbi_load_relaxed(&large->run_pages) + ebbi_load_relaxed(&large->mapping_pages),
			   guarded.waiting_pages + guarded.guard_pages);
}

static void add_pages(struct ebb_snapshot *snapshot)
{
	struct ebbi_pages *pages = &ebbi_heap.store.pages;
	struct ebbi_large *large = &ebbi_heap.large;
	uint64_t dirty;

	ebbi_lock_acquire(&pages->lock);
	dirty = pages->dirty_pages;
	snapshot->mapped_bytes += pages->mapped_bytes;
	snapshot->purged_bytes = pages->purged_pages << EBBI_PAGE_SHIFT;
	snapshot->purge_calls = pages->purge_calls + pages->unmap_calls;
	snapshot->mmap_calls = pages->map_calls;
	snapshot->purge_refused = pages->purge_refused;
	snapshot->unmap_refused = pages->unmap_refused;
	snapshot->leftover_bytes = pages->lost_bytes;
	snapshot->huge_blocks = ebbi_load_relaxed(&pages->huge_blocks);
	for (unsigned i = 0; i < pages->leftover_count; i++)
		snapshot->leftover_bytes += pages->leftovers[i].bytes;
	ebbi_lock_release(&pages->lock);
	dirty += ebbi_load_relaxed(&large->retained_pages);
	snapshot->live_large_bytes = live_large_pages(snapshot, &dirty) << EBBI_PAGE_SHIFT;
	snapshot->held_run_bytes = dirty << EBBI_PAGE_SHIFT;
	snapshot->live_bytes += snapshot->live_large_bytes;
	snapshot->resident_bytes += snapshot->live_large_bytes + snapshot->held_run_bytes;
	snapshot->mapped_bytes +=
		(uint64_t)(ebbi_load_relaxed(&large->mapping_pages) + ebbi_load_relaxed(&large->retained_pages))
		<< EBBI_PAGE_SHIFT;
	snapshot->mmap_calls += ebbi_load_relaxed(&large->map_calls);
	snapshot->refault_pages += ebbi_load_relaxed(&large->refault_pages);
}

static void add_metadata(struct ebb_snapshot *snapshot)
{
	struct ebbi_meta *meta = &ebbi_heap.store.meta;

	ebbi_lock_acquire(&meta->lock);
	snapshot->metadata_bytes = meta->used_bytes;
	snapshot->unguarded_chunks = ebbi_load_relaxed(&meta->unguarded_chunks);
	snapshot->mapped_bytes += meta->mapped_bytes;
	ebbi_lock_release(&meta->lock);
	snapshot->mapped_bytes += ebbi_pagemap_mapped_bytes();
}

static void add_budget(struct ebb_snapshot *snapshot)
{
	struct ebbi_budget_figures budget;

	ebbi_budget_figures(&budget);
	snapshot->budget_bytes = budget.line_bytes;
	snapshot->process_bytes = budget.process_bytes;
	snapshot->process_most_bytes = budget.most_bytes;
	snapshot->pressure = budget.pressure;
	snapshot->budget_refusals = budget.refusals;
	snapshot->over_budget = budget.over_line;
}

static void add_samples(struct ebb_snapshot *snapshot)
{
	struct ebbi_sampling_figures samples;

	ebbi_sampling_figures(&samples);
	snapshot->sample_interval_bytes = samples.interval_bytes;
	snapshot->samples_live = samples.live;
	snapshot->samples_taken = samples.taken;
	snapshot->samples_dropped = samples.dropped;
	snapshot->metadata_bytes += samples.table_bytes;
	ebbi_sampling_owners(snapshot->owners, EBB_SNAPSHOT_OWNERS);
}

/* The head and zeros. Of the lists of names only what is used is written: their pages stay untouched in most programs. */
static void begin(struct ebb_snapshot *snapshot)
{
	memset(snapshot, 0, offsetof(struct ebb_snapshot, accounts));
	snapshot->size_bytes = sizeof(*snapshot);
	snapshot->version = EBB_SNAPSHOT_VERSION;
	snapshot->stats = EBB_SNAPSHOT_STATS;
	snapshot->classes_room = EBB_SNAPSHOT_CLASSES;
	snapshot->accounts_room = EBB_SNAPSHOT_ACCOUNTS;
	snapshot->owners_room = EBB_SNAPSHOT_OWNERS;
	memset(&snapshot->owners[0], 0, sizeof(snapshot->owners[0]));
}

int ebbi_snapshot_account(int account, struct ebb_account *ret_account)
{
	struct ebbi_account_figures figures;
	int error = ebbi_account_figures(account, &figures);

	if (error != 0)
		return error;
	memcpy(ret_account->name, figures.name, sizeof(ret_account->name));
	ret_account->live_bytes = figures.live_bytes;
	ret_account->peak_bytes = figures.peak_bytes;
	ret_account->limit_bytes = figures.limit_bytes;
	ret_account->soft_limit_bytes = figures.soft_bytes;
	ret_account->refusals = figures.refusals;
	return 0;
}

static void add_accounts(struct ebb_snapshot *snapshot)
{
	unsigned count = 0;

	while (count < EBB_SNAPSHOT_ACCOUNTS && ebbi_snapshot_account((int)count + 1, &snapshot->accounts[count]) == 0)
		count++;
	if (count < EBB_SNAPSHOT_ACCOUNTS)
		snapshot->accounts[count].name[0] = '\0';
}

void ebbi_snapshot_take(struct ebb_snapshot *ret_snapshot)
{
	const struct ebbi_registry *registry = &ebbi_heap.registry;
	uint32_t cached[EBBI_CLASSES] = {0};

	begin(ret_snapshot);
	(void)count_caches(cached);
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		add_class(ret_snapshot, size_class, cached[size_class]);
	add_pages(ret_snapshot);
	add_metadata(ret_snapshot);
	add_budget(ret_snapshot);
	add_accounts(ret_snapshot);
	add_samples(ret_snapshot);
	ret_snapshot->threads = ebbi_load_relaxed(&registry->owned);
	/* Page map entries (8 bytes a page and less for the bits) and a shelf page a thread. */
	ret_snapshot->metadata_bytes += ret_snapshot->resident_bytes / EBBI_PAGE_BYTES * 8 +
					ret_snapshot->threads * ebbi_heap.store.meta.page_bytes;
	ret_snapshot->resident_bytes += ret_snapshot->metadata_bytes;
	ret_snapshot->threads_drained = ebbi_load_relaxed(&registry->drained);
	ret_snapshot->drains_deferred = ebbi_load_relaxed(&registry->put_off);
	ret_snapshot->caches_lost = ebbi_load_relaxed(&registry->lost);
	ret_snapshot->nested_allocations = ebbi_load_relaxed(&ebbi_heap.nested_allocations);
	ret_snapshot->deferred_frees = ebbi_load_relaxed(&registry->deferred_frees);
	ret_snapshot->allocations_refused = ebbi_load_relaxed(&ebbi_heap.refused_allocations);
	ret_snapshot->reclaims = ebbi_reclaim_count();
	ret_snapshot->scavenger_wakeups = ebbi_scavenger_looks();
	ret_snapshot->features_off = ebbi_load_relaxed(&ebbi_heap.features_off);
}

/*
 * In place: a copy to make it in first would be 10 KiB more in every process. `sequence` is odd meanwhile, also when a fork
 * left it so; readers are other processes, which retry.
 */
static void publish_locked(void)
{
	uint32_t sequence = ebb_shared_snapshot.sequence | 1;

	/* An exchange, which no later write passes. */
	(void)ebbi_exchange_acqrel(&ebb_shared_snapshot.sequence, sequence);
	ebbi_snapshot_take(&ebb_shared_snapshot.snapshot);
	ebbi_store_release(&ebb_shared_snapshot.sequence, sequence + 1);
}

void ebbi_snapshot_publish(void)
{
	if (!ebbi_lock_acquire_try(&publishing))
		return;
	publish_locked();
	ebbi_lock_release(&publishing);
}

const struct ebb_snapshot *ebbi_snapshot_hold(void)
{
	ebbi_lock_acquire(&publishing);
	publish_locked();
	return &ebb_shared_snapshot.snapshot;
}

void ebbi_snapshot_release(void)
{
	ebbi_lock_release(&publishing);
}

void ebbi_snapshot_forget(void)
{
	ebbi_lock_init(&publishing, EBBI_RANK_SNAPSHOT);
}
