/*
 * quarantine.h: a hardened thread's slots: freed ones that wait, and the random choice of the next.
 *
 * Owns: struct ebbi_quarantine, which lies behind the shelf of every cache of a hardened heap and takes the place of its
 * racks. Per size class it has a ring of freed slots, oldest first, and a claim (a word of a slab's bitmap).
 *
 * A freed slot is zeroed and goes to the ring's end. As long as the ring is shorter than `keep`, malloc takes from the
 * claim, a random bit of it; beyond that, one of the oldest eight of the ring, at random. A full ring gives its older
 * half back to the bin. So no slot comes back before `keep` others were freed, and nobody can say which comes. The
 * choice is made when the slot before is handed out, so that the CPU can fetch it meanwhile (bench: requests).
 *
 * A slot that leaves for the program is checked: a byte that is not 0 was written while it was free. Large slots are
 * checked as they leave the ring, whichever way, since those of a claim may lie on pages never touched.
 *
 * Bounded: per class and thread 128 slots or 64 KiB (at least 4 slots), half of which may stay when a thread is at
 * work; all of it goes back to the bins when the cache is drained, as caches are.
 *
 * Never: looks into a slot that is out. Zeros are a valid empty quarantine, as with shelves.
 * Threading: as the contents of the cache. Errors: NULL without memory; misuse ends the process.
 */
#ifndef EBBI_HEAP_QUARANTINE_H
#define EBBI_HEAP_QUARANTINE_H

#include "heap/heap.h"
#include "heap/zeros.h"

#define EBBI_QUARANTINE_RING 128u
#define EBBI_QUARANTINE_BYTES ((size_t)64 << 10)

/* Slots up to this size are checked as they are handed out, larger ones as they leave the ring. */
#define EBBI_QUARANTINE_CHECK_LATE ((size_t)1024)

struct ebbi_waiting_slots {
	uint64_t bits; /* the claim, as in struct ebbi_rack */
	char *base;
	uint8_t head;   /* where the oldest stands */
	uint8_t count;  /* in the ring */
	uint8_t mask;   /* the ring's length less 1; 0: not set up */
	uint8_t keep;   /* that many are not reused */
	uint8_t window; /* the choice among the oldest, less 1 */
	uint8_t next;   /* of the ring: the choice already made, in places behind head; at most window */
	uint8_t turn;   /* of the claim: likewise, the bit from which on the next is sought */
	uint8_t unused;
};

struct ebbi_quarantine {
	uint64_t random;
	bool seeded;
	struct ebbi_waiting_slots classes[EBBI_CLASSES];
	void *rings[EBBI_CLASSES][EBBI_QUARANTINE_RING];
};

/* How far behind a shelf's start it lies; set at boot. */
extern EBBI_OWN size_t ebbi_quarantine_offset;

static inline struct ebbi_quarantine *ebbi_quarantine_of(const struct ebbi_cache *cache)
{
	return (struct ebbi_quarantine *)((uintptr_t)cache->home.shelf + ebbi_quarantine_offset);
}

/* The ways out of the short way, below: no slot to take, no room to put one. */
void *ebbi_quarantine_take_slow(struct ebbi_cache *cache, unsigned size_class);
size_t ebbi_quarantine_put_slow(struct ebbi_cache *cache, unsigned size_class, void *slot);

/* The slot was written while it was free. */
_Noreturn void ebbi_quarantine_report(const void *slot, unsigned size_class);

/* Ends the process when the free slot is not all zeros. */
static inline void ebbi_quarantine_check(const void *slot, unsigned size_class)
{
	if (EBBI_UNLIKELY(!ebbi_zeros_hold(slot, ebbi_sizes[size_class].bytes)))
		ebbi_quarantine_report(slot, size_class);
}

/* What a slot's next owner touches first: its start and its trailer. The slot left the CPU's cache long ago. */
static inline void ebbi_quarantine_fetch(const char *slot, size_t bytes)
{
	__builtin_prefetch(slot, /* for writing: */ 1);
	__builtin_prefetch(slot + bytes - 1, 1);
}

/* Knuth's MMIX generator; only its upper bits are used. */
static inline uint64_t ebbi_quarantine_random(struct ebbi_quarantine *quarantine)
{
	uint64_t random = quarantine->random;

	quarantine->random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return random;
}

/* A slot of zeros. NULL: no memory. ret_checked: somebody looked, just now. */
static inline __attribute__((always_inline)) void *ebbi_quarantine_take(struct ebbi_cache *cache, unsigned size_class,
									bool *ret_checked)
{
	struct ebbi_quarantine *quarantine = ebbi_quarantine_of(cache);
	struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];
	void **ring = quarantine->rings[size_class];
	unsigned head = waiting->head;
	void **place;
	void *slot;

	*ret_checked = waiting->count > waiting->keep;
	if (EBBI_UNLIKELY(!*ret_checked))
		return ebbi_quarantine_take_slow(cache, size_class);
	place = &ring[(head + waiting->next) & waiting->mask];
	slot = *place;
	*place = ring[head & waiting->mask];
	waiting->head = (uint8_t)(head + 1);
	ebbi_store_relaxed(&waiting->count, (uint8_t)(waiting->count - 1));
	waiting->next = (uint8_t)(ebbi_quarantine_random(quarantine) >> 60 & waiting->window);
	ebbi_quarantine_fetch(ring[(head + 1 + waiting->next) & waiting->mask], ebbi_sizes[size_class].bytes);
	ebbi_quarantine_check(slot, size_class);
	return slot;
}

/* A zeroed slot begins to wait. Returns the bytes that went back to the bin. */
static inline __attribute__((always_inline)) size_t ebbi_quarantine_put(struct ebbi_cache *cache, unsigned size_class,
									void *slot)
{
	struct ebbi_quarantine *quarantine = ebbi_quarantine_of(cache);
	struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];

	if (EBBI_UNLIKELY(waiting->count >= waiting->mask))
		return ebbi_quarantine_put_slow(cache, size_class, slot);
	quarantine->rings[size_class][(waiting->head + waiting->count) & waiting->mask] = slot;
	ebbi_store_relaxed(&waiting->count, (uint8_t)(waiting->count + 1));
	return 0;
}

/* The slot waits here or lies in the claim. For explanations: also of a foreign cache, then racy. */
bool ebbi_quarantine_holds(const struct ebbi_cache *cache, unsigned size_class, const void *slot);

/* Everything back to the bins, checked. Returns the bytes. */
size_t ebbi_quarantine_drain(struct ebbi_cache *cache);

/* Slots that wait or are claimed, added per class; racy. */
void ebbi_quarantine_count(const struct ebbi_cache *cache, uint32_t slots[EBBI_CLASSES]);

#endif
