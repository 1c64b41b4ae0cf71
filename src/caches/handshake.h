/*
 * handshake.h: who may touch a thread cache's contents, and when.
 *
 * Owns: struct ebbi_handshake, the four words through which the owner of a cache, its signal
 * handlers, the scavenger and fork agree. The contents themselves belong to caches/cache.h.
 *
 * Never does: touch contents, allocate, use errno or thread-local storage, or (on the owner's way in
 * and out) execute an atomic read-modify-write or a fence. The owner pays two plain stores and two
 * plain loads; the scavenger pays with one membarrier(2) for all caches it wants to empty.
 *
 * Why it is right, what was model-checked and what the fallback is: docs/decisions/0002-drain-handshake.md.
 * The models lie in tests/model; change them together with this file.
 *
 * The parts:
 *
 *   Owner      seen = enter(h); if (!ebbi_seen_clear(seen)) see below; use contents; leave(h).
 *   Owner, seen not clear: settle(h, seen) says
 *     NESTED   this is a signal handler that interrupted its own thread inside the allocator. The
 *              state was left alone. Touch no contents, take no lock, wait for nobody: allocate from a
 *              private mapping, free with defer(), and do NOT call leave().
 *     STOPPED  somebody drains or a fork is under way, and we are outside again. await(h), then enter
 *              again from the top.
 *     ENTERED  inside; something is to be done first: see seen & EBBI_STOP_DEFERRED (take the list with
 *              deferred_take() and free it), EBBI_STOP_REQUEST (request_take(), then drain oneself),
 *              EBBI_STOP_SLOW (a standing order of the options). Then as usual, and leave(h).
 *   Scavenger  for each cache: touch_clear_try(h) true -> it was used since the last look: leave it.
 *              Otherwise stop_try(h) true -> a candidate. After the last one, ONE
 *              ebbi_membarrier_barrier(). Only if that returned 0: for each candidate, is_busy(h) false
 *              -> the contents are ours (take the deferred list too). Then resume(h), for all of them.
 *   Exit       retire_begin(h), drain oneself, forget the cache, retire_end(h).
 *   Fork       in prepare: is_nested(own) -> a handler that interrupted the allocator forks: take no lock,
 *              since the interrupted frame may hold it. Otherwise, with signals blocked, lock the
 *              registry and fork_begin(own); signals as before. Then stop(h) on every other cache,
 *              barrier, and quiet_try(h) on each until all are or time is up. After the fork parent
 *              and child call resume(h) on each, unlock the registry, and at the very end call
 *              fork_end(own). The child asks is_quiet(h) BEFORE resume(h): true -> adoptable,
 *              false -> its contents are lost. It must not look at `state`, see is_quiet.
 *   malloc_trim is a scavenger on a thread that has a cache: it must have entered its own.
 *
 * Without membarrier (missing, refused, switched off) nobody drains another thread's cache: the
 * scavenger calls request(h) and the owner empties itself when it next enters; a fork's child treats
 * every other cache as lost.
 *
 * Threading: each function says who may call it.
 *
 * Errors: none; _try says no.
 *
 * Invariants:
 *   state is EBBI_STATE_BUSY while the owner may touch contents, and while it holds or waits for any
 *     lock of the allocator; in await() it only looks at one. So a signal handler either finds
 *     BUSY and waits for nobody, or interrupted a thread that holds nothing.
 *   EBBI_STOP_DRAIN is set => the control lock is held, by the one who set it.
 *   contents are touched by: the owner with state BUSY and DRAIN found clear after that; or the holder
 *     of the control lock who set DRAIN, had a barrier return 0, and then found state not BUSY.
 *   deferred is not empty => DEFERRED is set, or will be by the handler that pushed.
 *   whoever waits in await() is outside (state not BUSY); whoever holds a control lock waits for no
 *     owner, except fork for a bounded time.
 */
#ifndef EBBI_CACHES_HANDSHAKE_H
#define EBBI_CACHES_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/build.h"
#include "platform/futex.h"

/*
 * state and stop use different bits, so that enter() can hand both out in one word.
 *
 *   bit    7      6       5        4        3       2       1        0
 *        QUIET REQUEST   SLOW  DEFERRED   DRAIN     -    TOUCHED   BUSY
 *        `-------------- stop --------------'            `--- state ---'
 */
enum {
	EBBI_STATE_IDLE = 0x00u,    /* outside, and not used since the scavenger last looked */
	EBBI_STATE_BUSY = 0x01u,    /* inside */
	EBBI_STATE_TOUCHED = 0x02u, /* outside, used since the scavenger last looked */

