/*
 * pair.h: two processes or two runs of one program, side by side: what the one has and the other has not.
 *
 * Owns: nothing. Pure but for the loader. Never: compares what differs in more than one thing, or in the work that was
 * done: the verdict is NOT_COMPARABLE then and names the differences.
 * Threading: one thread. Errors: as files.h.
 *
 * A directory that holds the directories a and b is a pair; each is a saved directory (files.h), whose ledger.json may say
 * under "run" what it ran with and what it served.
 */
#ifndef EBBI_DOCTOR_PAIR_H
#define EBBI_DOCTOR_PAIR_H

#include "doctor/verdict.h"

struct pair {
	struct facts a;
	struct facts b;
};

/* *ret_is_pair: it is one, and was read. */
int ebbi_pair_read(const char *directory, struct pair *ret_pair, bool *ret_is_pair, char *ret_message);

/* Both must have been derived. *ret_larger: whose facts the verdict rests on; what was tried is added to them. */
void ebbi_pair_judge(struct pair *pair, struct facts **ret_larger, struct verdict *ret_verdict);

#endif
