/*
 * cache.h: what a thread keeps at hand.
 *
 * Owns: struct ebbi_cache, a control block that is never freed, and struct ebbi_shelf, the pages with
 * the slots themselves. Per size class a shelf has a stack of pointers, newest on top, and a
 * claim: a word of a slab's bitmap whose set bits are slots that belong to this cache. A shelf has slots of one set
 * of bins (slabs/store.h); a cache has a shelf for each set that its owners used, each on a struct ebbi_stand.
 *
 * A shelf of zeros is a valid empty cache: no stack has room, so every first operation takes the
 * slow way, which sets the class up. So an idle shelf is given back to the kernel as it stands, and the
 * owner that comes back finds zeros. The control block, on a cache line of its own elsewhere, stays.
 *
 * Never: decides when to drain (heap/scavenger does), waits.
 * Threading: contents are touched by whoever the handshake lets in (caches/handshake.h). The
 * allocator of the slots, struct ebbi_store, has its own locks.
 * Errors: NULL when there is no memory.
 *
 * Invariants (ebbi_shelf_check): a stack lies within its places; its lowest place holds NULL; hot is NULL exactly when
 * it is empty; bits other than 0 mean that base is set.
 */
#ifndef EBBI_CACHES_CACHE_H
#define EBBI_CACHES_CACHE_H

#include "caches/handshake.h"
#include "policy/cachesize.h"
#include "slabs/store.h"

/*
 * One size class; 32 bytes, two to a cache line.
 *
 * The newest pointer of the stack is `hot`; the others lie in places of the shelf, oldest lowest. The lowest
 * place of all holds NULL, which is what `hot` becomes when the last pointer leaves: a push puts the old
 * `hot` into a place, a pop takes it out again. So malloc has its slot by one load that waits for nothing else
 * (bench: pair), and an empty stack is seen by the same load.
 */
struct ebbi_rack {
	uint16_t top;   /* the place for the next push, in bytes from the shelf; 0: not set up. Relaxed, see bits. */
	uint16_t end;   /* behind the last place */
	uint32_t magic; /* ebbi_sizes[].magic, here for the fast path */
	void *hot;
	uint64_t bits; /* the claim: slot i lies at base + i * size; read by statistics at any time, as is top */
	char *base;
};

/* Pages kept for handlers: what is left of the shelf's first page, and more than a handler often wants. */
#define EBBI_SPARES_MOST 10u

/* The first stacks of all classes one behind the other; each has a lowest place. */
enum {
	EBBI_FIRST_BEFORE = -1,
#define EBBI_SIZE(bytes, pages) \
	EBBI_FIRST_##bytes, \
		EBBI_FIRST_LAST_##bytes = \
			EBBI_FIRST_##bytes + \
			(EBBI_POLICY_STACK_FIRST(bytes) > 0 ? (int)EBBI_POLICY_STACK_FIRST(bytes) : 1) - 1,
#include "slabs/sizes.def"
#undef EBBI_SIZE
	EBBI_FIRST_PLACES
};

struct ebbi_shelf {
	struct ebbi_rack racks[EBBI_CLASSES];
	uint8_t steps[EBBI_CLASSES];    /* refills since the last drain, saturating */
	void *first[EBBI_FIRST_PLACES]; /* where stacks start */
	void *spares[EBBI_SPARES_MOST]; /* caches/nested.h */
	void *more[];                   /* where they grow to, on pages that are touched only then */
};

static inline void **ebbi_shelf_place(const struct ebbi_shelf *shelf, size_t offset)
{
	return (void **)((uintptr_t)shelf + offset);
}

/* There must be a place left. */
static inline void ebbi_rack_push(struct ebbi_shelf *shelf, struct ebbi_rack *rack, size_t top, void *slot)
{
	*ebbi_shelf_place(shelf, top) = rack->hot;
	rack->hot = slot;
	ebbi_store_relaxed(&rack->top, (uint16_t)(top + sizeof(void *)));
}

/* `hot` must have been found set. */
static inline void ebbi_rack_pop(struct ebbi_shelf *shelf, struct ebbi_rack *rack)
{
	size_t top = rack->top - sizeof(void *);

	rack->hot = *ebbi_shelf_place(shelf, top);
	ebbi_store_relaxed(&rack->top, (uint16_t)top);
}

