/*
 * tables.h: the memory of the automatic accounts: samples, stacks, modules and owners.
 *
 * Owns: one mapping, made at the first sample and touched as it fills, and the lock. Sizes are fixed, so that what is read from
 * outside stays where it is and nothing grows without a bound; what does not fit is counted as dropped.
 *
 * Never: maps memory with the lock held. Threading: entries are added and removed under `lock`; a handler that
 * interrupted its thread there does without. Counts are stored last, with release; whoever reads without the lock reads the count
 * first, with acquire. Errors: false: there is no memory for the tables, now or ever.
 *
 * Index 0 of every table means none: the root of stacks, code of no file, the end of a chain.
 */
#ifndef EBBI_ACCOUNTS_TABLES_H
#define EBBI_ACCOUNTS_TABLES_H

#include <ebb/profile.h>

#include "base/build.h"
#include "platform/futex.h"

/* Entries; where address space is limited, half as many, a quarter, ...: struct ebbi_tables has how many. */
#define EBBI_NODES_MOST ((uint32_t)1 << 17)
#define EBBI_SITES_MOST ((uint32_t)1 << 14)
#define EBBI_SAMPLES_MOST ((uint32_t)1 << 16)
#define EBBI_MODULES_MOST 512u
#define EBBI_OWNERS_MOST 64u
#define EBBI_OWNER_OTHERS (EBBI_OWNERS_MOST - 1)
#define EBBI_OWNER_NAME 48u

/* What the readers outside need not know of a node and of a module. */
struct ebbi_node_more {
	uint32_t next; /* in the chain of its hash */
	uint32_t site; /* whose innermost frame it is */
};

enum ebbi_module_kind {
	EBBI_MODULE_ORDINARY,
	EBBI_MODULE_PLUMBING, /* allocates on behalf of its caller: the C and C++ libraries, the loader */
	EBBI_MODULE_OWN,      /* this library: its frames are no part of a stack */
};

struct ebbi_module_more {
	uint64_t print; /* of its unwind table's index: another file may come to lie at the same place */
	uint16_t older; /* in the chain of its hash */
	uint8_t owner;
	uint8_t kind;    /* enum ebbi_module_kind */
	bool is_program; /* the loader has no name for it */
};

/* A live block that was sampled, and what it stands for. */
struct ebbi_sample {
	uint64_t block;
	uint32_t next; /* in the chain of its hash, or of free entries */
	uint32_t site;
	uint64_t bytes;
	uint64_t variance; /* policy/sampling.h */
	uint64_t objects;
};

struct ebbi_owner {
	char name[EBBI_OWNER_NAME];
	uint64_t live_bytes; /* these: relaxed, changed under the lock */
	uint64_t variance;
	uint64_t samples;
};

/*
 * Chains by hash whose heads grow in place: twice as many as soon as there are more entries than heads, so that a
 * small process touches little.
 */
struct ebbi_chains {
	uint32_t *heads;
	uint32_t used; /* heads in use, a power of two */
	uint32_t most;
};

struct ebbi_tables {
	struct ebbi_lock lock; /* rank SAMPLES */
	bool ready;            /* release: the pointers are there */
	unsigned halvings;     /* set before them */
	struct ebb_profile_node *nodes;
	struct ebbi_node_more *nodes_more;
	struct ebb_profile_site *sites;
	struct ebb_profile_module *modules;
	struct ebbi_module_more *modules_more;
	struct ebbi_sample *samples;
	struct ebbi_owner *owners;
	struct ebbi_chains node_chains;
	struct ebbi_chains sample_chains;
	uint16_t module_heads[64]; /* release/acquire: a module is complete when it is in a chain */
	uint32_t samples_used;     /* entries that were ever used */
	uint32_t samples_free;     /* chain of those that are free again */
	uint32_t samples_live;     /* relaxed */
	uint32_t owners_used;      /* release: with their names */
	uint64_t samples_taken;    /* relaxed */
};

extern EBBI_OWN struct ebbi_tables ebbi_tables;

/* Make them, if they are not there. No lock is held. */
bool ebbi_tables_make(void);

/* False: this is a handler, and its thread is in here already or in the heap. */
bool ebbi_tables_lock_try(void);
void ebbi_tables_unlock(void);

/* Around fork(2), in the forking thread, before the heap's: nested calls are counted. */
void ebbi_tables_fork_prepare(void);
void ebbi_tables_fork_end(bool in_child);

/* Memory that is touched, about. */
uint64_t ebbi_tables_bytes(void);

static inline uint64_t ebbi_hash(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 32;
}

static inline uint32_t *ebbi_chain_of(const struct ebbi_chains *chains, uint64_t hash)
{
	return &chains->heads[hash & (chains->used - 1)];
}

/* Twice as many heads, with the entries where they belong now: what an entry's hash is, and where its link. */
void ebbi_chains_widen_locked(struct ebbi_chains *chains, uint64_t (*hash)(uint32_t number),
			      uint32_t *(*next)(uint32_t number));

#endif
