/*
 * signal.pml: an owner whose thread is interrupted anywhere by a signal handler that allocates or frees, which
 * is itself interrupted by another one, against a scavenger; then the owner exits.
 *
 * A handler is a process of its own that may start whenever a lower level runs, which then stands still until
 * it is done. All levels are one thread and share its store buffer.
 *
 * More variants than in protocol.pml:
 *   HANDLER_OPERATES   a nested handler goes ahead as if it had entered
 *   HANDLER_LEAVES     a nested handler leaves as if it had entered
 *   HANDLER_WAITS      a nested handler waits until the state is not BUSY
 *   HANDLER_AWAITS     a nested handler waits for the control lock
 *   EXIT_LOCK_ONLY     the exiting owner takes the control lock without being inside
 * And one that is right: HANDLER_FORKS, where the handlers do not allocate but fork.
 */
#define THREADS 2
#ifndef OPERATIONS
#define OPERATIONS 2
#endif
#ifndef LEVELS
#define LEVELS 2
#endif
#ifndef TICKS
#define TICKS 1
#endif

#define RUNS(t) (t != 0 || level == mine)

/*
 * The owner goes inside: what a handler queued is announced, or somebody is just taking it. (A handler
 * itself may have interrupted one that has pushed and not announced yet.)
 */
#define CHECK_STRANDED(s) assert(level != 0 || deferred == 0 || (s & (DEFERRED | DRAIN)))

byte level; /* which handler runs; 0: none */

#include "protocol.pml"

inline take_from_pool(t, tok)
{
	d_step { RUNS(t) -> refill(tok) }
}

bit attached = 1; /* the thread still has the cache */
byte finished;

inline free_list(list, n)
{
	if
	:: list & 1 -> push(n, 1)
	:: else
	fi;
	if
	:: list & 2 -> push(n, 2)
	:: else
	fi;
	list = 0
}

/* Inside, with the stop word s: chores, then the operation, then out. */
inline operate(old, s, n, tok, list, freeing)
{
	if
	:: s & DEFERRED -> deferred_take(0, list); free_list(list, n)
	:: else
	fi;
	if
	:: freeing -> push(n, tok)
	:: else -> pop(n, tok)
	fi;
	leave();
	d_step { tok = 0; freeing = 0; old = 0; s = 0 }
}

proctype Owner()
{
	byte mine = 0;
	byte old, s, n, tok, list, operations;
	bit freeing, got;

	do
	:: operations < OPERATIONS ->
		operations++;
		choose(freeing, tok);
again:		enter(old, s);
		if
		:: s & DRAIN -> back_out(old); await(); goto again
		:: else
		fi;
		operate(old, s, n, tok, list, freeing)
	:: else -> break
	od;

retire:
#ifdef EXIT_LOCK_ONLY
	lock_take(0);
#else
	enter(old, s);
	if
	:: s & DRAIN -> back_out(old); await(); goto retire
	:: else
	fi;
	lock_try(0, got);
	if
	:: !got -> leave(); await(); goto retire
	:: else
	fi;
#endif
	drain(0, early_count, n, tok);
	deferred_take(0, list);
	d_step { RUNS(0) -> pool = pool | list; list = 0 };
	d_step { RUNS(0) -> attached = 0 };
	unclaim();
	finished++
}

/* What fork does to its own thread's cache, unless it is nested. */
inline claim_and_unclaim(old, s, got)
{
	load(0, STATE, old);
	do
	:: old == BUSY -> break /* nested */
	:: old != BUSY ->
		enter(old, s);
		if
		:: s & DRAIN -> back_out(old); await(); old = IDLE
		:: else ->
			lock_try(0, got);
			if
			:: got -> unclaim(); break
			:: else -> leave(); await(); old = IDLE
			fi
		fi
	od
}

inline handle()
{
	atomic { level < mine -> below = level; level = mine };
	if
	:: RUNS(0) && !attached -> goto done
	:: RUNS(0) && attached
	fi;
#ifdef HANDLER_FORKS
	claim_and_unclaim(old, s, freeing);
	goto done;
#endif
	choose(freeing, tok);
again:	enter(old, s);
	if
#ifndef HANDLER_OPERATES
	:: old == BUSY ->
#ifdef HANDLER_WAITS
		(RUNS(0) && EMPTY(0) && mem[STATE] != BUSY);
#endif
#ifdef HANDLER_AWAITS
		await();
#endif
		if
		:: freeing -> defer(tok)
		:: else /* from a mapping of its own */
		fi;
#ifdef HANDLER_LEAVES
		leave()
#endif
	:: old != BUSY && (s & DRAIN) -> back_out(old); await(); goto again
	:: old != BUSY && !(s & DRAIN) -> operate(old, s, n, tok, list, freeing)
#else
	:: s & DRAIN -> back_out(old); await(); goto again
	:: else -> operate(old, s, n, tok, list, freeing)
#endif
	fi;
done:	skip;
	d_step { RUNS(0) -> level = below; below = 0; old = 0; s = 0; n = 0; freeing = 0 };
	finished++
}

proctype Handler1()
{
	byte mine = 1;
	byte old, s, n, tok, list, below;
	bit freeing;

	handle()
}

#if LEVELS > 1
proctype Handler2()
{
	byte mine = 2;
	byte old, s, n, tok, list, below;
	bit freeing;

	handle()
}
#endif

proctype Scavenger(byte t)
{
	byte mine = 0; /* of no consequence */
	byte n, tok, list, ticks, early = NONE;
	bit got;

	do
	:: ticks < TICKS ->
		ticks++;
		if
		:: touch_clear(t)
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
				drain(t, early, n, tok);
				deferred_take(t, list);
				d_step { pool = pool | list; list = 0 }
			:: else
			fi;
			resume(t, n)
		:: else
		fi;
		d_step { got = 0; n = 0; early = NONE }
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
		run Handler1();
#if LEVELS > 1
		run Handler2();
#endif
		run Scavenger(1)
	};
	d_step { (finished == 2 + LEVELS && EMPTY(0) && EMPTY(1)) -> n = 0 };
	check_conserved(n, tok, seen);
	/* What is queued will be found: by the block's next owner, or by the scavenger. */
	assert(deferred == 0 || (stop & DEFERRED))
}