	EBBI_STOP_DRAIN = 0x08u,    /* keep out: set and cleared by the holder of the control lock */
	EBBI_STOP_DEFERRED = 0x10u, /* a signal handler queued a free: set by it, cleared by who takes them */
	EBBI_STOP_SLOW = 0x20u,     /* options want every operation to take the slow path; set at birth */
	EBBI_STOP_REQUEST = 0x40u,  /* without membarrier: drain yourself; set by the scavenger */
	EBBI_STOP_QUIET = 0x80u,    /* fork found the owner outside after DRAIN; with DRAIN only */
};

enum ebbi_enter { EBBI_ENTERED, EBBI_NESTED, EBBI_STOPPED };

struct ebbi_handshake {
	/*
	 * Stored by the owner thread (and its handlers) only, except for the scavenger's TOUCHED -> IDLE.
	 * Release when leaving: partner of the acquire in is_busy(), quiet_try() and touch_clear_try().
	 */
	uint32_t state;
	/*
	 * Changed by atomic read-modify-writes only. Release when DRAIN is cleared: partner of the
	 * owner's acquire in enter(), so that an owner who finds it clear sees what the drain did.
	 */
	uint32_t stop;
	struct ebbi_lock lock; /* rank CACHE; held for the whole of a drain, an exit, a fork */
	void *deferred; /* freed objects linked through their first word; pushed with release, taken with acquire */
};

static inline void ebbi_handshake_init(struct ebbi_handshake *h, uint32_t standing_stop)
{
	ebbi_store_relaxed(&h->state, EBBI_STATE_IDLE);
	ebbi_store_relaxed(&h->stop, standing_stop);
	ebbi_lock_init(&h->lock, EBBI_RANK_CACHE);
	ebbi_store_relaxed(&h->deferred, (void *)NULL);
}

/* --- The owner and its signal handlers ------------------------------------------------------- */

/*
 * Go inside. The result is the state before (BUSY or TOUCHED bit) with the stop bits found after.
 *
 * The store of BUSY may still sit in the CPU's store buffer when stop is loaded: that is what the
 * scavenger's membarrier is for. If the load came before this CPU's barrier, so did the store, and
 * the scavenger finds BUSY; if it came after, it finds DRAIN.
 *
 * A handler may run whole operations between the first load and the store: it finds us outside, and
 * leaves TOUCHED behind, which our store overwrites.
 *
 * ThreadSanitizer knows nothing of membarrier, so its builds use sequentially consistent accesses,
 * which are right by themselves.
 */
static inline uint32_t ebbi_handshake_enter(struct ebbi_handshake *h)
{
	uint32_t old;

	if (EBBI_TSAN) {
		old = ebbi_exchange_seqcst(&h->state, (uint32_t)EBBI_STATE_BUSY);
		return old | ebbi_load_seqcst(&h->stop);
	}
	old = ebbi_load_relaxed(&h->state);
	ebbi_store_relaxed(&h->state, (uint32_t)EBBI_STATE_BUSY);
	ebbi_compiler_barrier();
	/* Acquire: partner of resume(). A plain load on x86-64; keeps aarch64 from reading contents early. */
	return old | ebbi_load_acquire(&h->stop);
}

/* The fast path may go on. */
static inline bool ebbi_seen_clear(uint32_t seen)
{
	return __builtin_expect((seen & ~(uint32_t)EBBI_STATE_TOUCHED) == 0, 1);
}

/* Come out again. Release: partner of the scavenger's acquire loads of state. */
static inline void ebbi_handshake_leave(struct ebbi_handshake *h)
{
	ebbi_store_release(&h->state, (uint32_t)EBBI_STATE_TOUCHED);
	/* The store buffer may delay it, the compiler may not: a sleeping owner would look busy for ever. */
	ebbi_compiler_barrier();
}

/*
 * Come out without having touched anything: as before enter(), which returned seen without BUSY.
 * Release, because a scavenger that reads this store relies on it for all our earlier operations.
 */
static inline void ebbi_handshake_back_out(struct ebbi_handshake *h, uint32_t seen)
{
	ebbi_store_release(&h->state, seen & (uint32_t)EBBI_STATE_TOUCHED);
	ebbi_compiler_barrier();
}

/*
 * By the owner's thread, outside or in a handler: would enter() be NESTED? For callers that must know before
 * they take a lock which the interrupted frame may hold.
 */
