#include "heap/quarantine.h"

#include "heap/scavenger.h"
#include "platform/random.h"
#include "platform/report.h"

#define WINDOW_MOST 8u

/* A claim's pages are touched at once where there are few of them to a word of the bitmap. */
#define TOUCH_AT_ONCE ((size_t)256)

size_t ebbi_quarantine_offset;

static __attribute__((noinline)) void set_up(struct ebbi_quarantine *quarantine, unsigned size_class)
{
	struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];
	size_t slots = EBBI_QUARANTINE_BYTES / ebbi_sizes[size_class].bytes;
	unsigned length = 4;

	if (!quarantine->seeded)
		quarantine->random += ebbi_random_word();
	quarantine->seeded = true;
	while (length * 2 <= slots && length < EBBI_QUARANTINE_RING)
		length *= 2;
	waiting->mask = (uint8_t)(length - 1);
	waiting->keep = (uint8_t)(length / 2);
	waiting->window = (uint8_t)(ebbi_min_size(length / 2, WINDOW_MOST) - 1);
}

void ebbi_quarantine_report(const void *slot, unsigned size_class)
{
	size_t bytes = ebbi_sizes[size_class].bytes;

	ebbi_report_use_after_free(slot, ebbi_zeros_end(slot, bytes), bytes);
}

/*
 * Make the page of a free slot writable in one fault. To read it first would cost two: one for the kernel's page of
 * zeros, one to replace it. The exchange writes what it found, and only if that is 0.
 */
static void touch(char *slot)
{
	uint64_t zero = 0;

	(void)ebbi_cas_relaxed((uint64_t *)(void *)slot, &zero, 0);
}

/* Touch each page of the claim once. */
static void touch_pages(uint64_t bits, char *base, size_t bytes)
{
	uintptr_t last = 0;

	for (; bits != 0; bits &= bits - 1) {
		char *slot = base + ebbi_bit_lowest(bits) * bytes;

		if ((uintptr_t)slot >> EBBI_PAGE_SHIFT == last >> EBBI_PAGE_SHIFT)
			continue;
		last = (uintptr_t)slot;
		touch(slot);
	}
}

static __attribute__((noinline)) bool refill(struct ebbi_cache *cache, struct ebbi_waiting_slots *waiting,
					     unsigned size_class)
{
	size_t bytes = ebbi_sizes[size_class].bytes;
	/* No room for pointers: the answer is a claim. A large step: the more slots, the wider the choice. */
	struct ebbi_taking taking = {.wanted = ebbi_policy_claim(bytes, 4), .taker = cache->number};

	if (ebbi_bin_take(&ebbi_heap.store, &ebbi_heap.store.home.bins[size_class], &taking) != 0)
		return false;
	if (bytes <= TOUCH_AT_ONCE)
		touch_pages(taking.bits, taking.base, bytes);
	waiting->base = taking.base;
	ebbi_store_relaxed(&waiting->bits, taking.bits);
	ebbi_scavenger_note_cached(cache, ebbi_bit_count(taking.bits) * bytes);
	return true;
}

static unsigned claim_bit(const struct ebbi_waiting_slots *waiting)
{
	uint64_t bits = waiting->bits;
	unsigned turn = waiting->turn;

	return (ebbi_bit_lowest(bits >> turn | bits << ((64 - turn) & 63)) + turn) & 63;
}

static void *take_claimed(struct ebbi_waiting_slots *waiting, unsigned size_class, unsigned random)
{
	size_t bytes = ebbi_sizes[size_class].bytes;
	unsigned bit = claim_bit(waiting);
	char *slot = waiting->base + bit * bytes;

	ebbi_store_relaxed(&waiting->bits, waiting->bits & ~((uint64_t)1 << bit));
	waiting->turn = (uint8_t)random;
	if (waiting->bits != 0)
		ebbi_quarantine_fetch(waiting->base + claim_bit(waiting) * bytes, bytes);
	return slot;
}

