/*
 * reclaim.h: when it is worth giving everything back before an allocation is refused.
 *
 * Owns: the rule, a pure function of times and pages; heap/reclaim.c asks. Never: keeps state. Threading: any.
 * Errors: none.
 *
 * A reclaim costs from microseconds to tens of milliseconds. A program that lives at its limit, or that tries
 * sizes nobody can have, must not pay for one at every refusal: after one that gave too little, the next comes when as
 * much as is wanted has become free since, whatever else was allocated meanwhile, or when ten times the CPU time of the
 * last one has passed. So vain reclaims take at most a tenth of the time, and one that waited for a lock or for
 * a CPU does not hold the next one up.
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
	uint64_t took_ns;  /* of CPU time */
	size_t free_pages; /* mapped and not in use, at its end: what it could not give back */
	bool vain;         /* gave less than was wanted */
};

static inline bool ebbi_policy_reclaim_is_due(const struct ebbi_reclaim_last *last, uint64_t now_ns, size_t free_pages,
					      size_t wanted_pages)
{
	if (!last->vain)
		return true;
	if (free_pages > last->free_pages && free_pages - last->free_pages >= wanted_pages)
		return true;
	return now_ns - last->end_ns >= EBBI_RECLAIM_REST_TIMES * last->took_ns;
}

#endif
