#include "accounts/tables.h"

#include <string.h>

#include "base/bits.h"
#include "heap/heap.h"

#define HEADS_FIRST 256u

struct ebbi_tables ebbi_tables;

/* Seen from outside, and not to be copied into a program: as ebb_shared_snapshot. */
__attribute__((visibility("protected"))) struct ebb_shared_profile ebb_shared_profile = {
	.magic = EBB_PROFILE_MAGIC,
	.version = EBB_PROFILE_VERSION,
	.size_bytes = sizeof(struct ebb_shared_profile),
	.node_bytes = sizeof(struct ebb_profile_node),
	.site_bytes = sizeof(struct ebb_profile_site),
	.module_bytes = sizeof(struct ebb_profile_module),
};

enum part { NODES, NODES_MORE, NODE_HEADS, SITES, MODULES, MODULES_MORE, SAMPLES, SAMPLE_HEADS, OWNERS, PARTS };

static const size_t sizes[PARTS] = {
	[NODES] = EBBI_NODES_MOST * sizeof(struct ebb_profile_node),
	[NODES_MORE] = EBBI_NODES_MOST * sizeof(struct ebbi_node_more),
	[NODE_HEADS] = EBBI_NODES_MOST * sizeof(uint32_t),
	[SITES] = EBBI_SITES_MOST * sizeof(struct ebb_profile_site),
	[MODULES] = EBBI_MODULES_MOST * sizeof(struct ebb_profile_module),
	[MODULES_MORE] = EBBI_MODULES_MOST * sizeof(struct ebbi_module_more),
	[SAMPLES] = EBBI_SAMPLES_MOST * sizeof(struct ebbi_sample),
	[SAMPLE_HEADS] = EBBI_SAMPLES_MOST * sizeof(uint32_t),
	[OWNERS] = EBBI_OWNERS_MOST * sizeof(struct ebbi_owner),
};

static size_t part_bytes(enum part part)
{
	return ebbi_round_up(sizes[part], EBBI_PAGE_BYTES);
}

static void install_locked(char *base)
{
	struct ebbi_tables *tables = &ebbi_tables;
	char *at[PARTS];

	for (unsigned part = 0; part < PARTS; part++) {
		at[part] = base;
		base += part_bytes(part);
	}
	tables->nodes = (void *)at[NODES];
	tables->nodes_more = (void *)at[NODES_MORE];
	tables->node_chains = (struct ebbi_chains){(void *)at[NODE_HEADS], HEADS_FIRST, EBBI_NODES_MOST};
	tables->sites = (void *)at[SITES];
	tables->modules = (void *)at[MODULES];
	tables->modules_more = (void *)at[MODULES_MORE];
	tables->samples = (void *)at[SAMPLES];
	tables->sample_chains = (struct ebbi_chains){(void *)at[SAMPLE_HEADS], HEADS_FIRST, EBBI_SAMPLES_MOST};
	tables->owners = (void *)at[OWNERS];
	memcpy(tables->owners[0].name, "generated code", sizeof("generated code"));
	tables->owners_used = 1;
	memcpy(tables->owners[EBBI_OWNER_OTHERS].name, "others", sizeof("others"));
	tables->samples_used = 1;
	ebb_shared_profile.nodes_at = (uint64_t)tables->nodes;
	ebb_shared_profile.sites_at = (uint64_t)tables->sites;
	ebb_shared_profile.modules_at = (uint64_t)tables->modules;
	ebbi_store_release(&ebb_shared_profile.nodes, 1);
	ebbi_store_release(&ebb_shared_profile.sites, 1);
	ebbi_store_release(&ebb_shared_profile.modules, 1);
	ebbi_store_release(&tables->ready, true);
}

/* Of ebbi_thread_self.in_tables. WAITING: on the way in or out, with or without the lock. */
enum { OUTSIDE, WAITING, INSIDE };

/*
 * A handler that interrupted its thread in the heap must not wait either: the thread may hold a lock that a fork elsewhere
 * waits for, with the tables' lock held.
 */
bool ebbi_tables_lock_try(void)
{
	const struct ebbi_cache *cache = ebbi_thread_self.cache;

	if (ebbi_thread_self.in_tables != OUTSIDE || (cache != NULL && ebbi_handshake_is_nested(&cache->handshake)))
		return false;
	ebbi_thread_self.in_tables = WAITING;
	ebbi_compiler_barrier();
	ebbi_lock_acquire(&ebbi_tables.lock);
	ebbi_thread_self.in_tables = INSIDE;
	ebbi_compiler_barrier();
	return true;
}

void ebbi_tables_unlock(void)
{
	ebbi_compiler_barrier();
	ebbi_thread_self.in_tables = WAITING;
	ebbi_lock_release(&ebbi_tables.lock);
	ebbi_compiler_barrier();
	ebbi_thread_self.in_tables = OUTSIDE;
}

void ebbi_tables_fork_prepare(void)
{
	if (!ebbi_tables_lock_try())
		ebbi_thread_self.tables_forks++;
}

void ebbi_tables_fork_end(bool in_child)
{
	if (ebbi_thread_self.tables_forks == 0) {
		ebbi_tables_unlock();
		return;
	}
	ebbi_thread_self.tables_forks--;
	/* The handler interrupted one that did not hold the lock, and whoever did is not in the child. */
	if (in_child && ebbi_thread_self.in_tables != INSIDE)
		ebbi_lock_init(&ebbi_tables.lock, EBBI_RANK_SAMPLES);
}

bool ebbi_tables_make(void)
{
	const struct ebbi_vm *vm = ebbi_heap.store.pages.vm;
	size_t bytes = 0;
	void *base;

	if (EBBI_LIKELY(ebbi_load_acquire(&ebbi_tables.ready)))
		return true;
	for (unsigned part = 0; part < PARTS; part++)
		bytes += part_bytes(part);
	bytes = ebbi_round_up(bytes, ebbi_heap.store.meta.page_bytes);
	if (vm->map(bytes, EBBI_PAGE_BYTES, &base) != 0)
		return false;
	if (ebbi_heap.store.pages.advice != EBBI_HUGE_ADVICE_NONE)
		(void)vm->advise_huge(base, bytes, 0);
	if (ebbi_tables_lock_try()) {
		if (!ebbi_tables.ready) {
			install_locked(base);
			base = NULL;
		}
		ebbi_tables_unlock();
	}
	if (base != NULL)
		(void)vm->unmap(base, bytes);
	return ebbi_load_acquire(&ebbi_tables.ready);
}

uint64_t ebbi_tables_bytes(void)
{
	const struct ebbi_tables *tables = &ebbi_tables;

	if (!ebbi_load_acquire(&tables->ready))
		return 0;
	return ebbi_load_relaxed(&ebb_shared_profile.nodes) * (sizeof(*tables->nodes) + sizeof(*tables->nodes_more)) +
	       ebbi_load_relaxed(&ebb_shared_profile.sites) * sizeof(*tables->sites) +
	       ebbi_load_relaxed(&ebb_shared_profile.modules) * sizeof(*tables->modules) +
	       ebbi_load_relaxed(&tables->samples_used) * sizeof(*tables->samples);
}
