/*
 * budget.h: the line that the whole process's resident memory stays under.
 *
 * Owns: where the line is, how much of the process is not the heap's, how many pages the heap may still make resident
 * (its room: pages/pages.h), and the pressure.
 *
 * Never: looks at a page that was used before; costs a process without a budget more than one load in the slow path.
 *
 * How. What the heap has is known exactly: resident pages of slabs, free runs, retained mappings, and large blocks as
 * long as they are, touched or not, since they may be touched at any time. What else is resident (binary, libraries, stacks,
 * other mappings, the heap's metadata) is what /proc/self/statm says less what the heap has in memory. It is
 * read anew when the heap has grown by 1 MiB, by an eighth of its room, or at all in 10 ms. Blocks that are not touched yet
 * hide an equal part of it, so it may only grow between exact readings, which ask the kernel for every page of every large
 * block; these come before something is refused, and at the scavenger's looks.
 *
 * Threading: any thread; one measures at a time, the others go on with the room there is. Callbacks run in the thread
 * that found the pressure, outside of the heap, one at a time; in a callback the thread's own requests are served or refused
 * without one. Errors: negative errno.
 */
#ifndef EBBI_HEAP_BUDGET_H
#define EBBI_HEAP_BUDGET_H

#include "heap/callbacks.h"
#include "heap/heap.h"
#include "policy/budget.h"

/* What is known of the process: bytes. */
struct ebbi_budget_figures {
	uint64_t line_bytes;    /* 0: no budget */
	uint64_t process_bytes; /* the heap's and what else is resident */
	uint64_t most_bytes;    /* the highest of these so far */
	uint64_t other_bytes;   /* the part that is not the heap's pages */
	uint64_t file_bytes;    /* of this, backed by files or shared */
	uint64_t refusals;      /* allocations refused for want of room */
	uint64_t over_line;     /* measured above the line, times */
	unsigned pressure;      /* 0 to 1000 */
};

/* At boot, with `value` as in options.def. A line under which the process is already is taken as it is. */
void ebbi_budget_boot(uint64_t value);

/* A new line; 0: none. -EINVAL below a page of the kernel. */
int ebbi_budget_set(uint64_t line_bytes);
uint64_t ebbi_budget_get(void);

/* The latest pressure, 0 to 1000. Async-signal-safe. */
unsigned ebbi_budget_pressure(void);

void ebbi_budget_figures(struct ebbi_budget_figures *ret_figures);

void ebbi_budget_note_slow(void);

/* The heap may have grown. */
static inline void ebbi_budget_note(void)
{
	if (EBBI_UNLIKELY(ebbi_load_relaxed(&ebbi_heap.store.pages.room_pages) != EBBI_ROOM_WITHOUT_END))
		ebbi_budget_note_slow();
}

/* Measure. Exactly: large blocks page by page, too. No lock is held. */
void ebbi_budget_measure(bool exactly);

/* Measure; exactly, too, when there is no room for `bytes` otherwise and the last exact reading is long enough ago. */
void ebbi_budget_measure_for(size_t bytes);

/* `bytes` could not be had. Was that for want of room, and is there room now that it was measured? */
bool ebbi_budget_has_room_again(size_t bytes);

/* More than the line leaves to the heap if all of it were given back. */
bool ebbi_budget_is_above(size_t bytes);

/* Is there room for as much without looking again? True without a budget. */
bool ebbi_budget_has_room(size_t bytes);

/*
 * The last thing before NULL, for a thread outside of its cache: ask the program to free something. True: try again.
 * False: the request is refused; if that was for want of room, it was counted and said on stderr (at most once a
 * second), or the process has ended (on_limit:abort).
 */
bool ebbi_budget_ask(size_t bytes);

/*
 * Somebody else in the process is about to map as much memory. False: no room for it, all that could be given back was, and the
 * program was asked. More than the whole line is no memory but a reservation, and is let pass.
 */
bool ebbi_budget_admit(size_t bytes);

/* What is due, for a thread outside of its cache: callbacks, and the line on stderr of on_limit:log. */
void ebbi_budget_settle_slow(void);
static inline void ebbi_budget_settle(void)
{
	if (EBBI_UNLIKELY(ebbi_load_relaxed(&ebbi_callbacks_due) != 0))
		ebbi_budget_settle_slow();
}

/* In the child of a fork. */
void ebbi_budget_forget(void);

#endif
