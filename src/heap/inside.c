#include "heap/inside.h"

#include <limits.h>
#include <pthread.h>

#include "heap/scavenger.h"
#include "platform/thread.h"

__thread struct ebbi_thread ebbi_thread_self;

static pthread_key_t exit_key; /* set at boot */
static bool exit_key_made;     /* set at boot */

int ebbi_thread_exit_key_create(void)
{
	int error = pthread_key_create(&exit_key, ebbi_thread_at_exit);

	exit_key_made = error == 0;
	return -error;
}

/*
 * Destructors of other keys may allocate and free for a few rounds more: the cache stays until the
 * round before the last.
 */
void ebbi_thread_at_exit(void *cache)
{
	uint64_t mask;

	if (++ebbi_thread_self.exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1) {
		(void)pthread_setspecific(exit_key, cache);
		return;
	}
	ebbi_signals_block(&mask);
	ebbi_thread_self.left_aside = ebbi_thread_self.left;
	ebbi_thread_self.left = 0;
	ebbi_thread_self.cache = NULL;
	ebbi_thread_self.shelf = NULL;
	ebbi_thread_self.home = NULL;
	ebbi_thread_self.stand = NULL;
	ebbi_thread_self.ended = true;
	ebbi_registry_leave(&ebbi_heap.registry, cache);
	ebbi_signals_restore(&mask);
}

struct ebbi_cache *ebbi_thread_cache(void)
{
	struct ebbi_thread *self = &ebbi_thread_self;
	struct ebbi_cache *cache;
	uint64_t mask;

	if (self->cache != NULL || self->ended)
		return self->cache;
	ebbi_heap_boot();
	/* A handler that allocated between these lines would make a second cache. */
	ebbi_signals_block(&mask);
	cache = self->cache;
	if (cache == NULL) {
		cache = ebbi_registry_adopt(&ebbi_heap.registry);
		if (cache != NULL) {
			ebbi_store_relaxed(&cache->owner_at, (const void *)self);
			self->shelf = cache->home.shelf;
			self->home = cache->home.shelf;
			self->stand = &cache->home;
			self->cache = cache;
			/* May allocate in a program with many keys: from the cache that is there now. */
			if (exit_key_made)
				(void)pthread_setspecific(exit_key, cache);
		}
	}
	ebbi_signals_restore(&mask);
	return cache;
}

/*
 * How many go without: each takes a bin's lock and blocks signals for its time, about half a microsecond in
 * place of ten nanoseconds, so that these together cost less than starting the thread did.
 */
#define EARLY_MOST 16u

struct ebbi_cache *ebbi_thread_cache_if_worth(void)
{
	struct ebbi_thread *self = &ebbi_thread_self;

	if (self->cache != NULL || self->early >= EARLY_MOST || !ebbi_registry_would_make(&ebbi_heap.registry))
		return ebbi_thread_cache();
	self->early++;
	return NULL;
}

/* What was asked of the owner while it was away. */
static void housekeep(struct ebbi_cache *cache, uint32_t seen)
{
	if (seen & EBBI_STOP_DEFERRED)
		ebbi_registry_free_deferred(&ebbi_heap.registry, cache);
	if ((seen & EBBI_STOP_REQUEST) && ebbi_handshake_request_take(&cache->handshake))
		(void)ebbi_cache_drain(&ebbi_heap.registry.pool, cache);
}

enum ebbi_enter ebbi_heap_settle(struct ebbi_cache *cache, uint32_t seen)
{
	for (;;) {
		enum ebbi_enter how = EBBI_ENTERED;

		if (!ebbi_seen_clear(seen))
			how = ebbi_handshake_settle(&cache->handshake, seen);
		if (how == EBBI_NESTED)
			return how;
		if (how == EBBI_ENTERED) {
			housekeep(cache, seen);
			return how;
		}
		ebbi_handshake_await(&cache->handshake);
		seen = ebbi_handshake_enter(&cache->handshake);
	}
}
