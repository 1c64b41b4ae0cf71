/*
 * protocol.pml: src/caches/handshake.h, one Promela step per memory access, and contents worth protecting.
 *
 * Contents: a stack of at most two tokens, COUNT and SLOT[0..1] in mem[]. `pool` is everything behind the
 * caches (its own lock is a d_step), `out` what the program holds. Whatever happens, each token must be in
 * exactly one of the three. A step that finds otherwise fails an assertion; so does an end
 * where one is missing. `owner_in` and `drainer_in` say the same at once: they never overlap.
 *
 * Variants. Each of these takes one thing out of the protocol:
 *   NO_MEMBARRIER        the scavenger does not issue it
 *   EARLY_MEMBARRIER     it issues it before it has set DRAIN
 *   NO_BUSY_CHECK        it drains without looking at state
 *   NO_LOCK              drainers ignore the control lock
 *   BLIND_TOUCH_CLEAR    TOUCHED -> IDLE is a load and a store instead of a compare-and-swap
 *   PLAIN_RESUME         DRAIN is cleared by a load and a store instead of an atomic and
 *   ENTER_RELAXED        the owner's load of stop is no acquire
 *   LEAVE_RELAXED        leaving is no release
 *   BUSY_RELAXED         the scavenger's load of state is no acquire
 *   RESUME_RELAXED       clearing DRAIN is no release
 * These are right, too:
 *   SEQCST               what ThreadSanitizer builds do: an exchange to enter, and no membarrier
 *   FALLBACK             no membarrier: the scavenger only asks, the owner drains itself
 */
#include "memory.pml"

#define IDLE 0
#define BUSY 1
#define TOUCHED 2

#define DRAIN 8
#define DEFERRED 16
#define REQUEST 64
#define QUIET 128

#define ALL 3 /* two tokens: 1 and 2 */

#if defined(SEQCST) || defined(FALLBACK)
#define NO_MEMBARRIER
#endif

byte stop;
bit lock;
byte deferred; /* the lock-free list, as a set */

byte pool = 2;
byte out;
bit owner_in;
bit drainer_in;

/*
 * PREFETCH (ARM): a load performed early. Thread 0's next load of stop may be done any time after
 * its last one (acquire loads stay in order among themselves); a load of COUNT may be done before
 * the load of stop that should come first, unless that is an acquire. NONE: nothing was loaded early.
 */
#define NONE 255
byte early_stop = NONE;
byte early_count = NONE;

/* An acquire: what thread t loads later was not loaded before this. */
#define NOT_BEFORE(t) early_stop = (t == 0 -> NONE : early_stop)

#ifndef CHECK_STRANDED
#define CHECK_STRANDED(s) skip
#endif

inline start_memory()
{
	mem[COUNT] = 1;
	mem[SLOT] = 1
}

/* --- The owner ------------------------------------------------------------------------------- */

/* These two are for thread 0. */
inline may_prefetch_stop()
{
#ifdef ARM
	if
	:: d_step { RUNS(0) -> early_stop = stop }
	:: skip
	fi
#else
	skip
#endif
}

inline may_prefetch_count()
{
#if defined(ARM) && defined(ENTER_RELAXED)
	if
	:: load(0, COUNT, early_count)
	:: skip
	fi
#else
	skip
#endif
}

/* The owner is thread 0; its handlers are, too. */
inline enter(old, s)
{
#ifdef SEQCST
	/* A sequentially consistent load is not performed ahead of a sequentially consistent store. */
	d_step { (RUNS(0) && EMPTY(0)) -> old = mem[STATE]; mem[STATE] = BUSY; NOT_BEFORE(0) };
#else
	load(0, STATE, old);
	store(0, STATE, BUSY, PLAIN);
#endif
	may_prefetch_count();
	d_step {
		RUNS(0) ->
		if
		:: early_stop != NONE -> s = early_stop; early_stop = NONE
		:: else -> s = stop
		fi;
		if
		:: old != BUSY && !(s & DRAIN) -> owner_in = 1; assert(!drainer_in)
		:: else
		fi;
		CHECK_STRANDED(s)
	};
	may_prefetch_stop()
}

