/*
 * budget.h: where the line is, how near the process is to it, and what follows from that.
 *
 * Owns: the figures. Never: keeps state. Pure. Threading: any. Errors: none.
 *
 * The line is drawn for the resident memory of the whole process. Up to EBBI_BUDGET_CALM of it nothing changes. From
 * there memory goes back sooner and caches hold less, in proportion to the way that is left, until at the line
 * nothing is kept.
 */
#ifndef EBBI_POLICY_BUDGET_H
#define EBBI_POLICY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

#define EBBI_PRESSURE_FULL 1000u /* at the line */
#define EBBI_PRESSURE_CALM 800u  /* below that a budget changes nothing */

#define EBBI_PRESSURE_EXACT \
	500u /* below that nothing follows from the figure, and a look does not walk the page map for it */

/* Left to the kernel's own memory for the process in a limit of a cgroup: a twentieth, at least 16 MiB. */
#define EBBI_BUDGET_MARGIN_PART 20u
#define EBBI_BUDGET_MARGIN_LEAST ((uint64_t)16 << 20)

/* How far the process may grow on an old sample of what is not the heap's: 1 MiB, 10 ms. */
#define EBBI_BUDGET_STEP_PAGES ((size_t)256)
#define EBBI_BUDGET_SAMPLE_NS UINT64_C(10000000)

/*
 * The last of the line, a 64th, but 2 to 16 MiB (and an eighth of a small line), is kept back: for small requests always, since an interpreter that is refused
 * a few bytes in the middle of collecting its garbage can only die; for those of up to 1 MiB from a refusal on until twice as much
 * is free, since a program that is refused must raise an exception, unwind and log.
 */
static inline size_t ebbi_policy_budget_reserve(size_t line_pages)
{
	return ebbi_min_size(ebbi_max_size(line_pages / 64, 512), ebbi_min_size(line_pages / 8, 4096));
}

static inline bool ebbi_policy_budget_stays_open(size_t used_pages, size_t line_pages)
{
	return used_pages + 2 * ebbi_policy_budget_reserve(line_pages) > line_pages;
}

/* Near the line the steps are an eighth of what is left, but not less than this. */
#define EBBI_BUDGET_STEP_LEAST ((size_t)4)

/*
 * Line for "auto": what bites first up the tree of cgroups, less the margin; half of the machine's memory without
 * such a limit (UINT64_MAX), or where the limit is no tighter than the machine. A tiny limit keeps half for the margin.
 */
static inline uint64_t ebbi_policy_budget_auto(uint64_t limit_bytes, uint64_t ram_bytes)
{
	uint64_t margin = limit_bytes / EBBI_BUDGET_MARGIN_PART;

	if (limit_bytes >= ram_bytes)
		return ram_bytes / 2;
	if (margin < EBBI_BUDGET_MARGIN_LEAST)
		margin = EBBI_BUDGET_MARGIN_LEAST;
	return limit_bytes - (margin < limit_bytes / 2 ? margin : limit_bytes / 2);
}

static inline unsigned ebbi_policy_pressure(size_t used_pages, size_t line_pages)
{
	if (line_pages == 0)
		return 0;
	if (used_pages >= line_pages)
		return EBBI_PRESSURE_FULL;
	return (unsigned)((uint64_t)used_pages * EBBI_PRESSURE_FULL / line_pages);
}

/* Does a look at rest measure exactly? What was measured otherwise may be too much, and is corrected so. */
static inline bool ebbi_policy_budget_exact(unsigned pressure)
{
	return pressure >= EBBI_PRESSURE_EXACT;
}

/* `full`, scaled down to 0 on the way from calm to the line. */
static inline uint64_t ebbi_policy_under_pressure(uint64_t full, unsigned pressure)
{
	unsigned left = EBBI_PRESSURE_FULL - pressure;
	unsigned way = EBBI_PRESSURE_FULL - EBBI_PRESSURE_CALM;

	return left >= way ? full : full / way * left;
}

/* Pages by which the process may grow before it is looked at again. */
static inline size_t ebbi_policy_budget_step(size_t room_pages)
{
	return ebbi_max_size(EBBI_BUDGET_STEP_LEAST, ebbi_min_size(EBBI_BUDGET_STEP_PAGES, room_pages / 8));
}

#endif
