/*
 * ladder.h: which rate is tried next, until the knee is found.
 *
 *	asked for   5k   10k   20k   40k   80k
 *	            ok   ok    ok    bad    -        up, and stop at the first that is not served
 *	                          30k ok             then between the last good and the first bad one ...
 *	                             35k bad         ... as many steps as are wanted
 *
 * Owns: the rates. Pure: knows nothing of servers. Threading: one thread. Errors: none.
 * Invariant: good < bad, once both are known; no rate is tried twice.
 */
#ifndef EBBI_LAB_LADDER_H
#define EBBI_LAB_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LADDER_RATES 64

struct ladder {
	size_t count;
	size_t next;
	uint64_t rates[LADDER_RATES]; /* ascending, each once */
	unsigned steps;               /* left between good and bad */
	uint64_t good;                /* the highest that was served; 0: none */
	uint64_t bad;                 /* the lowest that was not; 0: none */
};

/* Sorts the rates. `steps`: how often the gap at the knee is halved. */
void ebbi_ladder_start(struct ladder *ladder, const uint64_t *rates, size_t count, unsigned steps);

/* False when nothing is left to try. */
bool ebbi_ladder_next(struct ladder *ladder, uint64_t *ret_rate);

/* What became of the rate that ebbi_ladder_next gave. */
void ebbi_ladder_tell(struct ladder *ladder, uint64_t rate, bool good);

#endif
