#include "heap/scavenger.h"

#include <ebb/ebb.h>

#include "heap/budget.h"
#include "heap/guarded.h"
#include "heap/hardened.h"
#include "platform/clock.h"
#include "platform/membarrier.h"
#include "platform/rights.h"
#include "platform/thread.h"
#include "policy/budget.h"
#include "policy/decay.h"

/* Freed bytes that start the thread: below that a process has little to give back. */
#define START_BYTES ((size_t)1 << 20)

/* Freed bytes that wake it: what a process that does next to nothing may keep, so that it is left alone. */
#define HOT_BYTES ((size_t)64 << 10)

/* After the kernel refused the thread, as it does at a limit of processes: when to ask again. */
#define RETRY_NS UINT64_C(10000000000)

/* Slow paths between two glances at the clock where there is no thread. */
#define GLANCE_EVERY 64u

/* Where looks are rare, the shared figures are refreshed so often all the same (20 us): somebody may be watching. */
#define FRESH_NS UINT64_C(1000000000)

enum { ASLEEP, AWAKE };

static struct {
	uint32_t word;           /* futex: ASLEEP or AWAKE; relaxed, see note() */
	uint32_t tid;            /* cleared by the kernel when the thread is gone */
	uint32_t process;        /* that started the thread; relaxed */
	size_t owed_bytes;       /* relaxed: became free since the thread went to sleep */
	uint32_t starting;       /* relaxed: 1 while somebody starts the thread */
	uint32_t refused;        /* relaxed: 1 when it cannot be started */
	uint64_t retry_at_ns;    /* relaxed: when the kernel may be asked again; 0: never refused by it */
	uint32_t glances;        /* relaxed */
	uint32_t notes;          /* relaxed: while there is no thread */
	uint64_t last_look_ns;   /* relaxed; looks from slow paths only */
	uint64_t looks;          /* relaxed */
	uint64_t fresh_ns;       /* relaxed: when the shared figures were refreshed between looks */
	uint32_t ticking;        /* acquire/release: 1 while a slow path is in tick() */
	uint64_t touched;        /* caches found used, in operations; whoever is in tick() */
	struct ebbi_decay decay; /* whoever is in tick(): the thread, or the holder of `ticking` in its place */
} scavenger;

/* The kernel's answers so far. */
struct answers {
	uint64_t done;
	uint64_t refused_pages;
};

static struct answers answers_now(void)
{
	const struct ebbi_pages *pages = &ebbi_heap.store.pages;

	return (struct answers){ebbi_load_relaxed(&pages->purge_calls), ebbi_load_relaxed(&pages->refused_pages)};
}

/*
 * Of what was refused in this look nothing is owed before somebody frees again: the kernel refuses locked pages for
 * as long as they are locked, and a filter for ever. Purging counts as off while it refuses everything.
 */
static void judge_refusals(const struct answers *before, size_t *left)
{
	struct answers now = answers_now();
	uint64_t refused_pages = now.refused_pages - before->refused_pages;

	*left -= ebbi_min_size(*left, refused_pages);
	if (now.done != before->done)
		(void)ebbi_fetch_and_relaxed(&ebbi_heap.features_off, ~EBB_OFF_PURGE);
	else if (refused_pages != 0)
		(void)ebbi_fetch_or_relaxed(&ebbi_heap.features_off, EBB_OFF_PURGE);
}

/* `everything` is about pages, `which` about caches. */
static size_t look(struct ebbi_cache *own, enum ebbi_sweep which, bool everything, size_t *ret_left)
{
	struct ebbi_store *store = &ebbi_heap.store;
	size_t purged = 0;
	size_t left = 0;

	*ret_left = ebbi_registry_sweep(&ebbi_heap.registry, which, own);
	if (ebbi_is_hardened())
		ebbi_guarded_look(everything, &left);
	if (ebbi_heap.config.purge) {
		struct answers before = answers_now();
		size_t runs_left;

		for (struct ebbi_bin *bin = NULL; (bin = ebbi_store_next_bin(store, bin)) != NULL;)
			purged += ebbi_bin_purge(store, bin, everything, &left);
		purged += ebbi_large_purge(&ebbi_heap.large, everything, &left);
		purged += ebbi_pages_purge(&store->pages, everything, &runs_left);
		left += runs_left;
		/* Last, since all of the above frees descriptors, and at once: a page of them costs a hundredth of
		 * what they describe. */
		if (everything || *ret_left + left == 0)
			ebbi_store_gather_metadata(store);
		purged += ebbi_store_purge_metadata(store);
		judge_refusals(&before, &left);
	}
	if (!ebbi_membarrier_available())
		(void)ebbi_fetch_or_relaxed(&ebbi_heap.features_off, EBB_OFF_MEMBARRIER);
	*ret_left += left;
	ebbi_fetch_add_relaxed(&scavenger.looks, 1);
	ebbi_budget_measure(ebbi_policy_budget_exact(ebbi_budget_pressure()));
	if (ebbi_heap.publish != NULL)
		ebbi_heap.publish();
	return purged << EBBI_PAGE_SHIFT;
}

