#include <stdint.h>
#include <string.h>

#include "heap/fast.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "heap/scavenger.h"

/*
 * A large block that must be copied to grow becomes longer by this part at least, so that a block that
 * grows by little and often is copied a number of times that does not depend on how little.
 */
#define HEADROOM_PART 8u

size_t ebbi_heap_usable_bytes(const void *block)
{
	return ebbi_misuse_block_bytes(ebbi_misuse_judge("malloc_usable_size", block));
}

/* Without copying, by a thread that is inside its cache. */
static bool resize_large_try(void *block, uint64_t entry, size_t bytes, void **ret_block)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	size_t have = ebbi_misuse_block_bytes(entry);
	bool done = false;

	if (cache == NULL || bytes <= EBBI_SMALL_MOST || ebbi_heap_enter(cache) == EBBI_NESTED)
		return false;
	done = ebbi_large_resize_try(&ebbi_heap.large, block, entry, bytes, ret_block);
	if (done && bytes < have)
		ebbi_scavenger_note(cache, have - bytes);
	ebbi_handshake_leave(&cache->handshake);
	return done;
}

/* check:full: a block that stays where it is passes no free that would notice. */
static void check_live(const void *block, uint64_t entry)
{
	struct ebbi_cache *cache = ebbi_thread_cache();

	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		return;
	ebbi_misuse_check_live("realloc", cache, block, entry);
	ebbi_handshake_leave(&cache->handshake);
}

/* The block can stay as it is: it is large enough, and not twice as large as needed. */
static bool fits(uint64_t entry, size_t have, size_t bytes)
{
	if (bytes > have)
		return false;
	if (ebbi_entry_kind(entry) < EBBI_CLASSES)
		return bytes > have / 2 || have <= 4 * EBBI_ALIGNMENT;
	return ebbi_entry_kind(entry) == EBBI_KIND_NESTED; /* short-lived: not worth a move */
}

void *ebbi_heap_resize(void *block, size_t bytes)
{
	uint64_t entry = ebbi_misuse_judge("realloc", block);
	size_t have = ebbi_misuse_block_bytes(entry);
	size_t wanted = bytes;
	void *moved;

	if (EBBI_UNLIKELY(ebbi_heap.config.check == EBB_CHECK_FULL))
		check_live(block, entry);
	if (fits(entry, have, bytes))
		return block;
	if (ebbi_entry_kind(entry) >= EBBI_CLASSES && resize_large_try(block, entry, bytes, &moved))
		return moved;
	if (bytes > have && bytes > EBBI_SMALL_MOST && bytes <= PTRDIFF_MAX)
		wanted = ebbi_max_size(bytes, have + have / HEADROOM_PART);
	moved = ebbi_fast_alloc(wanted);
	if (moved == NULL && wanted > bytes)
		moved = ebbi_fast_alloc(bytes);
	if (moved == NULL)
		return bytes <= have ? block : NULL;
	memcpy(moved, block, ebbi_min_size(have, bytes));
	ebbi_fast_free(block);
	return moved;
}
