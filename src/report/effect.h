/*
 * effect.h: how far two small groups of runs lie apart, and whether chance alone would do that.
 *
 * Owns: nothing. Pure. Threading: any. Errors: none; both series need one value at least.
 *
 * The three are of ranks and medians, because a handful of runs has no distribution to speak of and one slow run must not decide:
 *
 *	shift   Hodges and Lehmann's: the median of all differences b - a of one value of each. In the figure's unit.
 *	delta   Cliff's: in how many of these pairs b is larger, less in how many it is smaller, as a share: -1 when every b is
 *	        below every a (the ranges are apart), 0 when they are mixed, +1 when every b is above.
 *	chance  of a delta at least so far from 0, up or down, if both came from the same: the exact rank sum test of Wilcoxon,
 *	        Mann and Whitney with ties counted as they are; beyond EFFECT_EXACT values, its normal approximation.
 *
 * With 3 and 3 values the least chance there is is 0.1, with 4 and 4 0.029, with 5 and 5 0.0079 (docs/decisions/0045).
 */
#ifndef EBBI_REPORT_EFFECT_H
#define EBBI_REPORT_EFFECT_H

#include "report/series.h"

#define EFFECT_EXACT 24

struct effect {
	double shift;
	double delta;
	double chance;
};

/* Of `b` against `a`. */
struct effect ebbi_effect(const struct series *a, const struct series *b);

#endif
