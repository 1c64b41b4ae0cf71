/*
 * reclaim.h: when it is worth giving everything back before an allocation is refused.
 *
 * Owns: the rule, a pure function of time and pages; heap/reclaim.c asks. Never: keeps state. Threading: any.
 * Errors: none.
 *
 * A reclaim costs from microseconds to tens of milliseconds. A program that lives at its limit, or that tries
 * sizes nobody can have, must not pay for one at every refusal: after one that gave too little, the next comes when the
 * program itself has freed what is wanted, or when ten times the last one's duration has passed. So vain reclaims take
 * at most a tenth of the time.
 */
#ifndef EBBI_POLICY_RECLAIM_H
#define EBBI_POLICY_RECLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBBI_RECLAIM_REST_TIMES 10u

/* What the last reclaim was like; zeros before the first. */
struct ebbi_reclaim_last {
	uint64_t end_ns;
	uint64_t took_ns;
	size_t live_pages; /* at its end */
	bool vain;         /* gave less than was wanted */
};

static inline bool ebbi_policy_reclaim_is_due(const struct ebbi_reclaim_last *last, uint64_t now_ns, size_t live_pages,
					      size_t wanted_pages)
{
	if (!last->vain)
		return true;
	if (live_pages < last->live_pages && last->live_pages - live_pages >= wanted_pages)
		return true;
	return now_ns - last->end_ns >= EBBI_RECLAIM_REST_TIMES * last->took_ns;
}

#endif
