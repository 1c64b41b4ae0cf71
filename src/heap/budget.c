#include "heap/budget.h"

#include <errno.h>

#include "heap/inside.h"
#include "heap/reclaim.h"
#include "heap/scavenger.h"
#include "platform/cgroup.h"
#include "platform/clock.h"
#include "platform/report.h"
#include "platform/usage.h"

/* An exact reading is not repeated before as many times what it took has passed. */
#define EXACT_REST_TIMES 20u

/* Lines on stderr, and callbacks that freed nothing, are this far apart. */
#define SAY_EVERY_NS UINT64_C(1000000000)
#define ASK_EVERY_NS UINT64_C(10000000)

/* A small request may need pages for more than itself: slots are claimed by the dozen. */
#define ROOM_LEAST 10u

/* Without waiting for whoever measures or gives back; with that; and with a look at each page of large blocks. */
enum how { HOW_AT_HAND, HOW_WAITING, HOW_EXACTLY };

static struct {
	size_t line_pages;     /* relaxed; 0: no budget */
	struct ebbi_lock lock; /* one measures at a time: guards what follows, which is read relaxed */
	size_t room_then;      /* as it was set last */
	size_t step_pages;     /* of growth until the next measuring */
	uint64_t measured_ns;
	uint64_t exact_ns;      /* end of the last exact reading */
	uint64_t exact_took_ns; /* of CPU time */
	size_t other_pages;     /* resident, and not the heap's */
	size_t file_pages;
	size_t used_pages;
	size_t most_pages;
	unsigned pressure;
	uint32_t reserve_open; /* relaxed: 1 since a refusal: see policy/budget.h */
	size_t live_then;      /* relaxed: live pages when it was opened */
	uint64_t over_line;    /* relaxed */
	uint64_t refusals;     /* relaxed */
	uint64_t said_ns;      /* relaxed: when a line went to stderr last */
	uint64_t asked_ns;     /* relaxed: when the program was last asked in vain */
} budget = {.lock = EBBI_LOCK_INIT(EBBI_RANK_BUDGET)};

/* Pages of the heap that are resident or may become so without asking. */
static size_t own_pages(void)
{
	struct ebbi_store *store = &ebbi_heap.store;
	const struct ebbi_large *large = &ebbi_heap.large;

	return ebbi_store_resident_pages(store) + ebbi_pages_dirty(&store->pages) +
	       ebbi_load_relaxed(&large->run_pages) + ebbi_load_relaxed(&large->mapping_pages) +
	       ebbi_load_relaxed(&large->retained_pages);
}

/* Without what is on its way back to the kernel, and may be there already. */
static size_t own_least_pages(void)
{
	return ebbi_excess(own_pages(), ebbi_load_relaxed(&ebbi_heap.large.going_pages));
}

/*
 * What is not the heap's. Without an exact reading it can only be found to be more than before. With one, blocks that went
 * while it was taken must not make it less: the room that they leave would be given twice.
 */
static void measure_others_locked(bool exactly)
{
	size_t unit = ebbi_heap.store.pages.unit_pages;
	size_t own = exactly ? own_least_pages() : own_pages();
	size_t untouched = exactly ? ebbi_large_untouched(&ebbi_heap.large) : 0;
	struct ebbi_usage usage;
	size_t others;

	if (!ebbi_usage_read(&usage))
		return;
	if (exactly)
		own = ebbi_min_size(own, own_least_pages());
	others = ebbi_excess(usage.resident_pages * unit, ebbi_excess(own, untouched));
	if (exactly || others > budget.other_pages)
		ebbi_store_relaxed(&budget.other_pages, others);
	ebbi_store_relaxed(&budget.file_pages, usage.file_pages * unit);
}

/*
 * While memory goes back it is the kernel's no more and not counted as ours any more, or the other way round: not then. Who
 * does not need it exactly does without.
 */
