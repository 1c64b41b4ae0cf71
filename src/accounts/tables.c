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

/* The tables may take this part of an address space that is limited, and are halved so often at most. */
#define ADDRESS_PART 512u
#define HALVINGS_MOST 5u

static size_t part_bytes(enum part part, unsigned halvings)
{
	static const size_t whole[PARTS] = {
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
	bool is_fixed = part == MODULES || part == MODULES_MORE || part == OWNERS;

	return ebbi_round_up(whole[part] >> (is_fixed ? 0 : halvings), EBBI_PAGE_BYTES);
}

static size_t all_bytes(unsigned halvings)
{
	size_t bytes = 0;

	for (unsigned part = 0; part < PARTS; part++)
		bytes += part_bytes(part, halvings);
	return ebbi_round_up(bytes, ebbi_heap.store.meta.page_bytes);
}

static void install_locked(char *base, unsigned halvings)
{
	struct ebbi_tables *tables = &ebbi_tables;
	char *at[PARTS];

	tables->halvings = halvings;
	for (unsigned part = 0; part < PARTS; part++) {
		at[part] = base;
		base += part_bytes(part, tables->halvings);
	}
	tables->nodes = (void *)at[NODES];
	tables->nodes_more = (void *)at[NODES_MORE];
	tables->node_chains = (struct ebbi_chains){(void *)at[NODE_HEADS], HEADS_FIRST, EBBI_NODES_MOST >> halvings};
	tables->sites = (void *)at[SITES];
	tables->modules = (void *)at[MODULES];
	tables->modules_more = (void *)at[MODULES_MORE];
	tables->samples = (void *)at[SAMPLES];
	tables->sample_chains =
		(struct ebbi_chains){(void *)at[SAMPLE_HEADS], HEADS_FIRST, EBBI_SAMPLES_MOST >> halvings};
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

/* An entry of chain i stays there or goes to chain i + as many as there were. */
void ebbi_chains_widen_locked(struct ebbi_chains *chains, uint64_t (*hash)(uint32_t number),
			      uint32_t *(*next)(uint32_t number))
{
	uint32_t before = chains->used;

	chains->used *= 2;
	for (uint32_t i = 0; i < before; i++) {
		uint32_t number = chains->heads[i];

		chains->heads[i] = 0;
		while (number != 0) {
			uint32_t following = *next(number);
			uint32_t *head = ebbi_chain_of(chains, hash(number));

			*next(number) = *head;
			*head = number;
			number = following;
		}
	}
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
	unsigned halvings = 0;
	size_t bytes;
	void *base;

	if (EBBI_LIKELY(ebbi_load_acquire(&ebbi_tables.ready)))
		return true;
	while (halvings < HALVINGS_MOST && all_bytes(halvings) > ebbi_vm_address_limit_bytes() / ADDRESS_PART)
		halvings++;
	bytes = all_bytes(halvings);
	if (vm->map(bytes, EBBI_PAGE_BYTES, &base) != 0)
		return false;
	if (ebbi_heap.store.pages.advice != EBBI_HUGE_ADVICE_NONE)
		(void)vm->advise_huge(base, bytes, 0);
	if (ebbi_tables_lock_try()) {
		if (!ebbi_tables.ready) {
			install_locked(base, halvings);
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
