/*
 * heap.h: the one heap of the process.
 *
 * Owns: struct ebbi_heap, boot, and what malloc, free and their family do once their arguments were
 * judged. The short way through is in heap/fast.h; all else is behind this header.
 *
 * Never: calls the C library's stdio, dlsym or pthread_create.
 *
 * Threading: every function from any thread, from signal handlers too: one that interrupted its own
 * thread inside the allocator gets a mapping of its own, and its frees wait (caches/handshake.h).
 *
 * Errors: NULL and errno = ENOMEM without memory, and for requests above PTRDIFF_MAX. Nothing else
 * touches errno. Misuse ends the process with one line (platform/report.h).
 */
#ifndef EBBI_HEAP_HEAP_H
#define EBBI_HEAP_HEAP_H

#include "base/build.h"
#include "caches/registry.h"
#include "config/config.h"

struct ebbi_heap {
	struct ebbi_store store;
	struct ebbi_large large;
	struct ebbi_registry registry;
	struct ebbi_config config; /* set at boot */
	void (*publish)(void);     /* set at boot by stats/, may be NULL: called after each look */
	/* Set at boot by stats/, may be NULL: says on stderr that `bytes` were refused at the limit of `account`, or, of 0, at the
	 * budget's line; 0 bytes: that it was passed. */
	void (*explain)(size_t bytes, int account);
	/* Set at boot by accounts/, release; NULL: no samples, see heap/sampled.h */
	const struct ebbi_sampler *sampler;
	uint32_t sample_doublings;    /* relaxed: of the mean distance of samples, since they take too long */
	uint64_t nested_allocations;  /* relaxed */
	uint64_t refused_allocations; /* relaxed */
	uint32_t features_off;        /* relaxed: EBB_OFF_* */
};

/* What sets of bins are for: the first is nobody's. */
#define EBBI_SET_SAMPLES 1u  /* heap/sampled.h */
#define EBBI_SET_ACCOUNTS 2u /* the first of those of heap/account.h */

extern EBBI_OWN struct ebbi_heap ebbi_heap;

/* Pages that the program, or slabs for it, hold. */
static inline size_t ebbi_heap_live_pages(void)
{
	return ebbi_load_relaxed(&ebbi_heap.store.pages.live_pages) + ebbi_load_relaxed(&ebbi_heap.large.mapping_pages);
}

/*
 * What a thread knows of itself; zero in a thread that has not allocated yet. Initial-exec: two loads
 * relative to the thread pointer, also in a library that was loaded by dlopen.
 */
struct ebbi_thread {
	struct ebbi_cache *cache;
	struct ebbi_shelf *shelf; /* stand->shelf: where malloc takes from */
	struct ebbi_shelf *home;  /* cache->home.shelf: where free puts what belongs to no account */
	struct ebbi_stand *stand; /* of the account that the thread is in: heap/account.h */
	ptrdiff_t left;           /* bytes to the next sample; more than 0 only while there is a cache */
	ptrdiff_t left_aside;     /* the same while there is none; 0: not drawn yet */
	unsigned exit_rounds;     /* of thread-specific destructors seen */
	unsigned nested_forks;    /* forks of handlers within a prepared fork or within the allocator */
	uint8_t early;            /* operations without a cache so far, see heap/inside.h */
	bool asked;               /* the program was asked for memory, on this thread's behalf */
	bool in_callback;         /* of a budget: heap/callbacks.h */
	bool ended;               /* its cache was given up: it allocates without one */
	uint8_t doublings;        /* of the mean distance of samples, that `left` was drawn with */
	uint8_t in_tables;    /* accounts/tables.h: it holds their lock or waits for it; its handlers find this set */
	uint8_t tables_forks; /* forks of handlers that found it set */
};

extern EBBI_OWN __thread struct ebbi_thread ebbi_thread_self __attribute__((tls_model("initial-exec")));

/*
 * Make the heap usable. Every function below sees to it by itself; the library's constructor calls it
 * so that it happens while the process has one thread. Reads EBB_CONF.
 */
void ebbi_heap_boot(void);

/*
 * `bytes` (0 counts as 1), aligned to `align_bytes` (a power of two). ZERO: every byte of the request
 * is 0.
 */
void *ebbi_heap_alloc(size_t bytes, size_t align_bytes, enum ebbi_content content);

/* The same for bytes that were taken off the countdown already. */
void *ebbi_heap_alloc_uncounted(size_t bytes, size_t align_bytes, enum ebbi_content content);

/* `block` is not NULL. */
void ebbi_heap_free(void *block);

/* `block` is not NULL, `bytes` not 0. The block itself, or a new one with the contents; NULL leaves it alone. */
void *ebbi_heap_resize(void *block, size_t bytes);

/* Bytes the program may use at `block`: at least what was asked for, always the same. 0 for NULL. */
size_t ebbi_heap_usable_bytes(const void *block);

/* Give back all that can be given back now. Returns bytes. */
size_t ebbi_heap_purge(void);

/* Ends the process when an invariant of any layer does not hold. For tests; walks over the heap. */
void ebbi_heap_check(void);

/* Around fork(2), in the forking thread. */
void ebbi_heap_fork_prepare(void);
void ebbi_heap_fork_parent(void);
void ebbi_heap_fork_child(void);

#endif
