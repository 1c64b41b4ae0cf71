/*
 * scavenger.h: who gives memory back, and when.
 *
 * Owns: the thread that looks, whether it sleeps, and the count of bytes that became free since it
 * went to sleep. Never: holds a lock while it sleeps; wakes when nothing is owed.
 *
 * A look empties caches that were idle since the last look, gives back the pages that were free at the
 * last look, and marks those that are free now. Looks are half a delay apart, so that memory goes
 * back between half a delay and one delay after it became free, and a cache between half and one
 * after its thread went to sleep. A process that took nothing from the bins for a whole tick is quiet: then
 * a look gives back what is free, without a mark from the look before. When a look finds nothing that a later one could do, the thread waits
 * on a futex without a timeout until HOT_BYTES became free.
 *
 * The thread starts when START_BYTES became free for the first time, not before: a small or
 * short-lived process keeps its one thread. Where no thread can be had (option scavenger:0, a pids
 * limit, a filter) the program's own slow paths look, every half delay, and features_off says so; after ten
 * seconds the kernel is asked again.
 *
 * Rights. setuid(3) changes the threads that the C library knows, which this one is not. It has no
 * capabilities, and before each look it compares its effective user and group with the process's and ends
 * when they differ, so that the next one starts with the rights of then.
 *
 * Threading: note from any thread inside its cache; look from any thread. Errors: none.
 */
#ifndef EBBI_HEAP_SCAVENGER_H
#define EBBI_HEAP_SCAVENGER_H

#include "heap/heap.h"

/* `bytes` went back to a slab, a run or a mapping. The caller is inside `cache` or has none (NULL). */
void ebbi_scavenger_note(struct ebbi_cache *cache, size_t bytes);

/*
 * `bytes` lie in free slots of `cache` since a refill: reason to wake the thread. To start it only in a
 * process of several threads, whose caches add up; a single thread's is small beside START_BYTES.
 */
void ebbi_scavenger_note_cached(struct ebbi_cache *cache, size_t bytes);

/* A large block was made, by a thread inside its cache: while nobody looks, the shared figures are refreshed here. */
void ebbi_scavenger_note_large(size_t bytes);

/* One look; everything: whatever can be given back, at once. `own` as above. Returns bytes given back. */
size_t ebbi_scavenger_look(struct ebbi_cache *own, bool everything, size_t *ret_left);

/* No thread is to be had or wanted: slow paths look from now on. */
void ebbi_scavenger_give_up(void);

/* In the child of a fork: the thread is gone. */
void ebbi_scavenger_forget(void);

/* How often the thread, or a slow path in its place, looked. */
uint64_t ebbi_scavenger_looks(void);

/* The pressure rose: the next tick comes now, and the ones after it sooner. Async-signal-safe. */
void ebbi_scavenger_hurry(void);

#endif