static void measure_others(enum how how)
{
	struct ebbi_lock *lock = &ebbi_heap.store.pages.purge_lock;
	uint64_t start_ns = ebbi_clock_thread_ns();

	if (how != HOW_AT_HAND)
		ebbi_lock_acquire(lock);
	else if (!ebbi_lock_acquire_try(lock))
		return;
	measure_others_locked(how == HOW_EXACTLY);
	ebbi_lock_release(lock);
	if (how != HOW_EXACTLY)
		return;
	budget.exact_ns = ebbi_clock_now_ns();
	budget.exact_took_ns = ebbi_clock_thread_ns() - start_ns;
}

/*
 * `room` was measured when it was still `before`. What others took meanwhile, they may have touched by now: it must
 * not be given twice, even where it was measured already.
 */
static void set_room(size_t room, size_t before)
{
	size_t *at = &ebbi_heap.store.pages.room_pages;
	size_t now = ebbi_load_relaxed(at);

	while (!ebbi_cas_relaxed(at, &now, ebbi_excess(room, ebbi_excess(before, now))))
		;
}

static void hand_down(size_t line, size_t used, size_t room_before)
{
	struct ebbi_pages *pages = &ebbi_heap.store.pages;
	unsigned before = ebbi_load_relaxed(&budget.pressure);
	unsigned pressure = ebbi_policy_pressure(used, line);
	size_t reserve = ebbi_policy_budget_reserve(line);
	bool open = ebbi_load_relaxed(&budget.reserve_open) != 0 && ebbi_policy_budget_stays_open(used, line);
	size_t room = ebbi_excess(line, used);

	ebbi_store_relaxed(&budget.reserve_open, open);
	/* Whoever only wants to know goes on. */
	if (ebbi_heap.config.on_limit == EBB_ON_LIMIT_LOG)
		room = SIZE_MAX / 2;
	ebbi_store_relaxed(&budget.step_pages, ebbi_policy_budget_step(room));
	ebbi_store_relaxed(&budget.room_then, room);
	set_room(room, room_before);
	ebbi_store_relaxed(&pages->reserve_pages, reserve);
	ebbi_store_relaxed(&pages->reserve_now_pages, open ? 0 : reserve);
	ebbi_store_relaxed(&pages->pressure, pressure);
	ebbi_store_relaxed(&budget.used_pages, used);
	ebbi_store_relaxed(&budget.pressure, pressure);
	if (used > budget.most_pages)
		ebbi_store_relaxed(&budget.most_pages, used);
	if (used > line)
		ebbi_fetch_add_relaxed(&budget.over_line, 1u);
	if (pressure > EBBI_PRESSURE_CALM && pressure > before)
		ebbi_scavenger_hurry();
	ebbi_callbacks_note(before, pressure);
	if (pressure == EBBI_PRESSURE_FULL && ebbi_heap.config.on_limit == EBB_ON_LIMIT_LOG)
		ebbi_store_relaxed(&ebbi_callbacks_due, 1);
}

static bool exact_is_due(uint64_t now_ns)
{
	return now_ns - budget.exact_ns >= EXACT_REST_TIMES * budget.exact_took_ns;
}

/* `wanted` pages are about to be asked for: exactly, too, when they would come to the line by what is known. */
static void measure(enum how how, size_t wanted)
{
	size_t line = ebbi_load_relaxed(&budget.line_pages);
	size_t room_before;

	if (line == 0)
		return;
	if (how != HOW_AT_HAND)
		ebbi_lock_acquire(&budget.lock);
	else if (!ebbi_lock_acquire_try(&budget.lock))
		return;
	ebbi_store_relaxed(&budget.measured_ns, ebbi_clock_now_ns());
	measure_others(how);
	if (how != HOW_EXACTLY && own_pages() + budget.other_pages + wanted >= line && exact_is_due(budget.measured_ns))
		measure_others(HOW_EXACTLY);
	room_before = ebbi_load_relaxed(&ebbi_heap.store.pages.room_pages);
	hand_down(line, own_pages() + budget.other_pages, room_before);
	ebbi_lock_release(&budget.lock);
}

void ebbi_budget_measure(bool exactly)
{
	measure(exactly ? HOW_EXACTLY : HOW_AT_HAND, 0);
}

