/*
 * fork.pml: a thread forks while another one, the owner, uses its cache, and a scavenger may be at work.
 *
 * The child's memory is a copy that takes time: state and contents are copied at different
 * moments, in either order (they may lie on different pages). The child then adopts the
 * owner's cache or gives it up for lost. What it adopts must be whole: with its copy of the pool and of what
 * the program held, each token exactly once.
 *
 * The scavenger may also be looking at the forking thread's own cache: in the child nobody is left to let
 * that thread in again.
 *
 * The owner now and then needs the registry's lock while it is inside; the forking thread holds it. A signal
 * handler may interrupt the forking thread at any time and allocates.
 *
 * More variants than in protocol.pml:
 *   FORK_NO_STOP         DRAIN is not set before the copy
 *   FORK_NO_QUIET        the child adopts whatever its copy of state says is not BUSY
 *   FORK_WAITS_FOR_EVER  until the owner is outside
 *   FORK_OWN_UNLOCKED    the forking thread does not take its own cache's control lock
 *   FORK_OUTSIDE         the forking thread is not inside its own cache while it holds the locks
 */
#define THREADS 3
#ifndef OPERATIONS
#define OPERATIONS 2
#endif
#ifndef TICKS
#define TICKS 1
#endif

#define RUNS(t) (t != 2 || level == 0) /* thread 2 forks */

byte level;   /* the forking thread is in a signal handler */
bit blocked;  /* it has blocked signals */
bit registry; /* lock */
bit bins;     /* lock; behind it, the pool */

#include "protocol.pml"

bit fork_in;  /* the forking thread's own state is BUSY (its store buffer is handshake.pml's concern) */
bit own_lock; /* its own cache's control lock */
bit own_drain;
byte finished;

/* What the child gets. */
byte copy_state, copy_count, copy_slot0, copy_slot1, copy_pool, copy_out;
bit copy_own_drain, forked;

inline take(t, what)
{
	d_step { (RUNS(t) && !what && RMW_ACQUIRE(t)) -> what = 1; NOT_BEFORE(t) }
}

inline give(t, what)
{
	d_step { (RUNS(t) && RMW_RELEASE(t)) -> what = 0 }
}

inline take_from_pool(t, tok)
{
	take(t, bins);
	d_step { RUNS(t) -> refill(tok) };
	give(t, bins)
}

proctype Owner()
{
	byte old, s, n, tok, operations;
	bit freeing;

	do
	:: operations < OPERATIONS ->
		operations++;
		do
		:: s == 0 ->
			enter(old, s);
			if
			:: s & DRAIN -> back_out(old); await(); s = 0
			:: else -> break
			fi
		od;
		choose(freeing, tok);
		if
		:: skip
		:: true -> /* the kind of operation that needs the registry */
			take(0, registry);
			give(0, registry)
		fi;
		if
		:: freeing -> push(n, tok)
		:: else -> pop(n, tok)
		fi;
		leave();
		d_step { tok = 0; freeing = 0; old = 0; s = 0 }
	:: else -> break
	od;
	finished++
}

proctype Scavenger(byte t)
{
	byte n, tok, early = NONE;
	bit got;

	if
	:: touch_clear(t)
	:: skip
	fi;
	/* The forking thread's cache: stop it, find it busy or empty, let it go on; whenever. */
	if
	:: d_step { !own_lock -> own_lock = 1; own_drain = 1 };
		d_step { own_drain = 0 };
		d_step { own_lock = 0 }
	:: skip
	fi;
	lock_try(t, got);
	if
	:: got ->
		set_drain(t);
		membarrier(t);
		check_busy(t, early, got);
		if
		:: got ->
			take(t, bins);
			drain(t, early, n, tok);
			give(t, bins)
		:: else
		fi;
		resume(t, n)
	:: else
	fi;
	finished++
}

inline copy_word(t)
{
	d_step { RUNS(t) -> copy_state = mem[STATE] }
}