static inline bool ebbi_handshake_is_nested(const struct ebbi_handshake *h)
{
	return ebbi_load_relaxed(&h->state) == EBBI_STATE_BUSY;
}

/* What a result of enter() that was not clear means; see the top of the file. */
static inline enum ebbi_enter ebbi_handshake_settle(struct ebbi_handshake *h, uint32_t seen)
{
	if (seen & EBBI_STATE_BUSY)
		return EBBI_NESTED;
	if (seen & EBBI_STOP_DRAIN) {
		ebbi_handshake_back_out(h, seen);
		return EBBI_STOPPED;
	}
	return EBBI_ENTERED;
}

/*
 * Outside, by the owner or a handler that did not interrupt it inside: wait until whoever stopped us
 * is done. It does not take the lock on the way: a handler that forks just then needs to.
 */
static inline void ebbi_handshake_await(struct ebbi_handshake *h)
{
	ebbi_lock_wait_free(&h->lock);
}

/* NESTED handler: queue an object of at least one word whose first word may be overwritten. */
static inline void ebbi_handshake_defer(struct ebbi_handshake *h, void *object)
{
	void *head = ebbi_load_relaxed(&h->deferred);

	do
		ebbi_store_relaxed((void **)object, head);
	while (!ebbi_cas_release(&h->deferred, &head, object));
	/* After the push: who clears the bit and then takes the list cannot leave us behind. */
	(void)ebbi_fetch_or_release(&h->stop, (uint32_t)EBBI_STOP_DEFERRED);
}

/*
 * By whoever may touch contents: all queued objects, linked through their first words, or NULL. No
 * ABA: objects leave the list all at once. Clear first, take then.
 */
static inline void *ebbi_handshake_deferred_take(struct ebbi_handshake *h)
{
	(void)ebbi_fetch_and_acqrel(&h->stop, ~(uint32_t)EBBI_STOP_DEFERRED);
	return ebbi_exchange_acquire(&h->deferred, (void *)NULL);
}

/* ENTERED owner: true when the scavenger asked for a drain; the request is then ours to fulfil. */
static inline bool ebbi_handshake_request_take(struct ebbi_handshake *h)
{
	uint32_t old = ebbi_fetch_and_acqrel(&h->stop, ~(uint32_t)EBBI_STOP_REQUEST);

	return (old & EBBI_STOP_REQUEST) != 0;
}

/*
 * Go inside and take the control lock as well: now nobody is about to drain this cache, and nobody can
 * start to. Never waits while inside, so that a fork that holds the lock does not wait for us in
 * vain. False: NESTED, and nothing was taken.
 */
static inline bool ebbi_handshake_claim(struct ebbi_handshake *h)
{
	for (;;) {
		uint32_t seen = ebbi_handshake_enter(h);
		enum ebbi_enter how = ebbi_seen_clear(seen) ? EBBI_ENTERED : ebbi_handshake_settle(h, seen);

		if (how == EBBI_NESTED)
			return false;
		if (how == EBBI_ENTERED) {
			if (ebbi_lock_acquire_try(&h->lock))
				return true;
			ebbi_handshake_leave(h);
		}
		ebbi_handshake_await(h);
	}
}

/* The lock first: a handler that comes in between finds us inside, and does not wait for its own thread. */
static inline void ebbi_handshake_unclaim(struct ebbi_handshake *h)
{
	ebbi_lock_release(&h->lock);
	ebbi_handshake_leave(h);
}

/*
 * The owner is about to give its cache up. False: the thread ends from within a handler that interrupted
 * the allocator, and the cache must be left behind as it is.
 */
static inline bool ebbi_handshake_retire_begin(struct ebbi_handshake *h)
{
	return ebbi_handshake_claim(h);
}

/*
 * No handler can reach the cache through this thread any more. What is left in it, and what a handler
 * deferred meanwhile, stays for the next owner or the scavenger: hence TOUCHED, so that the
 * scavenger's next look takes note of what happened since its last one.
 */
static inline void ebbi_handshake_retire_end(struct ebbi_handshake *h)
{
	ebbi_handshake_unclaim(h);
}

/*
 * The forking thread's own cache. Being inside keeps its handlers nested. The control lock matters for the
 * child: a scavenger caught between stop_try() and resume() on this cache would leave it locked and
 * stopped there, with nobody to resume it, and the child's first malloc would wait for ever.
 */
