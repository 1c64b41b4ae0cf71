/*
 * quarantine.h: a hardened thread's slots: freed ones that wait, and the random choice of the next.
 *
 * Owns: struct ebbi_quarantine, which lies behind the shelf of every cache of a hardened heap and takes the place of its
 * racks. Per size class it has a ring of freed slots, oldest first, and a claim (a word of a slab's bitmap).
 *
 * A freed slot is zeroed and goes to the ring's end. As long as the ring is shorter than `keep`, malloc takes from the
 * claim, a random bit of it; beyond that, one of the oldest eight of the ring, at random. A full ring gives its older
 * half back to the bin. So no slot comes back before `keep` others were freed, and nobody can say which comes.
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
	uint8_t unused[3];
};

struct ebbi_quarantine {
	uint64_t random;
	bool seeded;
	struct ebbi_waiting_slots classes[EBBI_CLASSES];
	void *rings[EBBI_CLASSES][EBBI_QUARANTINE_RING];
};

/* How far behind a shelf's start it lies; set at boot. */
extern size_t ebbi_quarantine_offset;

static inline struct ebbi_quarantine *ebbi_quarantine_of(const struct ebbi_cache *cache)
{
	return (struct ebbi_quarantine *)((uintptr_t)cache->shelf + ebbi_quarantine_offset);
}

/* A slot of zeros. NULL: no memory. */
void *ebbi_quarantine_take(struct ebbi_cache *cache, unsigned size_class);

/* A zeroed slot begins to wait. Returns the bytes that went back to the bin. */
size_t ebbi_quarantine_put(struct ebbi_cache *cache, unsigned size_class, void *slot);

/* The slot waits here or lies in the claim. For explanations: also of a foreign cache, then racy. */
bool ebbi_quarantine_holds(const struct ebbi_cache *cache, unsigned size_class, const void *slot);

/* Everything back to the bins, checked. Returns the bytes. */
size_t ebbi_quarantine_drain(struct ebbi_cache *cache);

/* Slots that wait or are claimed, added per class; racy. */
void ebbi_quarantine_count(const struct ebbi_cache *cache, uint32_t slots[EBBI_CLASSES]);

/* Ends the process when the free slot is not all zeros. */
void ebbi_quarantine_check(const void *slot, unsigned size_class);

#endif
