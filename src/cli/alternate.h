/*
 * alternate.h: the runs of a comparison, variant by variant in turn.
 *
 *	fresh A, fresh B, fresh A, fresh B ...				one generation
 *	fresh A, reopened A, fresh B, reopened B ...			two: the second on the data of the first
 *
 * Owns: the runs until ebbi_alternate_free. Never: prints anything but a line on stderr for a run that failed.
 * Threading: one thread; forks. Errors: the exit code of the verb, after a line; what was measured until then is there.
 * Invariants: variants alternate, so that a machine that grows slower meets all of them. A variant of which a run
 * failed has no more of them. The first run of a variant that had to read its files from the disk was a warm-up: it is
 * dropped and run again.
 */
#ifndef EBBI_CLI_ALTERNATE_H
#define EBBI_CLI_ALTERNATE_H

#include "cli/variants.h"
#include "lab/trial.h"
#include "report/progress.h"

#define GENERATIONS 2

struct run_done {
	struct trial *trial;
	const struct variant *variant;
	const char *generation; /* "fresh", "reopened"; "": there is one alone */
	char title[128];        /* "run 3 (glibc)" */
};

struct alternation {
	const struct compare_options *options;
	struct variants *variants;
	size_t rounds;
	struct ready ready;
	wordexp_t then; /* the words of --then, when it is the command; we_wordv NULL otherwise */
	struct progress progress;
	/* What came out. */
	struct run_done *runs;
	size_t count;
	size_t warm_ups;
	int stop_signal; /* 0: nobody interrupted it */
};

/* How many runs it will be. */
size_t ebbi_alternate_total(const struct alternation *alternation);

int ebbi_alternate(struct alternation *alternation);
void ebbi_alternate_free(struct alternation *alternation);

#endif
