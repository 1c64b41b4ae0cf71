/*
 * handshake.pml: an owner who allocates, frees, exits and is followed by another owner of the same control
 * block, against two drainers (the scavenger and a malloc_trim).
 *
 * More variants than in protocol.pml:
 *   EXIT_OUTSIDE   the owner drains itself at exit without having entered
 *   TWO_DRAINERS   have the second one (needed to tell NO_LOCK; the others are told by one)
 */
#ifdef TWO_DRAINERS
#define THREADS 3
#else
#define THREADS 2
#endif
#ifndef OPERATIONS
#define OPERATIONS 2 /* per life of an owner */
#endif
#ifndef TICKS
#define TICKS 2
#endif

#include "protocol.pml"

inline take_from_pool(t, tok)
{
	d_step { RUNS(t) -> refill(tok) }
}

byte finished;

proctype Owner()
{
	byte old, s, n, tok, tok2, lives, operations;
	bit freeing, got;

life:	do
	:: operations < OPERATIONS ->
		operations++;
		choose(freeing, tok);
again:		enter(old, s);
		if
		:: s & DRAIN -> back_out(old); await(); goto again
		:: else
		fi;
		if
		:: s & REQUEST ->
			d_step { RMW_RELEASE(0) -> stop = stop & ~REQUEST; NOT_BEFORE(0) };
			drain(0, early_count, n, tok2)
		:: else
		fi;
		if
		:: freeing -> push(n, tok)
		:: else -> pop(n, tok)
		fi;
		leave();
		d_step { tok = 0; freeing = 0; old = 0; s = 0 }
	:: else -> break
	od;

#ifdef EXIT_OUTSIDE
	drain(0, early_count, n, tok);
#else
retire:	enter(old, s);
	if
	:: s & DRAIN -> back_out(old); await(); goto retire
	:: else
	fi;
	lock_try(0, got);
	if
	:: !got -> leave(); await(); goto retire
	:: else
	fi;
	drain(0, early_count, n, tok);
	unclaim();
#endif
	/* The free list's lock lies between this owner and the next. */
	d_step { EMPTY(0) -> early_stop = NONE; early_count = NONE; operations = 0; old = 0; s = 0; got = 0; lives++ };
	if
	:: lives < 2 -> goto life
	:: else
	fi;
	finished++
}

proctype Drainer(byte t)
{
	byte n, tok, ticks, early = NONE;
	bit got;

	do
	:: ticks < TICKS ->
		ticks++;
		/* A scavenger drains only what was IDLE before, a malloc_trim anything: allow everything. */
		if
		:: touch_clear(t)
		:: skip
		fi;
#ifdef FALLBACK
		d_step { RMW_ACQUIRE(t) -> stop = stop | REQUEST };
#else
		lock_try(t, got);
		if
		:: got ->
#ifdef EARLY_MEMBARRIER
			membarrier(t);
			set_drain(t);
#else
			set_drain(t);
			membarrier(t);
#endif
			check_busy(t, early, got);
			if
			:: got -> drain(t, early, n, tok)
			:: else
			fi;
			resume(t, n)
		:: else
		fi;
		d_step { got = 0; n = 0; early = NONE }
#endif
	:: else -> break
	od;
	finished++
}

init {
	byte n, tok, seen;

	start_memory();
	atomic {
		run Flush(0);
		run Flush(1);
		run Owner();
		run Drainer(1);
#ifdef TWO_DRAINERS
		run Flush(2);
		run Drainer(2)
#endif
	};
	d_step {
#ifdef TWO_DRAINERS
		(finished == 3 && EMPTY(0) && EMPTY(1) && EMPTY(2))
#else
		(finished == 2 && EMPTY(0) && EMPTY(1))
#endif
		-> n = 0
	};
	check_conserved(n, tok, seen)
}
