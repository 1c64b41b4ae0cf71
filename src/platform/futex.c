#include "platform/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "base/fmt.h"
#include "platform/report.h"
#include "platform/syscall.h"

/*
 * How often a thread looks at a held lock before it sleeps. The critical sections behind these locks
 * are some tens to hundreds of nanoseconds; a sleep and a wake cost several microseconds. About
 * 100 pauses are 1-4 us on current x86 (a pause takes 40-140 cycles there) and less on others.
 */
enum { SPINS_BEFORE_SLEEP = 100 };

int ebbi_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns)
{
	struct timespec timeout;
	struct timespec *limit = NULL;

	if (timeout_ns >= 0) {
		timeout.tv_sec = timeout_ns / 1000000000;
		timeout.tv_nsec = timeout_ns % 1000000000;
		limit = &timeout;
	}
	return (int)ebbi_syscall6(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, (long)limit, 0, 0);
}

void ebbi_futex_wake(uint32_t *word, uint32_t count)
{
	if (count > INT32_MAX)
		count = INT32_MAX;
	(void)ebbi_syscall3(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, count);
}

void ebbi_lock_acquire_slow(struct ebbi_lock *lock)
{
	for (int i = 0; i < SPINS_BEFORE_SLEEP; i++) {
		uint32_t word = ebbi_load_relaxed(&lock->word);

		if (word == EBBI_LOCK_CONTENDED)
			break; /* others sleep already: spinning would only jump their queue */
		if (word == EBBI_LOCK_FREE && ebbi_lock_acquire_fast(lock))
			return;
		ebbi_spin_hint();
	}
	/* From here we may be one of several sleepers and cannot know: leave CONTENDED behind. */
	while (ebbi_exchange_acquire(&lock->word, EBBI_LOCK_CONTENDED) != EBBI_LOCK_FREE)
		(void)ebbi_futex_wait(&lock->word, EBBI_LOCK_CONTENDED, -1);
}

void ebbi_lock_wait_free_slow(struct ebbi_lock *lock)
{
	bool slept = false;
	uint32_t word;

	for (int i = 0; i < SPINS_BEFORE_SLEEP; i++) {
		if (ebbi_load_acquire(&lock->word) == EBBI_LOCK_FREE)
			return;
		ebbi_spin_hint();
	}
	while ((word = ebbi_load_acquire(&lock->word)) != EBBI_LOCK_FREE) {
		if (word == EBBI_LOCK_HELD && !ebbi_cas_relaxed(&lock->word, &word, (uint32_t)EBBI_LOCK_CONTENDED))
			continue;
		(void)ebbi_futex_wait(&lock->word, EBBI_LOCK_CONTENDED, -1);
		slept = true;
	}
	/* The wake may have been meant for somebody who wants the lock; we do not take it, so pass it on. */
	if (slept)
		ebbi_futex_wake(&lock->word, 1);
}

void ebbi_lock_release_slow(struct ebbi_lock *lock)
{
	ebbi_futex_wake(&lock->word, 1);
}

#if EBBI_CHECKED

/* How many locks of each rank this thread holds: owner thread only. */
static __thread __attribute__((tls_model("initial-exec"))) uint32_t held_by_rank[EBBI_RANK_COUNT];

static const char *const rank_names[EBBI_RANK_COUNT] = {
	[EBBI_RANK_NONE] = "none",         [EBBI_RANK_REGISTRY] = "registry", [EBBI_RANK_CACHE] = "cache",
	[EBBI_RANK_SNAPSHOT] = "snapshot", [EBBI_RANK_BUDGET] = "budget",     [EBBI_RANK_PURGE] = "purge",
	[EBBI_RANK_BIN] = "bin",           [EBBI_RANK_GROW] = "grow",         [EBBI_RANK_PAGES] = "pages",
	[EBBI_RANK_META] = "meta",         [EBBI_RANK_SAMPLES] = "samples",
};

static _Noreturn void __attribute__((cold)) rank_die(const char *what, uint32_t rank, uint32_t held)
{
	char text[160];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text) - 1);

	ebbi_fmt_text(&line, "lock rank: ");
	ebbi_fmt_text(&line, what);
	ebbi_fmt_text(&line, " ");
	ebbi_fmt_text(&line, rank < EBBI_RANK_COUNT ? rank_names[rank] : "unknown");
	if (held != EBBI_RANK_NONE) {
		ebbi_fmt_text(&line, " while holding ");
		ebbi_fmt_text(&line, rank_names[held]);
	}
	text[line.length] = '\0';
	ebbi_report_internal(text);
}

void ebbi_lock_rank_taking(const struct ebbi_lock *lock, enum ebbi_lock_how how)
{
	uint32_t first = lock->rank;

	if (lock->rank == EBBI_RANK_NONE || lock->rank >= EBBI_RANK_COUNT)
		rank_die("taking a lock that was not initialised, rank", lock->rank, EBBI_RANK_NONE);
	if (how == EBBI_LOCK_HOW_TRY)
		return; /* who does not wait cannot be part of a cycle */
	if (how == EBBI_LOCK_HOW_GROUP && held_by_rank[EBBI_RANK_REGISTRY] > 0)
		first = lock->rank + 1;
	for (uint32_t held = first; held < EBBI_RANK_COUNT; held++)
		if (held_by_rank[held] > 0)
			rank_die("waiting for", lock->rank, held);
}

void ebbi_lock_rank_taken(const struct ebbi_lock *lock)
{
	held_by_rank[lock->rank]++;
}

void ebbi_lock_rank_released(const struct ebbi_lock *lock)
{
	if (held_by_rank[lock->rank] == 0)
		rank_die("releasing what this thread does not hold, rank", lock->rank, EBBI_RANK_NONE);
	held_by_rank[lock->rank]--;
}

uint32_t ebbi_lock_ranks_held(void)
{
	uint32_t held = 0;

	for (uint32_t rank = 0; rank < EBBI_RANK_COUNT; rank++)
		held |= (uint32_t)(held_by_rank[rank] > 0) << rank;
	return held;
}

#endif