inline leave()
{
	d_step { RUNS(0) -> owner_in = 0 };
#ifdef LEAVE_RELAXED
	store(0, STATE, TOUCHED, PLAIN)
#else
	store(0, STATE, TOUCHED, RELEASE)
#endif
}

inline back_out(old)
{
	early_count = NONE;
	store(0, STATE, old, RELEASE)
}

/* --- The control lock: a variable, since it is changed by read-modify-writes alone ----------- */

inline lock_take(t)
{
#ifdef NO_LOCK
	(RUNS(t) && !(stop & DRAIN))
#else
	d_step { (RUNS(t) && !lock && RMW_ACQUIRE(t)) -> lock = 1; NOT_BEFORE(t) }
#endif
}

inline lock_give(t)
{
#ifdef NO_LOCK
	skip
#else
	d_step { (RUNS(t) && RMW_RELEASE(t)) -> lock = 0 }
#endif
}

/* got: 0 when somebody else has it. */
inline lock_try(t, got)
{
#ifdef NO_LOCK
	got = 1
#else
	d_step { (RUNS(t) && RMW_ACQUIRE(t)) -> got = !lock; lock = 1; NOT_BEFORE(t) }
#endif
}

/*
 * Until the lock was seen free.
 *   AWAIT_TAKES   takes and gives it up at once instead of only looking
 */
inline await()
{
#ifdef AWAIT_TAKES
	lock_take(0);
	lock_give(0)
#else
#ifdef NO_LOCK
	(RUNS(0) && !(stop & DRAIN))
#else
	d_step { (RUNS(0) && !lock) -> NOT_BEFORE(0) }
#endif
#endif
}

/*
 * The owner, inside and with the control lock, comes out.
 *   STATE_FIRST   and gives the lock up only then
 */
inline unclaim()
{
#ifdef STATE_FIRST
	leave();
	lock_give(0)
#else
	lock_give(0);
	leave()
#endif
}

/* --- Contents -------------------------------------------------------------------------------- */

/* A token read from a slot: it is one, and nobody else has it. Inside d_step. */
inline check_token(tok)
{
	assert(tok == 1 || tok == 2);
	assert(!(out & tok));
	assert(!(pool & tok))
}

/* Anything at all from the pool, or 0. Inside d_step. */
inline refill(tok)
{
	tok = (pool & 1 -> 1 : pool & 2);
	pool = pool & ~tok;
	assert(!(out & tok));
	out = out | tok
}

inline load_count(n)
{
	d_step {
		RUNS(0) ->
		if
		:: early_count != NONE -> n = early_count; early_count = NONE
		:: else -> look(0, COUNT, n)
		fi;
		assert(n <= 2)
	}
}

/* malloc: pop, or take one from behind. tok is 0 when there is none at all. */
inline pop(n, tok)
{
	load_count(n);
	if
	:: d_step { (n > 0 && RUNS(0)) -> look(0, SLOT + n - 1, tok); check_token(tok); out = out | tok };
		store(0, COUNT, n - 1, PLAIN)
	:: n == 0 -> take_from_pool(0, tok)
	fi;
	n = 0
}

/* free: push; tok is no longer in out, the program gave it up. */
inline push(n, tok)
{
	load_count(n);
	assert(n < 2);
	store(0, SLOT + n, tok, PLAIN);
	store(0, COUNT, n + 1, PLAIN);
	n = 0
}

/* The program allocates, or frees something it holds. */
inline choose(freeing, tok)
{
	if
	:: freeing = 0
	:: d_step { (out != 0 && RUNS(0)) -> freeing = 1; tok = (out & 1 -> 1 : out & 2); out = out & ~tok }
	fi
}

/*
 * Empty the stack into the pool: the owner does it to itself, others to it. early: COUNT as loaded
 * ahead of time, or NONE.
 */
inline drain(t, early, n, tok)
{
	d_step {
		RUNS(t) ->
		if
		:: early != NONE -> n = early; early = NONE
		:: else -> look(t, COUNT, n)
		fi;
		assert(n <= 2)
	};
	do
	:: d_step { (n > 0 && RUNS(t)) -> look(t, SLOT + n - 1, tok); check_token(tok); pool = pool | tok; n-- }
	:: n == 0 -> break
	od;
	store(t, COUNT, 0, PLAIN);
	tok = 0
}

/* --- The scavenger --------------------------------------------------------------------------- */