/* What was freed since is still resident, and serves without a look at the room: so the reserve closes here. */
static void close_reserve_sometimes(void)
{
	size_t freed;

	if (EBBI_LIKELY(ebbi_load_relaxed(&budget.reserve_open) == 0))
		return;
	freed = ebbi_excess(ebbi_load_relaxed(&budget.live_then), ebbi_heap_live_pages());
	if (freed < 2 * ebbi_load_relaxed(&ebbi_heap.store.pages.reserve_pages))
		return;
	ebbi_store_relaxed(&budget.reserve_open, 0);
	measure(HOW_AT_HAND, 0);
}

void ebbi_budget_note_slow(void)
{
	size_t room = ebbi_load_relaxed(&ebbi_heap.store.pages.room_pages);
	size_t grown = ebbi_excess(ebbi_load_relaxed(&budget.room_then), room);

	close_reserve_sometimes();
	if (grown == 0)
		return;
	if (grown >= ebbi_load_relaxed(&budget.step_pages) ||
	    ebbi_clock_now_ns() - ebbi_load_relaxed(&budget.measured_ns) >= EBBI_BUDGET_SAMPLE_NS)
		measure(HOW_AT_HAND, 0);
}

/* Room that there must be for a request, at least. */
static size_t wanted_pages(size_t bytes)
{
	const struct ebbi_pages *pages = &ebbi_heap.store.pages;

	size_t count = ebbi_divide_up(bytes, EBBI_PAGE_BYTES);

	if (bytes <= EBBI_SMALL_MOST)
		count = ROOM_LEAST * pages->unit_pages;
	return count + ebbi_room_rest(pages, bytes);
}

bool ebbi_budget_has_room(size_t bytes)
{
	return ebbi_load_relaxed(&ebbi_heap.store.pages.room_pages) >= wanted_pages(bytes);
}

bool ebbi_budget_is_above(size_t bytes)
{
	size_t line = ebbi_load_relaxed(&budget.line_pages);

	return line != 0 && ebbi_heap.config.on_limit != EBB_ON_LIMIT_LOG && bytes >> EBBI_PAGE_SHIFT > line;
}

void ebbi_budget_measure_for(size_t bytes)
{
	measure(HOW_WAITING, wanted_pages(bytes));
}

bool ebbi_budget_has_room_again(size_t bytes)
{
	if (ebbi_budget_has_room(bytes))
		return false;
	ebbi_budget_measure_for(bytes);
	return ebbi_budget_has_room(bytes);
}

static void say(size_t bytes)
{
	if (ebbi_heap.explain != NULL && ebbi_clock_turn_try(&budget.said_ns, SAY_EVERY_NS))
		ebbi_heap.explain(bytes, /* account= */ 0);
}

/* Call everybody. What they freed is found by the second try, which reclaims it. */
static bool ask_program(void)
{
	size_t live = ebbi_heap_live_pages();

	if (!ebbi_clock_turn_try(&budget.asked_ns, ASK_EVERY_NS) ||
	    !ebbi_callbacks_call(EBBI_PRESSURE_FULL, /* all= */ true))
		return false;
	if (ebbi_heap_live_pages() < live)
		ebbi_store_relaxed(&budget.asked_ns, 0);
	return true;
}

bool ebbi_budget_ask(size_t bytes)
{
	if (ebbi_budget_has_room(bytes))
		return false;
	if (!ebbi_thread_self.asked && ask_program())
		return true;
	ebbi_fetch_add_relaxed(&budget.refusals, 1u);
	ebbi_store_relaxed(&budget.live_then, ebbi_heap_live_pages());
	if (ebbi_exchange_relaxed(&budget.reserve_open, 1u) == 0)
		ebbi_budget_measure(/* exactly= */ false);
	if (ebbi_heap.config.on_limit == EBB_ON_LIMIT_ABORT) {
		ebbi_store_relaxed(&budget.said_ns, 0);
		say(bytes);
		ebbi_report_abort();
	}
	say(bytes);
	return false;
}

static bool reclaim_outside(size_t bytes)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	bool again;

	/* A handler that interrupted the allocator must not wait; it gets its mapping. */
	if (cache != NULL && ebbi_heap_enter(cache) == EBBI_NESTED)
		return true;
	again = ebbi_reclaim(cache, bytes);
	if (cache != NULL)
		ebbi_handshake_leave(&cache->handshake);
	return again;
}

