/*
 * pages.h: address space cut into runs of pages.
 *
 * Owns: regions of reserved address space, the free runs in them and which pages of these are
 * resident. A run is found best fit, runs with resident pages first, so that memory that was
 * freed and not yet given back is used before fresh memory; free neighbours merge at once.
 *
 * Never: holds its lock across a kernel call, reads an option, knows what a run is used for. Address space
 * goes back to the kernel only when somebody would get no memory otherwise: pages/release.h.
 *
 * Threading: every function may be called from any thread; `lock` guards the bins, the wilderness
 * and the counters, `grow_lock` serialises those who ask the kernel for more. Freeing needs `lock`
 * alone. Lock order: purge_lock, grow_lock, lock.
 *
 * Errors: -ENOMEM when the kernel has no more address space or will not commit it.
 *
 * Invariants (ebbi_pages_check): a free run's first and last page carry the same FREE entry; two
 * free runs never touch, unless one of them is being purged or they meet at a leaf's end (EBBI_LEAF_PAGES, so
 * that nothing that looks through the pages of a run takes longer in a larger heap); a run is in the dirty
 * bins, or in those a look works on, when one of its pages is resident, in the clean bins otherwise; dirty_pages is the number of resident
 * pages in free runs.
 *
 * Growth. Address space is reserved in regions (64 MiB first, doubling to 1 GiB; a sixteenth of
 * RLIMIT_AS where there is one) and committed in steps (1 MiB first, doubling to 32 MiB), so that a
 * kernel that counts commitments counts what is used, and few calls are made.
 */
#ifndef EBBI_PAGES_PAGES_H
#define EBBI_PAGES_PAGES_H

#include "pages/pagemap.h"
#include "platform/futex.h"

#define EBBI_RUN_BINS_EXACT 64u
#define EBBI_RUN_BINS (EBBI_RUN_BINS_EXACT + 8u * 13u)
#define EBBI_RUN_BIN_WORDS ((EBBI_RUN_BINS + 63u) / 64u)
#define EBBI_PURGE_BATCH 32u
#define EBBI_LEFTOVERS_MOST 32u

enum ebbi_huge_advice {
	EBBI_HUGE_ADVICE_NONE,   /* nothing is said to the kernel, ever */
	EBBI_HUGE_ADVICE_OFF,    /* small pages everywhere */
	EBBI_HUGE_ADVICE_ON,     /* huge pages wanted; small ones where memory goes back (pages/huge.h) */
	EBBI_HUGE_ADVICE_SYSTEM, /* huge pages where the system gives them; small ones where memory goes back */
};

/* Without a budget any number of pages may become resident. */
#define EBBI_ROOM_WITHOUT_END SIZE_MAX

/* Small requests may always use the reserve, large ones never. (Interpreters take their heaps in 64 KiB to 1 MiB.) */
#define EBBI_REQUEST_SMALL ((size_t)4096)
#define EBBI_REQUEST_LARGE ((size_t)1 << 20)

enum { EBBI_HUGE_UNKNOWN, EBBI_HUGE_NO, EBBI_HUGE_YES };

struct ebbi_run_bins {
	uintptr_t first[EBBI_RUN_BINS];
	uint64_t nonempty[EBBI_RUN_BIN_WORDS];
};

/* Address space without a use that the kernel did not take back yet. */
struct ebbi_leftover {
	uintptr_t base;
	size_t bytes;
};

struct ebbi_pages {
	const struct ebbi_vm *vm;     /* set at boot */
	size_t unit_pages;            /* 4 KiB pages in a page of the kernel; set at boot */
	enum ebbi_huge_advice advice; /* set at boot */
	bool purge_off;               /* set at boot: never call vm->purge (option purge:0) */
	uint8_t huge_known;           /* relaxed: does the system give huge pages? See pages/huge.c */
	size_t huge_blocks;           /* relaxed: blocks taken out of huge pages; counter */

	/*
	 * How many pages more may become resident: relaxed, taken from by whoever uses pages that are not, set anew
	 * from above (heap/budget.h). Resident pages that were freed serve whatever it says.
	 */
	size_t room_pages;
	size_t reserve_pages;     /* relaxed: the last of the room, never for large requests; set from above */
	size_t reserve_now_pages; /* relaxed: the same for other requests that are not small, 0 when it is open to them */
	unsigned pressure;        /* relaxed: of the process on its budget, 0 to 1000; set from above */

	/*
	 * Held from the moment memory is taken out of lists to be given back until it is in them again, a batch at
	 * a time: fork takes it, so that the child finds nothing half way. Ordinary malloc and free never do,
	 * so the kernel may be called under it.
	 */
	struct ebbi_lock purge_lock;
	struct ebbi_lock grow_lock; /* guards the next two, and who may move the wilderness's end */
	size_t next_region_bytes;
	size_t next_commit_bytes;

