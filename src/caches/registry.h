/*
 * registry.h: all thread caches: who owns which, and emptying them for owners that sleep.
 *
 * Owns: the list of control blocks (only ever longer; read without a lock), the stack of those
 * without an owner. A thread that ends leaves its cache as it is: the next thread takes it over warm,
 * and if none comes the scavenger empties it like any that sleeps.
 *
 * Never: decides when (heap/ does), reads an option.
 * Threading: any thread; `lock`, rank REGISTRY, guards ownership. Errors: NULL without memory.
 *
 * The one place where the kernel is called with a lock held that malloc may want is here: the
 * barrier, and giving back an idle shelf, both under the control lock of a cache that nobody used for
 * a whole look. Only its owner can want that lock, and only if it wakes in these microseconds.
 */
#ifndef EBBI_CACHES_REGISTRY_H
#define EBBI_CACHES_REGISTRY_H

#include "caches/cache.h"
#include "slabs/large.h"

struct ebbi_registry {
	struct ebbi_cache_pool pool; /* set at boot */
	struct ebbi_large *large;    /* set at boot */
	uint32_t standing_stop;      /* EBBI_STOP_SLOW or 0; set at boot */
	bool full_check;             /* set at boot */
	size_t more_bytes;           /* set at boot: behind every shelf, for a hardened heap */
	void (*free_deferred)(struct ebbi_cache *cache, void *object); /* set at boot: a hardened heap's free */
	bool keep_shelves;       /* set at boot: never give a shelf back (option purge:0) */
	struct ebbi_lock lock;   /* guards the next two */
	struct ebbi_cache *free; /* its head is also looked at without the lock */
	unsigned owned;          /* counter: read without the lock */
	struct ebbi_cache *all;  /* release when pushed, acquire when walked */
	uint64_t drained;        /* relaxed: caches emptied for others */
	uint64_t put_off;        /* relaxed: owners found inside */
	uint64_t lost;           /* relaxed: left behind by a fork */
	uint64_t deferred_frees; /* relaxed */
};

void ebbi_registry_init(struct ebbi_registry *registry, struct ebbi_store *store, struct ebbi_large *large);

/*
 * Would adopt() have to make a cache, in a process that has one already and whose options do not want each
 * operation to pass through one? A glance: the answer may be old.
 */
static inline bool ebbi_registry_would_make(const struct ebbi_registry *registry)
{
	return registry->standing_stop == 0 && ebbi_load_relaxed(&registry->owned) > 0 &&
	       ebbi_load_relaxed(&registry->free) == NULL;
}

/* A cache for the calling thread, perhaps with slots in it. The caller has blocked its signals. */
struct ebbi_cache *ebbi_registry_adopt(struct ebbi_registry *registry);

/* The calling thread ends, or gives its cache up. Its signals are blocked. */
void ebbi_registry_leave(struct ebbi_registry *registry, struct ebbi_cache *cache);

/* Which caches a sweep empties. */
enum ebbi_sweep {
	EBBI_SWEEP_IDLE, /* those not used since the last sweep */
	EBBI_SWEEP_ALL,  /* all whose owner is outside at this moment */
	EBBI_SWEEP_NOTE, /* none: note which are used from now on */
};

/* Empty others' caches; `own` (may be NULL) is the caller's, which has entered it. Returns how many are not empty. */
size_t ebbi_registry_sweep(struct ebbi_registry *registry, enum ebbi_sweep which, struct ebbi_cache *own);

/* Free what signal handlers queued on a cache whose contents the caller may touch. */
void ebbi_registry_free_deferred(struct ebbi_registry *registry, struct ebbi_cache *cache);

/* Free a block above the size classes, by whoever may touch the contents of `cache`. */
void ebbi_registry_free_large(struct ebbi_registry *registry, struct ebbi_cache *cache, void *block, uint64_t entry);

/*
 * fork(2), `own` (may be NULL) being the forking thread's: inside `own`, all other owners out or known to
 * be inside, the lock held. False: the fork comes from a handler that interrupted the allocator; nothing
 * was taken, and neither of the other two may be called.
 */
bool ebbi_registry_fork_prepare(struct ebbi_registry *registry, struct ebbi_cache *own);
void ebbi_registry_fork_parent(struct ebbi_registry *registry, struct ebbi_cache *own);
void ebbi_registry_fork_child(struct ebbi_registry *registry, struct ebbi_cache *own);

#endif