inline copy_contents(t)
{
	d_step {
		RUNS(t) ->
		copy_count = mem[COUNT];
		copy_slot0 = mem[SLOT];
		copy_slot1 = mem[SLOT + 1];
		copy_pool = pool;
		copy_out = out;
		copy_own_drain = own_drain
	}
}

/* The child decides, and uses what it adopts. */
inline child(quiet)
{
	d_step {
		RUNS(2) -> forked = 1;
		assert(!copy_own_drain); /* or its next malloc waits for ever */
#ifdef FORK_NO_QUIET
		if
		:: copy_state != BUSY
#else
		if
		:: quiet
#endif
		->
			assert(copy_count <= 2);
			if
			:: copy_count == 0 -> assert((copy_pool | copy_out) == ALL)
			:: copy_count == 1 ->
				assert(copy_slot0 != 0 && !(copy_pool & copy_slot0) && !(copy_out & copy_slot0));
				assert((copy_pool | copy_out | copy_slot0) == ALL)
			:: copy_count == 2 ->
				assert((copy_slot0 | copy_slot1) == ALL);
				assert(copy_pool == 0 && copy_out == 0)
			fi;
			assert(!(copy_pool & copy_out))
		:: else /* lost: counted, not used */
		fi
	}
}

proctype Fork(byte t)
{
	byte tries, n, busy, early = NONE;
	bit quiet;

	/* prepare */
	d_step { RUNS(t) -> blocked = 1 };
	take(t, registry);
#ifndef FORK_OUTSIDE
again:	skip;
	d_step { RUNS(t) -> fork_in = 1 };
	if
	:: d_step { (RUNS(t) && own_drain) -> fork_in = 0 };
		take(t, own_lock);
		give(t, own_lock);
		goto again
	:: RUNS(t) && !own_drain
	fi;
#ifndef FORK_OWN_UNLOCKED
	if
	:: d_step { (RUNS(t) && !own_lock) -> own_lock = 1 }
	:: d_step { (RUNS(t) && own_lock) -> fork_in = 0 };
		take(t, own_lock);
		give(t, own_lock);
		goto again
	fi;
#endif
#else
	take(t, own_lock);
#endif
	blocked = 0;
	lock_take(t);
#ifndef FORK_NO_STOP
	set_drain(t);
#endif
	membarrier(t);
#ifdef FORK_WAITS_FOR_EVER
	(RUNS(t) && mem[STATE] != BUSY);
	quiet = 1;
#else
	do
	:: tries < 2 ->
		tries++;
		load(t, STATE, busy);
		if
		:: busy != BUSY -> quiet = 1; break
		:: else
		fi
	:: else -> break
	od;
#endif
	take(t, bins);
	/* fork: the copy, in one order or the other */
	if
	:: copy_word(t); copy_contents(t)
	:: copy_contents(t); copy_word(t)
	fi;
	child(quiet);
	/* parent */
	give(t, bins);
	resume(t, n);
#ifndef FORK_OWN_UNLOCKED
	give(t, own_lock);
#endif
	d_step { RUNS(t) -> fork_in = 0 };
	give(t, registry);
	finished++
}

/*
 * On the forking thread: allocates, from its cache's bins unless that is busy. The thread blocks signals
 * from before it takes the registry's lock until it is inside.
 */
proctype Handler()
{
	atomic { (level == 0 && !blocked) -> level = 1 };
	if
	:: fork_in /* nested: from a mapping of its own */
	:: else ->
		!bins -> bins = 1;
		bins = 0
	fi;
	level = 0;
	finished++
}

init {
	byte n, tok, seen;

	start_memory();
	atomic {
		run Flush(0);
		run Flush(1);
		run Flush(2);
		run Owner();
		run Scavenger(1);
		run Fork(2);
		run Handler()
	};
	d_step { (finished == 4 && EMPTY(0) && EMPTY(1) && EMPTY(2)) -> n = 0 };
	check_conserved(n, tok, seen);
	assert(forked)
}
