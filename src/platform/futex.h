/*
 * futex.h: the allocator's lock, and waiting on a word.
 *
 * Owns: struct ebbi_lock (four bytes in release builds) and ebbi_futex_wait/wake.
 * Never does: allocate, touch errno, or (in release builds) touch thread-local storage, so that the
 * scavenger's bare clone(2) thread may use it. Checked builds keep the ranks a thread holds in
 * thread-local storage: there every thread that locks must have its own.
 * Threading: any thread. A signal handler may lock only when it did not interrupt an allocator
 * operation of its own thread (see caches/handshake.h): the lock is not recursive.
 * Errors: none. Checked builds end the program with one line when a lock is taken against its rank,
 * released by a thread that does not hold its rank, or used before it was initialised.
 * Invariants: word is FREE, HELD or CONTENDED; a thread waits in the kernel only on CONTENDED, and a
 * releaser that finds CONTENDED wakes one waiter. That one either takes the lock as CONTENDED, on behalf
 * of the rest, or (wait_free) wakes the next.
 *
 * After fork the child's only thread still holds what it took before, and simply releases it.
 */
#ifndef EBBI_PLATFORM_FUTEX_H
#define EBBI_PLATFORM_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/build.h"
#include "base/ranks.h"
#include "platform/locktimes.h"

enum {
	EBBI_LOCK_FREE = 0,
	EBBI_LOCK_HELD = 1,
	EBBI_LOCK_CONTENDED = 2, /* held, and somebody may wait in the kernel */
};

struct ebbi_lock {
	uint32_t word; /* atomic; acquire when taken, release when given up: partners of each other */
#if EBBI_CHECKED || EBBI_LOCK_TIMES
	uint32_t rank; /* enum ebbi_rank; set when initialised */
#endif
#if EBBI_LOCK_TIMES
	uint64_t taken_at; /* guarded by the lock itself */
#endif
};

#if EBBI_CHECKED || EBBI_LOCK_TIMES
#define EBBI_LOCK_INIT(lock_rank) \
	{ \
		.word = EBBI_LOCK_FREE, .rank = (lock_rank) \
	}
#else
#define EBBI_LOCK_INIT(lock_rank) \
	{ \
		.word = EBBI_LOCK_FREE \
	}
#endif

/* Sleep while *word == value, at most timeout_ns (-1: without end). 0, -EAGAIN, -EINTR or -ETIMEDOUT. */
int ebbi_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns);

/* Wake up to count sleepers on this process's word. */
void ebbi_futex_wake(uint32_t *word, uint32_t count);

void ebbi_lock_acquire_slow(struct ebbi_lock *lock);
void ebbi_lock_wait_free_slow(struct ebbi_lock *lock);
void ebbi_lock_release_slow(struct ebbi_lock *lock);

/* Ranks; called in checked builds only. */
enum ebbi_lock_how { EBBI_LOCK_HOW_WAIT, EBBI_LOCK_HOW_GROUP, EBBI_LOCK_HOW_TRY };
void ebbi_lock_rank_taking(const struct ebbi_lock *lock, enum ebbi_lock_how how);
void ebbi_lock_rank_taken(const struct ebbi_lock *lock);
void ebbi_lock_rank_released(const struct ebbi_lock *lock);
/* One bit, 1 << rank, for each rank of which the calling thread holds a lock. For tests. */
uint32_t ebbi_lock_ranks_held(void);

static inline void ebbi_lock_init(struct ebbi_lock *lock, enum ebbi_rank rank)
{
	lock->word = EBBI_LOCK_FREE;
#if EBBI_CHECKED || EBBI_LOCK_TIMES
	lock->rank = (uint32_t)rank;
#else
	(void)rank;
#endif
}

static inline bool ebbi_lock_acquire_fast(struct ebbi_lock *lock)
{
	uint32_t expected = EBBI_LOCK_FREE;

	return ebbi_cas_acquire(&lock->word, &expected, EBBI_LOCK_HELD);
}

static inline void ebbi_lock_acquire_how(struct ebbi_lock *lock, enum ebbi_lock_how how)
{
	if (EBBI_CHECKED)
		ebbi_lock_rank_taking(lock, how);
#if EBBI_LOCK_TIMES
	ebbi_lock_times_acquire(lock);
#else
	if (__builtin_expect(!ebbi_lock_acquire_fast(lock), 0))
		ebbi_lock_acquire_slow(lock);
#endif
	if (EBBI_CHECKED)
		ebbi_lock_rank_taken(lock);
}

static inline void ebbi_lock_acquire(struct ebbi_lock *lock)
{
	ebbi_lock_acquire_how(lock, EBBI_LOCK_HOW_WAIT);
}

/* As acquire, by the holder of a REGISTRY lock who takes several locks of one rank. */
static inline void ebbi_lock_acquire_group(struct ebbi_lock *lock)
{
	ebbi_lock_acquire_how(lock, EBBI_LOCK_HOW_GROUP);
}

/* Take the lock when that needs no waiting. */
static inline bool ebbi_lock_acquire_try(struct ebbi_lock *lock)
{
	if (EBBI_CHECKED)
		ebbi_lock_rank_taking(lock, EBBI_LOCK_HOW_TRY);
	if (ebbi_load_relaxed(&lock->word) != EBBI_LOCK_FREE || !ebbi_lock_acquire_fast(lock))
		return false;
#if EBBI_LOCK_TIMES
	ebbi_lock_times_taken(lock);
#endif
	if (EBBI_CHECKED)
		ebbi_lock_rank_taken(lock);
	return true;
}

static inline void ebbi_lock_release(struct ebbi_lock *lock)
{
	if (EBBI_CHECKED)
		ebbi_lock_rank_released(lock);
#if EBBI_LOCK_TIMES
	ebbi_lock_times_released(lock);
#endif
	if (__builtin_expect(ebbi_exchange_release(&lock->word, EBBI_LOCK_FREE) != EBBI_LOCK_HELD, 0))
		ebbi_lock_release_slow(lock);
}

/*
 * Return once the lock was seen free, without ever holding it: a signal handler that interrupts this
 * may still take it. What the last holder did before it gave the lock up is visible then.
 */
static inline void ebbi_lock_wait_free(struct ebbi_lock *lock)
{
	if (EBBI_CHECKED)
		ebbi_lock_rank_taking(lock, EBBI_LOCK_HOW_WAIT);
	if (ebbi_load_acquire(&lock->word) != EBBI_LOCK_FREE)
		ebbi_lock_wait_free_slow(lock);
}

/* Somebody holds it: for assertions only, since the answer may be old. */
static inline bool ebbi_lock_is_held(const struct ebbi_lock *lock)
{
	return ebbi_load_relaxed(&lock->word) != EBBI_LOCK_FREE;
}

#endif
