/*
 * verdict.h: from facts to findings, and to one verdict.
 *
 * Owns: nothing. Pure: the same facts give the same verdict. Never: names a cause that no fact supports: with too few
 * facts the verdict is UNKNOWN and the one next measurement.
 * Threading: one thread. Errors: none.
 *
 * Invariants: there is at least one finding, the verdict's; those after it are further ones, in order of weight. Each
 * names the facts it rests on. `undecided`: the first two are alternatives, and the facts cannot tell which.
 */
#ifndef EBBI_DOCTOR_VERDICT_H
#define EBBI_DOCTOR_VERDICT_H

#include "doctor/facts.h"

enum code {
#define CODE(id, rank, means, remedy, cost, next) CODE_##id,
#include "doctor/codes.def"
#undef CODE
	CODE_COUNT
};

struct code_kind {
	const char *word;
	unsigned rank;
	const char *means;
	const char *remedy;
	const char *cost;
	const char *next;
};
extern const struct code_kind ebbi_codes[CODE_COUNT];

#define FINDING_EVIDENCE 8
#define FINDINGS_MOST 24
#define FINDING_TEXT 320

struct finding {
	enum code code;
	bool certain;        /* the kernel counts it, or somebody tried */
	uint64_t bytes;      /* what it explains; 0: it has no size */
	uint64_t gain_bytes; /* what the remedy would give; 0: not known */
	char says[FINDING_TEXT];
	char note[FINDING_TEXT];   /* what must be said as well; "" */
	char remedy[FINDING_TEXT]; /* instead of the code's; "" */
	unsigned tried;            /* it rests on facts.tried[tried - 1]; 0: on none */
	size_t evidence_count;
	enum fact_id evidence[FINDING_EVIDENCE];
};

struct verdict {
	size_t count;
	struct finding findings[FINDINGS_MOST];
	bool undecided;
	char next[FINDING_TEXT]; /* the next measurement; "" when the verdict is certain */
};

/* `facts` must have been derived. */
void ebbi_verdict_make(const struct facts *facts, struct verdict *ret_verdict);

/* "18.7 GiB", "75.1 MiB", "12.0 KiB"; at least 24 bytes of room. */
const char *ebbi_amount(char *ret_text, uint64_t bytes);
#define AMOUNT_BYTES 32

#endif