	struct ebbi_lock lock; /* guards all that follows */
	struct ebbi_run_bins dirty;
	struct ebbi_run_bins clean;
	struct ebbi_run_bins looking; /* dirty ones that the look under way has not come to; empty between looks */
	uintptr_t wild_start;         /* the wilderness: committed, never used */
	uintptr_t wild_end;
	uintptr_t region_end;  /* reserved behind the wilderness, up to here */
	size_t dirty_pages;    /* resident pages in free runs */
	size_t live_pages;     /* pages in runs that were handed out; counter */
	size_t mapped_bytes;   /* reserved regions */
	uint64_t purged_pages; /* given back since the start; counter */
	uint64_t purge_calls;  /* purges that gave pages back; counter */
	uint64_t unmap_calls;  /* unmaps that did; counter */
	uint64_t map_calls;
	unsigned takes;         /* relaxed, without the lock; counted in paranoid builds alone */
	uint64_t purge_refused; /* purges the kernel refused; counter */
	uint64_t refused_pages; /* pages of these; counter */
	uint64_t unmap_refused; /* unmaps the kernel refused; counter: all these are read without the lock */
	struct ebbi_leftover leftovers[EBBI_LEFTOVERS_MOST]; /* pages/release.h */
	unsigned leftover_count;
	size_t lost_bytes; /* address space that could neither be unmapped nor remembered */
};

/* Called once, before any other thread may use `pages`. Makes no kernel call. */
void ebbi_pages_init(struct ebbi_pages *pages, const struct ebbi_vm *vm, size_t page_bytes,
		     enum ebbi_huge_advice advice);

/* `count` pages that are not resident are about to be used. False, and nothing taken: there is no room for them. */
static inline bool ebbi_room_take(struct ebbi_pages *pages, size_t count)
{
	size_t room = ebbi_load_relaxed(&pages->room_pages);

	do {
		if (EBBI_LIKELY(room == EBBI_ROOM_WITHOUT_END))
			return true;
		if (room < count)
			return false;
	} while (!ebbi_cas_relaxed(&pages->room_pages, &room, room - count));
	return true;
}

/* What a request must leave of the room. */
static inline size_t ebbi_room_rest(const struct ebbi_pages *pages, size_t bytes)
{
	if (bytes <= EBBI_REQUEST_SMALL)
		return 0;
	return ebbi_load_relaxed(bytes > EBBI_REQUEST_LARGE ? &pages->reserve_pages : &pages->reserve_now_pages);
}

/* As ebbi_room_take, for a block of its own. */
static inline bool ebbi_room_take_block(struct ebbi_pages *pages, size_t count)
{
	size_t rest = ebbi_room_rest(pages, count << EBBI_PAGE_SHIFT);

	return ebbi_load_relaxed(&pages->room_pages) >= count + rest && ebbi_room_take(pages, count);
}

/* `count` pages are used whatever the room: for few pages, by those who looked before. */
static inline void ebbi_room_use(struct ebbi_pages *pages, size_t count)
{
	if (!ebbi_room_take(pages, count))
		ebbi_store_relaxed(&pages->room_pages, 0);
}

/* They were not used after all. */
static inline void ebbi_room_give(struct ebbi_pages *pages, size_t count)
{
	size_t room = ebbi_load_relaxed(&pages->room_pages);

	do {
		if (room == EBBI_ROOM_WITHOUT_END)
			return;
	} while (!ebbi_cas_relaxed(&pages->room_pages, &room, room + count));
}

/* `count` rounded up to whole pages of the kernel. */
size_t ebbi_pages_round(const struct ebbi_pages *pages, size_t count);

/*
 * A run of `count` pages (rounded), its start a multiple of `align_pages` (a power of two). The
 * run's entries are the caller's to set; its page bits are left as they are, so that the caller
 * can read which pages are resident. Pages that are not resident read as zeros.
 */
int ebbi_pages_alloc(struct ebbi_pages *pages, size_t count, size_t align_pages, uintptr_t *ret_base);

/* The run's entries are cleared. Every page counts as resident afterwards. */
void ebbi_pages_free(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* A run that was not used: its pages are as they were when ebbi_pages_alloc gave it. */
void ebbi_pages_put_back(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* As ebbi_pages_free, for at most 64 pages whose state the caller knows. */
void ebbi_pages_free_known(struct ebbi_pages *pages, uintptr_t base, unsigned count, uint64_t resident, uint64_t aged,
			   uint64_t purged);

/* Append `more` pages to the run of `count` pages at `base` if they are free. False when not. */
bool ebbi_pages_extend_try(struct ebbi_pages *pages, uintptr_t base, size_t count, size_t more);

/*
 * One look at the free runs: resident pages that were already free at the last look (all of them
 * when `everything`) are given back, the others are marked. Returns the pages given back; in
 * *ret_left those that stay resident until a later look.
 */
size_t ebbi_pages_purge(struct ebbi_pages *pages, bool everything, size_t *ret_left);

/* Resident pages in free runs. */
size_t ebbi_pages_dirty(struct ebbi_pages *pages);

/* Purge one stretch and count it; false when the kernel refused. No lock may be held. */
bool ebbi_pages_purge_stretch(struct ebbi_pages *pages, uintptr_t base, size_t count);

/* Count a call that gave `count` pages back, or (done = false) was refused and left them where they are. */
void ebbi_pages_count_purge(struct ebbi_pages *pages, size_t count, bool done);

/* Walks every bin; ends the process when an invariant does not hold. For tests and paranoid builds. */
void ebbi_pages_check(struct ebbi_pages *pages);

#endif