bool ebbi_budget_admit(size_t bytes)
{
	struct ebbi_pages *pages = &ebbi_heap.store.pages;
	size_t count = ebbi_divide_up(bytes, EBBI_PAGE_BYTES);

	if (EBBI_LIKELY(ebbi_load_relaxed(&pages->room_pages) == EBBI_ROOM_WITHOUT_END) || ebbi_budget_is_above(bytes))
		return true;
	ebbi_budget_note_slow();
	/* What it does not touch soon is found to be room again by the next measuring. */
	if (ebbi_room_take_block(pages, count))
		return true;
	if (reclaim_outside(bytes) && ebbi_room_take_block(pages, count))
		return true;
	return ebbi_budget_ask(bytes) && reclaim_outside(bytes) && ebbi_room_take_block(pages, count);
}

void ebbi_budget_settle_slow(void)
{
	unsigned pressure = ebbi_budget_pressure();

	if (!ebbi_callbacks_call(pressure, /* all= */ false))
		ebbi_store_relaxed(&ebbi_callbacks_due, 0);
	if (pressure == EBBI_PRESSURE_FULL && ebbi_heap.config.on_limit == EBB_ON_LIMIT_LOG)
		say(0);
}

unsigned ebbi_budget_pressure(void)
{
	return ebbi_load_relaxed(&budget.pressure);
}

uint64_t ebbi_budget_get(void)
{
	return (uint64_t)ebbi_load_relaxed(&budget.line_pages) << EBBI_PAGE_SHIFT;
}

static int set_line(uint64_t line_bytes, bool exactly)
{
	size_t line_pages = line_bytes >> EBBI_PAGE_SHIFT;

	if (line_bytes != 0 && line_pages < ebbi_heap.store.pages.unit_pages)
		return -EINVAL;
	ebbi_store_relaxed(&budget.line_pages, line_pages);
	if (line_pages != 0) {
		ebbi_budget_measure(exactly);
		return 0;
	}
	ebbi_store_relaxed(&ebbi_heap.store.pages.room_pages, EBBI_ROOM_WITHOUT_END);
	ebbi_store_relaxed(&ebbi_heap.store.pages.pressure, 0);
	ebbi_store_relaxed(&budget.pressure, 0);
	return 0;
}

int ebbi_budget_set(uint64_t line_bytes)
{
	return set_line(line_bytes, /* exactly= */ true);
}

void ebbi_budget_boot(uint64_t value)
{
	uint64_t ram = ebbi_usage_machine_bytes();

	if (value == EBB_BUDGET_AUTO)
		value = ebbi_policy_budget_auto(ebbi_cgroup_limit_bytes(""), ram);
	else if (value >= EBB_BUDGET_SHARE)
		value = ram / 100 * (value - EBB_BUDGET_SHARE);
	/* There are no blocks yet that could be untouched: the walk would only fault the page map in. */
	(void)set_line(value, /* exactly= */ false);
}

void ebbi_budget_figures(struct ebbi_budget_figures *ret_figures)
{
	*ret_figures = (struct ebbi_budget_figures){
		.line_bytes = ebbi_budget_get(),
		.process_bytes = (uint64_t)ebbi_load_relaxed(&budget.used_pages) << EBBI_PAGE_SHIFT,
		.most_bytes = (uint64_t)ebbi_load_relaxed(&budget.most_pages) << EBBI_PAGE_SHIFT,
		.other_bytes = (uint64_t)ebbi_load_relaxed(&budget.other_pages) << EBBI_PAGE_SHIFT,
		.file_bytes = (uint64_t)ebbi_load_relaxed(&budget.file_pages) << EBBI_PAGE_SHIFT,
		.refusals = ebbi_load_relaxed(&budget.refusals),
		.over_line = ebbi_load_relaxed(&budget.over_line),
		.pressure = ebbi_budget_pressure(),
	};
}

void ebbi_budget_forget(void)
{
	ebbi_lock_init(&budget.lock, EBBI_RANK_BUDGET);
	ebbi_callbacks_forget();
	ebbi_budget_measure(/* exactly= */ false);
}