void *ebbi_quarantine_take_slow(struct ebbi_cache *cache, unsigned size_class)
{
	struct ebbi_quarantine *quarantine = ebbi_quarantine_of(cache);
	struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];
	size_t bytes = ebbi_sizes[size_class].bytes;
	void *slot;

	if (waiting->bits == 0) {
		if (waiting->mask == 0)
			set_up(quarantine, size_class);
		if (!refill(cache, waiting, size_class))
			return NULL;
	}
	slot = take_claimed(waiting, size_class, (unsigned)(ebbi_quarantine_random(quarantine) >> 58));
	if (bytes <= EBBI_QUARANTINE_CHECK_LATE) {
		if (bytes > TOUCH_AT_ONCE)
			touch(slot);
		ebbi_quarantine_check(slot, size_class);
	}
	return slot;
}

/* The `count` oldest to the bin. */
static size_t give(struct ebbi_quarantine *quarantine, unsigned size_class, unsigned count, bool check)
{
	struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];
	void **ring = quarantine->rings[size_class];
	size_t bytes = ebbi_sizes[size_class].bytes;
	unsigned left = count;

	while (left > 0) {
		unsigned head = waiting->head & waiting->mask;
		unsigned here = (unsigned)ebbi_min_size(left, waiting->mask + 1u - head);

		for (unsigned i = 0; check && i < here; i++)
			ebbi_quarantine_check(ring[head + i], size_class);
		ebbi_bin_give(&ebbi_heap.store, &ebbi_heap.store.home.bins[size_class], ring + head, here);
		waiting->head = (uint8_t)(waiting->head + here);
		ebbi_store_relaxed(&waiting->count, (uint8_t)(waiting->count - here));
		left -= here;
	}
	return count * bytes;
}

size_t ebbi_quarantine_put_slow(struct ebbi_cache *cache, unsigned size_class, void *slot)
{
	struct ebbi_quarantine *quarantine = ebbi_quarantine_of(cache);
	struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];
	size_t given = 0;

	if (waiting->mask == 0)
		set_up(quarantine, size_class);
	else
		given = give(quarantine, size_class, waiting->keep,
			     ebbi_sizes[size_class].bytes > EBBI_QUARANTINE_CHECK_LATE);
	(void)ebbi_quarantine_put(cache, size_class, slot);
	return given;
}

bool ebbi_quarantine_holds(const struct ebbi_cache *cache, unsigned size_class, const void *slot)
{
	const struct ebbi_quarantine *quarantine = ebbi_quarantine_of(cache);
	const struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];
	size_t bytes = ebbi_sizes[size_class].bytes;
	size_t offset = (size_t)((uintptr_t)slot - (uintptr_t)waiting->base);

	for (unsigned i = 0; i < waiting->count; i++)
		if (quarantine->rings[size_class][(waiting->head + i) & waiting->mask] == slot)
			return true;
	return waiting->bits != 0 && offset < 64 * bytes && (waiting->bits >> offset / bytes & 1) != 0;
}

size_t ebbi_quarantine_drain(struct ebbi_cache *cache)
{
	struct ebbi_quarantine *quarantine = ebbi_quarantine_of(cache);
	size_t given = 0;

	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		struct ebbi_waiting_slots *waiting = &quarantine->classes[size_class];

		given += give(quarantine, size_class, waiting->count, /* check= */ true);
		if (waiting->bits == 0)
			continue;
		given += ebbi_bit_count(waiting->bits) * (size_t)ebbi_sizes[size_class].bytes;
		ebbi_bin_give_bits(&ebbi_heap.store, &ebbi_heap.store.home.bins[size_class], waiting->bits,
				   waiting->base);
		ebbi_store_relaxed(&waiting->bits, (uint64_t)0);
	}
	return given;
}

void ebbi_quarantine_count(const struct ebbi_cache *cache, uint32_t slots[EBBI_CLASSES])
{
	const struct ebbi_quarantine *quarantine = ebbi_quarantine_of(cache);

	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		slots[size_class] += ebbi_load_relaxed(&quarantine->classes[size_class].count) +
				     ebbi_bit_count(ebbi_load_relaxed(&quarantine->classes[size_class].bits));
}
