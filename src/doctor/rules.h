/*
 * rules.h: the inside of the evaluation: rules that look at facts and add findings (finding.c). For verdict.c and rules_*.c alone.
 *
 * Owns: nothing. Pure. Threading: one thread. Errors: none: beyond FINDINGS_MOST findings are left out.
 */
#ifndef EBBI_DOCTOR_RULES_H
#define EBBI_DOCTOR_RULES_H

#include "doctor/verdict.h"

#define MIB ((uint64_t)1 << 20)
/* Below this, memory that an allocator holds is nothing to anybody. */
#define HELD_FLOOR (16 * MIB)

typedef void rule(const struct facts *facts, struct verdict *verdict);

rule ebbi_rules_instrument;
rule ebbi_rules_kernel;
rule ebbi_rules_tried;
rule ebbi_rules_allocator;
rule ebbi_rules_live;
rule ebbi_rules_rest; /* when no other found anything */

/* Adds a finding; its `says` is made from the format. Always gives one that may be written to. */
__attribute__((format(printf, 5, 6))) struct finding *ebbi_find(struct verdict *verdict, enum code code, uint64_t bytes,
								bool certain, const char *format, ...);

/* Names a fact that the finding rests on, if it is known. */
void ebbi_rests_on(const struct facts *facts, struct finding *finding, enum fact_id id);

bool ebbi_found(const struct verdict *verdict, enum code code);

/* part >= percent of whole, without overflow. */
static inline bool ebbi_share(uint64_t part, uint64_t whole, unsigned percent)
{
	return (long double)part * 100 >= (long double)whole * percent;
}

#endif
