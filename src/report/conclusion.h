/*
 * conclusion.h: what a comparison says, phase by phase: who is lowest, or why nobody is.
 *
 * Owns: nothing; points into the comparison. Pure. Threading: any. Errors: none.
 *
 * A group is lower than another when chance alone would part them so far less than one time in twenty (report/effect.h), or, of
 * too few runs for that, when their ranges are apart; and when the difference is more than nothing: a hundredth, and
 * more than the kernel's counters may be off. Groups between which there is no such difference are the same where all their values lie
 * close together, and otherwise the runs say nothing about them.
 *
 * Boot and resting memory are judged by anonymous and swapped pages, where they are known: pages of files come and go with the memory
 * of the machine, and no allocator is to be praised for what the kernel evicted (docs/decisions/0045).
 */
#ifndef EBBI_REPORT_CONCLUSION_H
#define EBBI_REPORT_CONCLUSION_H

#include <stdbool.h>
#include <stddef.h>

#include "report/groups.h"

enum compared_phase { COMPARED_BOOT, COMPARED_PEAK, COMPARED_RESTING, COMPARED_CPU, COMPARED_COUNT };

enum verdict {
	VERDICT_UNKNOWN, /* fewer than two groups have the figure */
	VERDICT_LOWEST,  /* `best` is lower than every other one */
	VERDICT_SAME,    /* `best` and `tied` others do not differ; there may be others that are higher */
	VERDICT_UNSURE,  /* the runs of `best` and of others vary too much to tell */
};

struct phase_verdict {
	enum verdict verdict;
	enum figure figure; /* by which it was judged */
	const struct group *best;
	const struct group *next; /* the lowest of those that are higher; NULL: none */
	size_t tied;
	const struct group *tied_with[COMPARISON_GROUPS];
	double share;  /* of next's median that best is below; of a tie, how far the medians are apart */
	double units;  /* the same in the figure's unit, positive */
	double chance; /* against next: that it is one; 1 when it cannot be told */
	bool few;      /* so few runs that their ranges alone decided */
	bool by_files; /* the totals say otherwise, because of pages of files */
};

struct conclusion {
	struct phase_verdict phases[COMPARED_COUNT];
	bool work_differs; /* served work beyond COMPARISON_WORK_SHARE: no verdicts */
	double work_least, work_most;
	bool any; /* at least one phase has a verdict that says something */
};

/* Runs that served work further apart than this are not compared. */
#define COMPARISON_WORK_SHARE 0.05

/* Of the groups of one generation. */
void ebbi_conclude(const struct comparison *comparison, const char *generation, struct conclusion *ret_conclusion);

/* "boot", "peak", "resting", "CPU" */
const char *ebbi_word_compared(enum compared_phase phase);

/* "lowest", "same", "inconclusive", "unknown" */
const char *ebbi_word_verdict(enum verdict verdict);

#define CONCLUSION_BYTES 1024

/* "ebb is lowest, 41.2 MiB (41 %) below glibc": what a phase says, without its name. "" for VERDICT_UNKNOWN. */
void ebbi_sentence_phase(const struct phase_verdict *verdict, bool exact_bytes, char *ret_text, size_t size);

/* All phases in one line: "boot glibc (-16 %), peak no difference, resting ebb (-41 %), CPU inconclusive". */
void ebbi_sentence_conclusion(const struct conclusion *conclusion, char *ret_text, size_t size);

#endif