/* Pointers in the stack, and how many it has places for; 0 when not set up. */
unsigned ebbi_rack_count(const struct ebbi_rack *rack, unsigned size_class);
unsigned ebbi_rack_places(const struct ebbi_rack *rack, unsigned size_class);

/* Bytes in its free slots. */
size_t ebbi_rack_bytes(const struct ebbi_rack *rack, unsigned size_class);

/* A shelf, and whose slots are on it. */
struct ebbi_stand {
	struct ebbi_shelf *shelf; /* set at birth */
	struct ebbi_set *set;     /* set at birth */
	struct ebbi_stand *next;  /* of the same cache; release when one is added, acquire when they are walked */
	size_t grown_bytes;       /* contents: what its stacks can hold beyond their first size */
	unsigned taker;           /* the cache's number: see struct ebbi_taking */
	uint64_t entry;           /* what ebbi_entry_bin() says of class 0 of its set; set at birth */
};

/* It has the slots that this slab's entry is of. */
static inline bool ebbi_stand_is_for(const struct ebbi_stand *stand, uint64_t entry)
{
	return (entry & EBBI_ENTRY_BIN & ~EBBI_ENTRY_CLASS) == stand->entry;
}

struct ebbi_cache {
	struct ebbi_handshake handshake;
	struct ebbi_stand home;       /* of the first set; the others follow it */
	struct ebbi_cache *next;      /* all caches; set at birth */
	struct ebbi_cache *next_free; /* caches without an owner; guarded by the registry's lock */
	bool owned;                   /* guarded by the registry's lock */
	bool drained;                 /* relaxed: emptied, and not found touched since; a hint for sweeps */
	uint16_t number;              /* counts caches, and starts anew after the last: set at birth */
	uint32_t touched_looks;       /* relaxed: looks since it was emptied that found it touched */
	const void *owner_at;         /* a place in the owner's thread-local memory: its stack is beside it; relaxed */
} __attribute__((aligned(EBBI_CACHE_LINE)));

/* What all caches share. */
struct ebbi_cache_pool {
	struct ebbi_store *store;                       /* set at boot */
	size_t grown_bytes;                             /* relaxed: sum over all caches */
	size_t (*drain_more)(struct ebbi_cache *cache); /* set at boot: of a hardened heap, empties what it keeps */
};

/* Bytes of a shelf, a multiple of the kernel's page. */
size_t ebbi_shelf_bytes(size_t page_bytes);

/* One slot of the class for the program: from the shelf or, through a refill, from the bin. */
void *ebbi_stand_take(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class);

/* The program is done with a slot. Returns the bytes that went back to the bin, or that the stack grew by. */
size_t ebbi_stand_put(struct ebbi_cache_pool *pool, struct ebbi_stand *stand, unsigned size_class, void *slot);

/* The pointer is on this stack or in this claim. */
bool ebbi_stand_holds(const struct ebbi_stand *stand, unsigned size_class, const void *slot);

/* The cache's stand for this set, or NULL. The contents' owner, or whoever only reads. */
static inline struct ebbi_stand *ebbi_cache_stand(struct ebbi_cache *cache, const struct ebbi_set *set)
{
	struct ebbi_stand *stand = &cache->home;

	while (stand != NULL && stand->set != set)
		stand = ebbi_load_acquire(&stand->next); /* partner: ebbi_cache_add_stand */
	return stand;
}

/* One more, empty, by whoever may touch the contents. NULL when there is no memory. */
struct ebbi_stand *ebbi_cache_add_stand(struct ebbi_cache_pool *pool, struct ebbi_cache *cache, struct ebbi_set *set);

/* Everything back to the bins, of all stands. Returns the bytes. */
size_t ebbi_cache_drain(struct ebbi_cache_pool *pool, struct ebbi_cache *cache);

/* Bytes in free slots, per class slots into ret_slots (may be NULL); racy when the caller is not inside. */
size_t ebbi_stand_held_bytes(const struct ebbi_stand *stand, uint32_t ret_slots[EBBI_CLASSES]);

/* Ends the process when an invariant does not hold; the caller is inside. */
void ebbi_shelf_check(const struct ebbi_shelf *shelf);

#endif