size_t ebbi_scavenger_look(struct ebbi_cache *own, bool everything, size_t *ret_left)
{
	return look(own, everything ? EBBI_SWEEP_ALL : EBBI_SWEEP_IDLE, everything, ret_left);
}

/*
 * A cache of some hundred slots serves whole requests without an operation of the slow paths. So one that was used since the
 * last tick counts as some: else a server that is asked five times a second counts as resting and faults in at each
 * request what was given back after the last (bench/servers/steady.c: 7.6 faults a request in place of 3.5). A single
 * thread with a timer stays below what is work (policy/decay.c).
 */
#define TOUCHED_OPERATIONS 2u

static void count_touched(void)
{
	for (struct ebbi_cache *cache = ebbi_load_acquire(&ebbi_heap.registry.all); cache != NULL; cache = cache->next)
		if (!ebbi_handshake_looks_idle(&cache->handshake))
			scavenger.touched += TOUCHED_OPERATIONS;
}

static struct ebbi_decay_sample sample(void)
{
	const struct ebbi_large *large = &ebbi_heap.large;
	struct ebbi_decay_sample now = {
		.operations = ebbi_load_relaxed(&large->blocks_made),
		.refault_pages = ebbi_load_relaxed(&large->refault_pages),
		.purged_pages = ebbi_load_relaxed(&ebbi_heap.store.pages.purged_pages),
		.owed_pages = ebbi_load_relaxed(&large->retained_pages),
	};

	count_touched();
	now.operations += scavenger.touched;
	ebbi_lock_acquire(&ebbi_heap.store.pages.lock);
	now.owed_pages += ebbi_heap.store.pages.dirty_pages;
	ebbi_lock_release(&ebbi_heap.store.pages.lock);
	for (struct ebbi_bin *bin = NULL; (bin = ebbi_store_next_bin(&ebbi_heap.store, bin)) != NULL;) {
		now.operations += ebbi_load_relaxed(&bin->refills);
		now.refault_pages += ebbi_load_relaxed(&bin->refault_pages);
	}
	return now;
}

/* The delay; on the last fifth of the way to a budget's line it becomes shorter, and is nothing there. */
static uint64_t delay_ns(void)
{
	return ebbi_policy_under_pressure(ebbi_heap.config.delay, ebbi_budget_pressure());
}

/*
 * A tick has passed: look, if it is time to. Returns what is left for later, not 0 when it did not look.
 *
 * When nothing was taken from the bins and no large block made since the last tick, what is free now was not
 * wanted for that long, and neither was what the sweep gets out of idle caches: it goes at once, in place of
 * one look later. Ticks without a look still note which caches are idle, so that a process that was damped
 * until it came to rest is not a tick behind.
 */
static size_t tick(struct ebbi_cache *own)
{
	struct ebbi_decay_sample now = sample();
	bool at_once = delay_ns() == 0;
	size_t left = 1;

	/* Near a budget's line what is free is needed: nobody asks what a look costs. */
	if (ebbi_decay_is_due(&scavenger.decay, &now) || ebbi_budget_pressure() > EBBI_PRESSURE_CALM) {
		bool quiet = ebbi_decay_is_quiet(&scavenger.decay);

		(void)look(own, at_once ? EBBI_SWEEP_ALL : EBBI_SWEEP_IDLE, at_once || quiet, &left);
		return left;
	}
	(void)ebbi_registry_sweep(&ebbi_heap.registry, EBBI_SWEEP_NOTE, own);
	if (ebbi_heap.publish != NULL && ebbi_clock_turn_try(&scavenger.fresh_ns, FRESH_NS))
		ebbi_heap.publish();
	return left;
}

