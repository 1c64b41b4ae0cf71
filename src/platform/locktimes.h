/*
 * locktimes.h: a build for measuring: how long each rank's locks were held and waited for.
 *
 * Owns: the counts, printed on stderr when the process ends, a line a rank: how often taken, how often not at
 * the first try, and of the waits and holds the median, what one in a thousand and one in 100 000 exceed
 * (rounded up to a power of two), and the longest hold with the place that ended it.
 * Never does: anything in other builds, where EBBI_LOCK_TIMES is 0 and nothing of it is compiled.
 * Threading: any thread; counters are relaxed atomics.
 * Errors: none.
 * Invariants: none beyond the counts. Figures contain the measurement itself: about 20 ns a hold by the
 * clock (1), about 200 by CPU time (2), which in turn leaves out the time when a holder was not running.
 */
#ifndef EBBI_PLATFORM_LOCKTIMES_H
#define EBBI_PLATFORM_LOCKTIMES_H

#include "base/build.h"

#if EBBI_LOCK_TIMES
struct ebbi_lock;

/* Take the lock, and count. */
void ebbi_lock_times_acquire(struct ebbi_lock *lock);
/* It was taken without waiting. */
void ebbi_lock_times_taken(struct ebbi_lock *lock);
/* It is about to be given up. */
void ebbi_lock_times_released(struct ebbi_lock *lock);
#endif

#endif