inline touch_clear(t)
{
#ifdef BLIND_TOUCH_CLEAR
	if
	:: mem[STATE] == TOUCHED -> store(t, STATE, IDLE, PLAIN)
	:: mem[STATE] != TOUCHED
	fi
#else
	d_step {
		EMPTY(t) ->
		if
		:: mem[STATE] == TOUCHED -> mem[STATE] = IDLE
		:: else
		fi
	}
#endif
}

inline set_drain(t)
{
	d_step { (RUNS(t) && RMW_RELEASE(t)) -> stop = stop | DRAIN }
}

inline membarrier(t)
{
#ifndef NO_MEMBARRIER
	d_step { (RUNS(t) && EMPTY(0) && EMPTY(t)) -> early_stop = NONE; early_count = NONE }
#else
	skip
#endif
}

/* may: the caller may drain. It is inside from this very step on. */
inline check_busy(t, early, may)
{
#if defined(ARM) && defined(BUSY_RELAXED)
	if
	:: load(t, COUNT, early)
	:: skip
	fi;
#endif
	d_step {
		look(t, STATE, may);
#ifdef NO_BUSY_CHECK
		may = 1;
#else
		may = (may != BUSY);
#endif
		if
		:: may -> assert(!owner_in); drainer_in = 1
		:: else
		fi
	}
}

inline clear_drain(t, tmp)
{
#ifdef PLAIN_RESUME
	tmp = stop;
	d_step { (RUNS(t) && RMW_RELEASE(t)) -> stop = tmp & ~(DRAIN | QUIET); tmp = 0 }
#else
#ifdef RESUME_RELAXED
	d_step { (RUNS(t) && RMW_ACQUIRE(t)) -> stop = stop & ~(DRAIN | QUIET) }
#else
	d_step { (RUNS(t) && RMW_RELEASE(t)) -> stop = stop & ~(DRAIN | QUIET) }
#endif
#endif
}

inline resume(t, tmp)
{
	drainer_in = 0;
	clear_drain(t, tmp);
	lock_give(t)
}

/* --- Frees that handlers queue --------------------------------------------------------------- */

/*
 * Take what handlers queued. By the owner, inside (into its cache), or by a drainer (into the pool).
 *   TAKE_LIST_FIRST   the list before the bit
 */
inline deferred_take(t, list)
{
#ifdef TAKE_LIST_FIRST
	d_step { (RUNS(t) && RMW_ACQUIRE(t)) -> list = deferred; deferred = 0 };
	d_step { (RUNS(t) && RMW_RELEASE(t)) -> stop = stop & ~DEFERRED; NOT_BEFORE(t) }
#else
	d_step { (RUNS(t) && RMW_RELEASE(t)) -> stop = stop & ~DEFERRED; NOT_BEFORE(t) };
	d_step { (RUNS(t) && RMW_ACQUIRE(t)) -> list = deferred; deferred = 0 }
#endif
}

/*
 * A handler that interrupted its own thread inside.
 *   DEFER_BIT_FIRST   the bit before the push
 */
inline defer(tok)
{
#ifdef DEFER_BIT_FIRST
	d_step { (RUNS(0) && RMW_RELEASE(0)) -> stop = stop | DEFERRED; NOT_BEFORE(0) };
	d_step { (RUNS(0) && RMW_RELEASE(0)) -> deferred = deferred | tok; tok = 0 }
#else
	d_step { (RUNS(0) && RMW_RELEASE(0)) -> deferred = deferred | tok; tok = 0 };
	d_step { (RUNS(0) && RMW_RELEASE(0)) -> stop = stop | DEFERRED; NOT_BEFORE(0) }
#endif
}

/* Everything has come to rest: where are the tokens? */
inline check_conserved(n, tok, seen)
{
	d_step {
		seen = 0;
		n = mem[COUNT];
		assert(n <= 2);
		do
		:: n > 0 ->
			tok = mem[SLOT + n - 1];
			assert(tok == 1 || tok == 2);
			assert(!(seen & tok));
			seen = seen | tok;
			n--
		:: else -> break
		od;
		assert(!(seen & pool) && !(seen & out) && !(pool & out) && !(deferred & (pool | out | seen)));
		assert((seen | pool | out | deferred) == ALL)
	}
}
