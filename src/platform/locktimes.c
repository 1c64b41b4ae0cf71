#include "platform/locktimes.h"

#if EBBI_LOCK_TIMES

#include <time.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "platform/clock.h"
#include "platform/futex.h"
#include "platform/report.h"
#include "platform/syscall.h"

#define BUCKETS 40u

/* How many took from 2^(i-1) to 2^i - 1 ns. */
struct histogram {
	uint64_t count[BUCKETS]; /* relaxed */
	uint64_t most;           /* relaxed */
};

static struct {
	uint64_t taken;     /* relaxed */
	uint64_t contended; /* relaxed */
	struct histogram waits;
	struct histogram holds;
	void *most_at; /* relaxed: where the longest hold ended */
} ranks[EBBI_RANK_COUNT];

static uint64_t now_ns(void)
{
	struct timespec now = {0, 0};

	if (EBBI_LOCK_TIMES == 1)
		return ebbi_clock_now_ns();
	(void)ebbi_syscall2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add(struct histogram *histogram, uint64_t ns, void **most_at, void *at)
{
	unsigned bucket = ns == 0 ? 0 : ebbi_bit_highest(ns) + 1;
	uint64_t most = ebbi_load_relaxed(&histogram->most);

	ebbi_fetch_add_relaxed(&histogram->count[bucket < BUCKETS ? bucket : BUCKETS - 1], 1u);
	while (ns > most) {
		if (!ebbi_cas_relaxed(&histogram->most, &most, ns))
			continue;
		if (most_at != NULL)
			ebbi_store_relaxed(most_at, at);
		break;
	}
}

void ebbi_lock_times_taken(struct ebbi_lock *lock)
{
	ebbi_fetch_add_relaxed(&ranks[lock->rank].taken, 1u);
	lock->taken_at = now_ns();
}

void ebbi_lock_times_acquire(struct ebbi_lock *lock)
{
	if (!ebbi_lock_acquire_fast(lock)) {
		uint64_t start = ebbi_clock_now_ns();

		ebbi_lock_acquire_slow(lock);
		ebbi_fetch_add_relaxed(&ranks[lock->rank].contended, 1u);
		add(&ranks[lock->rank].waits, ebbi_clock_now_ns() - start, NULL, NULL);
	}
	ebbi_lock_times_taken(lock);
}

void ebbi_lock_times_released(struct ebbi_lock *lock)
{
	add(&ranks[lock->rank].holds, now_ns() - lock->taken_at, &ranks[lock->rank].most_at,
	    __builtin_return_address(0));
}

/* The bucket's end above which at most one in `part` lies. */
static uint64_t exceeded_by(const struct histogram *histogram, uint64_t part)
{
	uint64_t all = 0;
	uint64_t above = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		all += ebbi_load_relaxed(&histogram->count[i]);
	for (unsigned i = BUCKETS; i-- > 0;) {
		above += ebbi_load_relaxed(&histogram->count[i]);
		if (above * part > all)
			return (uint64_t)1 << i;
	}
	return 0;
}

static void print_histogram(struct ebbi_fmt *line, const struct histogram *histogram)
{
	ebbi_fmt_decimal_wide(line, exceeded_by(histogram, 2), 9);
	ebbi_fmt_decimal_wide(line, exceeded_by(histogram, 1000), 9);
	ebbi_fmt_decimal_wide(line, exceeded_by(histogram, 100000), 9);
	ebbi_fmt_decimal_wide(line, ebbi_load_relaxed(&histogram->most), 10);
}

static void print_rank(unsigned rank)
{
	static const char *const names[EBBI_RANK_COUNT] = {"none", "registry", "cache", "purge",
							   "bin",  "grow",     "pages", "meta"};
	char text[240];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));
	uintptr_t at = (uintptr_t)ebbi_load_relaxed(&ranks[rank].most_at);

	ebbi_fmt_text(&line, names[rank]);
	ebbi_fmt_pad(&line, 0, 9);
	ebbi_fmt_decimal_wide(&line, ebbi_load_relaxed(&ranks[rank].taken), 10);
	ebbi_fmt_decimal_wide(&line, ebbi_load_relaxed(&ranks[rank].contended), 11);
	print_histogram(&line, &ranks[rank].waits);
	print_histogram(&line, &ranks[rank].holds);
	ebbi_fmt_text(&line, "  ranks");
	ebbi_fmt_char(&line, at > (uintptr_t)ranks ? '+' : '-');
	ebbi_fmt_hex(&line, at > (uintptr_t)ranks ? at - (uintptr_t)ranks : (uintptr_t)ranks - at);
	ebbi_fmt_char(&line, '\n');
	ebbi_report_write(text, line.length);
}

static __attribute__((destructor)) void print(void)
{
	static const char head[] = "rank          taken  contended   wait50  wait.1% wait.001%  longest   "
				   "hold50  hold.1% hold.001%  longest (ns; ended at)\n";

	ebbi_report_write(head, sizeof(head) - 1);
	for (unsigned rank = 1; rank < EBBI_RANK_COUNT; rank++)
		if (ebbi_load_relaxed(&ranks[rank].taken) != 0)
			print_rank(rank);
}

#else
typedef int ebbi_lock_times_are_off; /* a file must declare something */
#endif