static inline bool ebbi_handshake_fork_begin(struct ebbi_handshake *h)
{
	return ebbi_handshake_claim(h);
}

static inline void ebbi_handshake_fork_end(struct ebbi_handshake *h)
{
	ebbi_handshake_unclaim(h);
}

/* --- The scavenger, malloc_trim and fork ----------------------------------------------------- */

/*
 * Was the cache used since the last call? Its owner's plain stores may overtake this: then the next
 * look tells. Acquire and release: partner of leave() before, of is_busy() after.
 */
static inline bool ebbi_handshake_touch_clear_try(struct ebbi_handshake *h)
{
	uint32_t expected = EBBI_STATE_TOUCHED;

	return ebbi_cas_acqrel(&h->state, &expected, (uint32_t)EBBI_STATE_IDLE);
}

/* Outside and not used since the last look, as far as a glance can tell: worth a stop_try(). */
static inline bool ebbi_handshake_looks_idle(const struct ebbi_handshake *h)
{
	return ebbi_load_relaxed(&h->state) == EBBI_STATE_IDLE;
}

static inline void ebbi_handshake_stop_locked(struct ebbi_handshake *h)
{
	if (EBBI_TSAN)
		(void)ebbi_fetch_or_seqcst(&h->stop, (uint32_t)EBBI_STOP_DRAIN);
	else
		(void)ebbi_fetch_or_acqrel(&h->stop, (uint32_t)EBBI_STOP_DRAIN);
}

/* Ask the owner to stay out; false when somebody else drains it, or it is being given up. */
static inline bool ebbi_handshake_stop_try(struct ebbi_handshake *h)
{
	if (!ebbi_lock_acquire_try(&h->lock))
		return false;
	ebbi_handshake_stop_locked(h);
	return true;
}

/* The same by fork, which holds the registry lock and waits for a drain that is under way. */
static inline void ebbi_handshake_stop(struct ebbi_handshake *h)
{
	ebbi_lock_acquire_group(&h->lock);
	ebbi_handshake_stop_locked(h);
}

/*
 * After stop and a barrier that returned 0. False: the contents are ours until resume(); the owner
 * may flicker to BUSY and back, but backs out before it touches anything. Acquire: partner of leave().
 */
static inline bool ebbi_handshake_is_busy(const struct ebbi_handshake *h)
{
	if (EBBI_TSAN)
		return ebbi_load_seqcst(&h->state) == EBBI_STATE_BUSY;
	return ebbi_load_acquire(&h->state) == EBBI_STATE_BUSY;
}

/*
 * Fork, after stop and barrier: remember that the owner is outside. True when it is (or was found so
 * before).
 */
static inline bool ebbi_handshake_quiet_try(struct ebbi_handshake *h)
{
	if (ebbi_load_relaxed(&h->stop) & EBBI_STOP_QUIET)
		return true;
	if (ebbi_handshake_is_busy(h))
		return false;
	(void)ebbi_fetch_or_relaxed(&h->stop, (uint32_t)EBBI_STOP_QUIET);
	return true;
}

/*
 * In the child, before resume(): may the contents be adopted? The child's copy of `state` does not
 * tell: the owner may have flickered to BUSY, outside in truth, while the process was copied.
 */
static inline bool ebbi_handshake_is_quiet(const struct ebbi_handshake *h)
{
	return (ebbi_load_relaxed(&h->stop) & EBBI_STOP_QUIET) != 0;
}

/*
 * In the child, on every cache but its own thread's: no owner is left. Makes a copied BUSY usable for
 * scavengers and the next owner; TOUCHED for the same reason as in retire_end(). Before resume().
 */
static inline void ebbi_handshake_orphan(struct ebbi_handshake *h)
{
	ebbi_store_relaxed(&h->state, (uint32_t)EBBI_STATE_TOUCHED);
}

/* Let the owner in again. Release: partner of the acquire in enter(). */
static inline void ebbi_handshake_resume(struct ebbi_handshake *h)
{
	(void)ebbi_fetch_and_release(&h->stop, ~(uint32_t)(EBBI_STOP_DRAIN | EBBI_STOP_QUIET));
	ebbi_lock_release(&h->lock);
}

/* Without membarrier: ask the owner to drain itself at its next operation. Any thread, no lock. */
static inline void ebbi_handshake_request(struct ebbi_handshake *h)
{
	(void)ebbi_fetch_or_relaxed(&h->stop, (uint32_t)EBBI_STOP_REQUEST);
}

#endif
