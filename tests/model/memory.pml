/*
 * memory.pml: memory as a CPU shows it to other CPUs, for models that spin itself would run
 * sequentially consistent.
 *
 * Every thread t has a store buffer sb[t]. A store goes there; some time later a Flush process moves it to
 * mem[]. A load takes the youngest matching entry of the thread's own buffer, else mem[]. So a thread's
 * load may well be performed before its earlier store is visible, which is the one reordering of x86-64.
 *
 * With -DARM also:
 *   stores leave the buffer in any order, except two to one address, and except that a release
 *     store leaves after everything before it (what comes after it may overtake it: the weaker,
 *     RCpc, reading of acquire and release);
 *   a load may be performed before an earlier load: see PREFETCH in protocol.pml;
 *   read-modify-writes do not empty the buffer unless they release.
 *
 * With -DSC there is no buffer: what a plain spin model would see. It does not find what the protocol needs its
 * membarrier for, which is why this file exists.
 *
 * membarrier(2) puts a full barrier somewhere into every thread: at one moment its buffer is empty, and
 * loads done early for instructions that come later are forgotten (they are executed again).
 *
 * The words that are changed by read-modify-writes alone (stop, the lock, the deferred list) need no
 * buffer: they are Promela variables, and each access is one step.
 */
#ifndef DEPTH
#define DEPTH 4 /* entries a buffer holds: one whole operation, or the end of one and the start of the next */
#endif

/* Addresses. */
#define STATE 0
#define COUNT 1
#define SLOT 2 /* and 3 */

#define PLAIN 0
#define RELEASE 1

typedef buffer {
	byte addr[DEPTH];
	byte val[DEPTH];
	bit rel[DEPTH];
	byte used
};

byte mem[4];
buffer sb[THREADS];
hidden byte i_;
hidden byte v_;

#define EMPTY(t) (sb[t].used == 0)

/*
 * A thread with signal handlers is several processes of which only one runs at a time: each step that
 * others could notice is guarded by RUNS. (Promela's `provided` would do, but costs partial order
 * reduction.) Steps on local variables need no guard: when they happen makes no difference.
 */
#ifndef RUNS
#define RUNS(t) (true)
#endif

#ifdef ARM
#define RMW_ACQUIRE(t) (true)
#else
#define RMW_ACQUIRE(t) EMPTY(t) /* every locked instruction waits for the buffer */
#endif
#define RMW_RELEASE(t) EMPTY(t)

inline store(t, a, v, how)
{
#ifdef SC
	d_step { RUNS(t) -> mem[a] = v }
#else
	d_step {
		(RUNS(t) && sb[t].used < DEPTH) ->
		sb[t].addr[sb[t].used] = a;
		sb[t].val[sb[t].used] = v;
		sb[t].rel[sb[t].used] = how;
		sb[t].used++
	}
#endif
}

/* Not a step of its own: for use inside d_step. */
inline look(t, a, r)
{
	v_ = mem[a];
	i_ = 0;
	do
	:: i_ < sb[t].used ->
		if
		:: sb[t].addr[i_] == a -> v_ = sb[t].val[i_]
		:: else
		fi;
		i_++
	:: else -> break
	od;
	r = v_;
	i_ = 0;
	v_ = 0
}

inline load(t, a, r)
{
	d_step { RUNS(t) -> look(t, a, r) }
}

/* Entry k goes to memory; the rest moves up. Inside d_step. */
inline flush_entry(t, k)
{
	mem[sb[t].addr[k]] = sb[t].val[k];
	i_ = k;
	do
	:: i_ + 1 < sb[t].used ->
		sb[t].addr[i_] = sb[t].addr[i_ + 1];
		sb[t].val[i_] = sb[t].val[i_ + 1];
		sb[t].rel[i_] = sb[t].rel[i_ + 1];
		i_++
	:: else -> break
	od;
	sb[t].addr[i_] = 0;
	sb[t].val[i_] = 0;
	sb[t].rel[i_] = 0;
	sb[t].used--;
	i_ = 0
}

#define DIFFER(t, a, b) (sb[t].addr[a] != sb[t].addr[b])

proctype Flush(byte t)
{
end:	do
	:: d_step { sb[t].used > 0 -> flush_entry(t, 0) }
#ifdef ARM
	:: d_step {
		(sb[t].used > 1 && !sb[t].rel[1] && DIFFER(t, 1, 0)) -> flush_entry(t, 1)
	}
	:: d_step {
		(sb[t].used > 2 && !sb[t].rel[2] && DIFFER(t, 2, 0) && DIFFER(t, 2, 1)) -> flush_entry(t, 2)
	}
	:: d_step {
		(sb[t].used > 3 && !sb[t].rel[3] && DIFFER(t, 3, 0) && DIFFER(t, 3, 1) && DIFFER(t, 3, 2)) ->
		flush_entry(t, 3)
	}
#endif
	od
}
