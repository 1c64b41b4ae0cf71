#include "heap/scavenger.h"

#include <ebb/ebb.h>

#include "platform/clock.h"
#include "platform/membarrier.h"
#include "platform/thread.h"
#include "policy/decay.h"

/* Freed bytes that start the thread: below that a process has little to give back. */
#define START_BYTES ((size_t)1 << 20)

/* Freed bytes that wake it: what a process that does next to nothing may keep, so that it is left alone. */
#define HOT_BYTES ((size_t)64 << 10)

/* Slow paths between two glances at the clock where there is no thread. */
#define GLANCE_EVERY 64u

enum { ASLEEP, AWAKE };

static struct {
	uint32_t word;      /* futex: ASLEEP or AWAKE; relaxed, see note() */
	uint32_t tid;       /* cleared by the kernel when the thread is gone */
	uint32_t process;   /* that started the thread; relaxed */
	size_t owed_bytes;  /* relaxed: became free since the thread went to sleep */
	uint32_t starting;  /* relaxed: 1 while somebody starts the thread */
	uint32_t refused;   /* relaxed: 1 when it cannot be started */
	uint32_t glances;   /* relaxed */
	uint64_t last_look_ns; /* relaxed; looks from slow paths only */
	uint64_t looks;     /* relaxed */
	struct ebbi_decay decay; /* the one who looks; races between two make a wrong guess, no more */
} scavenger;

size_t ebbi_scavenger_look(struct ebbi_cache *own, bool everything, size_t *ret_left)
{
	struct ebbi_store *store = &ebbi_heap.store;
	size_t purged = 0;
	size_t left = 0;

	*ret_left = ebbi_registry_sweep(&ebbi_heap.registry, everything ? EBBI_SWEEP_ALL : EBBI_SWEEP_IDLE, own);
	if (ebbi_heap.config.purge) {
		size_t runs_left;

		for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
			purged += ebbi_bin_purge(store, size_class, everything, &left);
		purged += ebbi_large_purge(&ebbi_heap.large, everything, &left);
		purged += ebbi_pages_purge(&store->pages, everything, &runs_left);
		left += runs_left;
		if (ebbi_load_relaxed(&store->pages.purge_refused) != 0) {
			(void)ebbi_fetch_or_relaxed(&ebbi_heap.features_off, EBB_OFF_PURGE);
			left = 0; /* looking again would not help */
		}
	}
	*ret_left += left;
	ebbi_fetch_add_relaxed(&scavenger.looks, 1);
	if (ebbi_heap.publish != NULL)
		ebbi_heap.publish();
	return purged << EBBI_PAGE_SHIFT;
}

static uint64_t refaults_so_far(void)
{
	uint64_t sum = ebbi_load_relaxed(&ebbi_heap.large.refault_pages);

	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++)
		sum += ebbi_load_relaxed(&ebbi_heap.store.bins[size_class].refault_pages);
	return sum;
}

/* A look and how long to wait for the next one. */
static uint64_t look_in_turn(struct ebbi_cache *own, size_t *ret_left)
{
	uint64_t delay_ns = ebbi_heap.config.delay;

	(void)ebbi_scavenger_look(own, /* everything= */ delay_ns == 0, ret_left);
	return ebbi_decay_next(&scavenger.decay, delay_ns, refaults_so_far(),
			       ebbi_load_relaxed(&ebbi_heap.store.pages.purged_pages));
}

/* The thread. */
static void run(void *argument)
{
	size_t left;

	(void)argument;
	for (;;) {
		uint64_t wait_ns = look_in_turn(NULL, &left);

		if (left == 0) {
			ebbi_store_relaxed(&scavenger.owed_bytes, 0);
			(void)ebbi_exchange_seqcst(&scavenger.word, (uint32_t)ASLEEP);
			/* What became free before that store was noted by nobody: look once more. */
			(void)ebbi_scavenger_look(NULL, /* everything= */ false, &left);
			if (left == 0) {
				while (ebbi_load_acquire(&scavenger.word) == ASLEEP)
					(void)ebbi_futex_wait(&scavenger.word, ASLEEP, -1);
			}
			ebbi_store_relaxed(&scavenger.word, (uint32_t)AWAKE);
		}
		/* A timed sleep on a word nobody wakes: the futex keeps even a signal from cutting it short. */
		(void)ebbi_futex_wait(&scavenger.word, AWAKE, (int64_t)wait_ns);
	}
}

