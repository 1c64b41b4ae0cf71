/*
 * bin.h: all slabs of one size class, and moving slots between them and threads' caches.
 *
 * Owns: struct ebbi_bin and the slabs on its lists. Slots leave in claims and come back in batches,
 * under the bin's lock, which is held for a few hundred nanoseconds and never across a call to the
 * kernel or to the layers below that could make one.
 *
 * Density: the fullest slab gives first, so that the emptier ones drain. A slab that runs empty goes
 * back to the pages layer at once, except for one a bin (none of some sets), which waits for the next look.
 *
 * Parties: threads on different CPUs that take turns at one slab fetch every line of it, and of its descriptor,
 * from each other (bench: sh8bench, +25 % of its CPU time). So the slabs of a large bin are divided among parties
 * of threads, and each takes from its own. A party without a free slot takes over a slab of another one, the
 * least recently used first, and leaves only the one that the other is busy with: before a slab is made, at most
 * one for each other party has free slots. In a bin of few slabs that would be much; there all are one party.
 *
 * Never: looks into a thread's cache, reads an option.
 * Threading: any thread. Lock rank BIN. Errors: -ENOMEM; misuse found on the way ends the process.
 *
 * Invariants (ebbi_bin_check): a slab is on the queue of its party that its number of free slots says and on none
 * when it has none; used_slots is the number of slots that are out; at most one slab is empty.
 */
#ifndef EBBI_SLABS_BIN_H
#define EBBI_SLABS_BIN_H

#include "platform/futex.h"
#include "slabs/slab.h"

#define EBBI_BIN_QUEUES 4u
#define EBBI_BIN_PARTIES 4u
#define EBBI_BIN_PARTED_SLABS 32u /* in bins with fewer all slabs serve everybody */
/*
 * Slots given back while the lock is held once. They are sorted on the caller's stack, in 2 KiB: with twice
 * that each of many sleeping threads kept a page more (bench: drained, 1.03 -> 1.49).
 */
#define EBBI_GIVE_MOST 64u

struct ebbi_set;
struct ebbi_store;

struct ebbi_bin {
	struct ebbi_lock lock;                       /* guards all that follows */
	unsigned size_class;                         /* set at birth */
	unsigned unit_pages;                         /* as in struct ebbi_pages; set at birth */
	uint64_t entry;                              /* ebbi_entry_bin(); set at birth */
	struct ebbi_set *set;                        /* set at birth */
	struct ebbi_list queues[EBBI_BIN_QUEUES];    /* of the first party: fullest slabs in the first */
	struct ebbi_list (*others)[EBBI_BIN_QUEUES]; /* the other parties' queues; set at birth */
	unsigned parties;      /* how many may have slabs; the queues of the others were never touched */
	struct ebbi_list look; /* slabs in which slots became free since the last look, or that age */
	size_t looks;          /* slabs on it */
	unsigned empty_slabs;  /* on the queues */
	unsigned empty_most;   /* of those; set at birth */
	size_t slabs;
	size_t used_slots;
	size_t resident_pages;
	size_t hole_pages;      /* as of the last look */
	uint64_t moves;         /* of descriptors; changed under the lock, release, and acquired without it */
	uint64_t refault_pages; /* read without the lock: counter */
	uint64_t refills;       /* ebbi_bin_take calls; counter, too */
} __attribute__((aligned(EBBI_CACHE_LINE)));

/* What a take is asked for, and what it got: `count` pointers in `slots` and the slots of `bits` behind `base`. */
struct ebbi_taking {
	unsigned wanted; /* 1 to 64 */
	unsigned taker;  /* any number; threads of the same remainder are one party */
	void **slots;
	unsigned room; /* pointers that `slots` has room for */
	unsigned count;
	uint64_t bits;
	char *base;
};

/*
 * At least one and at most `wanted` slots of the bin: as many as convenient as a claim on one word, the
 * rest as pointers. -ENOMEM when there is no memory for a single one, -EDQUOT when its set's limit leaves no room.
 */
int ebbi_bin_take(struct ebbi_store *store, struct ebbi_bin *bin, struct ebbi_taking *taking);

/* One slot of the bin, for whoever has no shelf. NULL where the other one fails. */
void *ebbi_bin_take_one(struct ebbi_store *store, struct ebbi_bin *bin);

/* Give back `count` slots of this bin. Ends the process on a double free. */
void ebbi_bin_give(struct ebbi_store *store, struct ebbi_bin *bin, void *const *slots, unsigned count);

/* Give back the slots of `bits` behind `base`, as they came from ebbi_bin_take. */
void ebbi_bin_give_bits(struct ebbi_store *store, struct ebbi_bin *bin, uint64_t bits, char *base);

/*
 * One look at the bin: pages without a slot that is out are given back when they were so at the last
 * look (at once when `everything`), the others are marked. Returns pages given back; *ret_left
 * grows by the pages that wait for a later look.
 */
size_t ebbi_bin_purge(struct ebbi_store *store, struct ebbi_bin *bin, bool everything, size_t *ret_left);

/* Is the slot at `pointer`, whose page has this entry, free in its slab? Takes the bin's lock. */
bool ebbi_bin_slot_is_free(struct ebbi_store *store, uint64_t entry, const void *pointer);

/* Ends the process when an invariant of the bin or of a slab on its queues does not hold. */
void ebbi_bin_check(struct ebbi_bin *bin);

#endif