/* The thread. */
static void run(void *argument)
{
	struct ebbi_rights rights = ebbi_rights_own();
	size_t left;

	(void)argument;
	while (!ebbi_rights_differ(&rights)) {
		if (tick(NULL) == 0) {
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
		/* A timed sleep: only pressure ends it before its time. */
		(void)ebbi_futex_wait(&scavenger.word, AWAKE, (int64_t)ebbi_decay_tick_ns(delay_ns()));
	}
	/* The next one who owes something starts a thread with the rights of now. */
	ebbi_store_relaxed(&scavenger.owed_bytes, START_BYTES);
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
		if (ebbi_thread_start(ebbi_heap.store.pages.vm, run, NULL, &scavenger.tid) == 0) {
			(void)ebbi_fetch_and_relaxed(&ebbi_heap.features_off, ~EBB_OFF_SCAVENGER);
		} else {
			ebbi_store_relaxed(&scavenger.retry_at_ns, ebbi_clock_now_ns() + RETRY_NS);
			ebbi_scavenger_give_up();
		}
	}
	ebbi_store_release(&scavenger.starting, 0);
}

/* In the thread's place; the caller is inside `cache`. */
static void look_from_slow_path(struct ebbi_cache *cache)
{
	uint64_t now_ns;
	uint64_t last_ns;
	uint32_t expected = 0;

	if (ebbi_fetch_add_relaxed(&scavenger.glances, 1) % GLANCE_EVERY != 0)
		return;
	last_ns = ebbi_load_relaxed(&scavenger.last_look_ns);
	now_ns = ebbi_clock_now_ns();
	if (now_ns - last_ns < ebbi_decay_tick_ns(delay_ns()) || !ebbi_cas_acquire(&scavenger.ticking, &expected, 1))
		return;
	ebbi_store_relaxed(&scavenger.last_look_ns, now_ns);
	if (ebbi_heap.config.scavenger && now_ns >= ebbi_load_relaxed(&scavenger.retry_at_ns)) {
		/* The next one who owes something asks. */
		ebbi_store_relaxed(&scavenger.owed_bytes, START_BYTES);
		ebbi_store_relaxed(&scavenger.refused, 0);
	}
	(void)tick(cache);
	ebbi_store_release(&scavenger.ticking, 0);
}

/*
 * Without the thread nobody refreshes the shared figures: the slow paths do, at the 8th, the 16th, the
 * 32nd... and from the 256th on at every 256th.
 */
static void publish_sometimes(void)
{
	uint32_t count = ebbi_fetch_add_relaxed(&scavenger.notes, 1) + 1;

	if (ebbi_heap.publish != NULL && count >= 8 && ((count & (count - 1)) == 0 || count % 256 == 0))
		ebbi_heap.publish();
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
		publish_sometimes();
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
	else
		publish_sometimes();
}

void ebbi_scavenger_note_large(size_t bytes)
{
	bool asleep = ebbi_load_relaxed(&scavenger.tid) == 0 || ebbi_load_relaxed(&scavenger.word) == ASLEEP;

	if (bytes >= START_BYTES && asleep && ebbi_heap.publish != NULL &&
	    ebbi_clock_turn_try(&scavenger.fresh_ns, FRESH_NS))
		ebbi_heap.publish();
}

void ebbi_scavenger_hurry(void)
{
	if (ebbi_load_relaxed(&scavenger.tid) == 0 || ebbi_load_relaxed(&scavenger.process) != ebbi_thread_process_id())
		return;
	ebbi_store_relaxed(&scavenger.word, (uint32_t)AWAKE);
	ebbi_futex_wake(&scavenger.word, 1);
}

void ebbi_scavenger_forget(void)
{
	ebbi_store_relaxed(&scavenger.tid, 0);
	ebbi_store_relaxed(&scavenger.starting, 0);
	ebbi_store_relaxed(&scavenger.ticking, 0);
	ebbi_store_relaxed(&scavenger.word, (uint32_t)ASLEEP);
	ebbi_store_relaxed(&scavenger.owed_bytes, 0);
	if (ebbi_heap.config.scavenger)
		ebbi_store_relaxed(&scavenger.refused, 0);
}

uint64_t ebbi_scavenger_looks(void)
{
	return ebbi_load_relaxed(&scavenger.looks);
}