void ebbi_scavenger_give_up(void)
{
	ebbi_store_relaxed(&scavenger.refused, 1);
	(void)ebbi_fetch_or_relaxed(&ebbi_heap.features_off, EBB_OFF_SCAVENGER);
}

/* The thread is not there: start it, unless somebody does. */
static void start(void)
{
	uint32_t expected = 0;

	if (!ebbi_cas_acquire(&scavenger.starting, &expected, 1))
		return;
	if (ebbi_load_relaxed(&scavenger.tid) == 0) {
		ebbi_store_relaxed(&scavenger.word, (uint32_t)AWAKE);
		ebbi_store_relaxed(&scavenger.process, ebbi_thread_process_id());
		if (ebbi_thread_start(ebbi_heap.store.pages.vm, run, NULL, &scavenger.tid) != 0)
			ebbi_scavenger_give_up();
	}
	ebbi_store_release(&scavenger.starting, 0);
}

/* In the thread's place; the caller is inside `cache`. */
static void look_from_slow_path(struct ebbi_cache *cache)
{
	uint64_t now_ns;
	uint64_t last_ns;
	size_t left;

	if (ebbi_fetch_add_relaxed(&scavenger.glances, 1) % GLANCE_EVERY != 0)
		return;
	now_ns = ebbi_clock_now_ns();
	last_ns = ebbi_load_relaxed(&scavenger.last_look_ns);
	if (now_ns - last_ns < ebbi_decay_wait_ns(&scavenger.decay, ebbi_heap.config.delay) ||
	    !ebbi_cas_relaxed(&scavenger.last_look_ns, &last_ns, now_ns))
		return;
	(void)look_in_turn(cache, &left);
}

void ebbi_scavenger_note(struct ebbi_cache *cache, size_t bytes)
{
	size_t owed;
	uint32_t expected = ASLEEP;

	if (ebbi_load_relaxed(&scavenger.refused)) {
		look_from_slow_path(cache);
		return;
	}
	/*
	 * Awake: it will see what became free. If it goes to sleep at this very moment, it looks once more
	 * after it said so; in the worst case (a weakly ordered CPU) one flush waits for the next note.
	 */
	if (EBBI_LIKELY(ebbi_load_relaxed(&scavenger.word) == AWAKE && ebbi_load_relaxed(&scavenger.tid) != 0))
		return;
	owed = ebbi_fetch_add_relaxed(&scavenger.owed_bytes, bytes) + bytes;
	if (ebbi_load_relaxed(&scavenger.tid) == 0) {
		if (owed >= START_BYTES)
			start();
		return;
	}
	if (owed < HOT_BYTES || !ebbi_cas_release(&scavenger.word, &expected, (uint32_t)AWAKE))
		return;
	if (ebbi_load_relaxed(&scavenger.process) == ebbi_thread_process_id())
		ebbi_futex_wake(&scavenger.word, 1);
	else
		ebbi_scavenger_forget(); /* a fork that ran no handlers */
}

void ebbi_scavenger_note_cached(struct ebbi_cache *cache, size_t bytes)
{
	if (ebbi_load_relaxed(&scavenger.tid) != 0 || ebbi_load_relaxed(&scavenger.refused) ||
	    ebbi_load_relaxed(&ebbi_heap.registry.owned) > 1)
		ebbi_scavenger_note(cache, bytes);
}

void ebbi_scavenger_forget(void)
{
	ebbi_store_relaxed(&scavenger.tid, 0);
	ebbi_store_relaxed(&scavenger.starting, 0);
	ebbi_store_relaxed(&scavenger.word, (uint32_t)ASLEEP);
	ebbi_store_relaxed(&scavenger.owed_bytes, 0);
	if (ebbi_heap.config.scavenger)
		ebbi_store_relaxed(&scavenger.refused, 0);
}

uint64_t ebbi_scavenger_looks(void)
{
	return ebbi_load_relaxed(&scavenger.looks);
}
