/* What the allocator says of itself, as far as nobody tried. */
#include <stdio.h>
#include <string.h>

#include "doctor/rules.h"

static bool tried(const struct facts *facts, enum intervention_kind kind)
{
	for (size_t i = 0; i < facts->tried_count; i++) {
		if (facts->tried[i].kind == kind && facts->tried[i].has_bytes)
			return true;
	}
	return false;
}

static void rests_on(const struct facts *facts, struct finding *finding, const enum fact_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ebbi_rests_on(facts, finding, ids[i]);
}

#define RESTS_ON(facts, finding, ...) \
	rests_on(facts, finding, (const enum fact_id[]){__VA_ARGS__}, \
		 sizeof((const enum fact_id[]){__VA_ARGS__}) / sizeof(enum fact_id))

/* Pages were counted: by jemalloc, by Ebb, or by a walk through glibc's heap. */
static void by_pages(const struct facts *facts, struct verdict *verdict)
{
	uint64_t back = ebbi_fact(facts, FACT_RETURNABLE), pinned = ebbi_fact(facts, FACT_FRAGMENTED);
	uint64_t whole = ebbi_fact(facts, FACT_TOTAL);
	char amount[AMOUNT_BYTES], other[AMOUNT_BYTES];
	struct finding *finding;

	if (whole < ebbi_fact(facts, FACT_RESIDENT))
		whole = ebbi_fact(facts, FACT_RESIDENT);
	if (ebbi_known(facts, FACT_RETURNABLE) && back >= HELD_FLOOR && ebbi_share(back, whole, 5)) {
		uint64_t held = ebbi_known(facts, FACT_ACTIVE) ? ebbi_fact(facts, FACT_HELD) : back;

		finding = held == back
				  ? ebbi_find(verdict, CODE_ALLOC_RETAINED, held, true,
					      "%s resident in the allocator hold nothing live and can be handed back",
					      ebbi_amount(amount, back))
				  : ebbi_find(verdict, CODE_ALLOC_RETAINED, held, true,
					      "%s resident in the allocator hold nothing live: %s can be handed back",
					      ebbi_amount(other, held), ebbi_amount(amount, back));
		finding->gain_bytes = back;
		if (ebbi_known(facts, FACT_FRAGMENTED) && !ebbi_share(pinned, whole, 5))
			snprintf(finding->note, sizeof(finding->note),
				 "only %s are pinned by what is live: moving live blocks together cannot help",
				 ebbi_amount(other, pinned));
		RESTS_ON(facts, finding, FACT_RSS, FACT_RESIDENT, FACT_ACTIVE, FACT_LIVE, FACT_METADATA, FACT_TRIMMABLE,
			 FACT_PINNED);
	}
	if (ebbi_known(facts, FACT_FRAGMENTED) && pinned >= HELD_FLOOR && ebbi_share(pinned, whole, 10)) {
		finding = ebbi_find(verdict, CODE_ALLOC_FRAGMENTED, pinned, true,
				    "%s are free on pages that hold something live; %s could be handed back",
				    ebbi_amount(amount, pinned), ebbi_amount(other, back));
		if (back >= HELD_FLOOR && ebbi_share(back, whole, 5)) {
			finding->gain_bytes = back;
			snprintf(
				finding->remedy, sizeof(finding->remedy),
				"a trim (malloc_trim(0), a decay time) gives %s back; for the other %s another allocator or "
				"another pattern of allocation is needed",
				ebbi_amount(other, back), amount);
		}
		if (ebbi_known(facts, FACT_RETAINED))
			snprintf(finding->note, sizeof(finding->note),
				 "retained (%s) is address space: it adds nothing to RSS",
				 ebbi_amount(other, ebbi_fact(facts, FACT_RETAINED)));
		RESTS_ON(facts, finding, FACT_RSS, FACT_ACTIVE, FACT_LIVE, FACT_RESIDENT, FACT_METADATA, FACT_TRIMMABLE,
			 FACT_PINNED, FACT_RETAINED);
	}
}

static void say_rest(const struct facts *facts, struct finding *finding, uint64_t held)
{
	uint64_t rss = ebbi_fact(facts, FACT_RSS), ledger = ebbi_fact(facts, FACT_LEDGER);
	char names[AMOUNT_BYTES], rest[AMOUNT_BYTES];

	if (ebbi_known(facts, FACT_LEDGER) && ebbi_known(facts, FACT_RSS) && rss > held && rss - held > ledger)
		snprintf(finding->note, sizeof(finding->note), "the ledger names %s; %s are neither",
			 ebbi_amount(names, ledger), ebbi_amount(rest, rss - held - ledger));
}

/* Only a sum is known: what is free in the allocator, or what of RSS is not live. */
static void by_sum(const struct facts *facts, struct verdict *verdict)
{
	uint64_t held = ebbi_fact(facts, FACT_FREE), rss = ebbi_fact(facts, FACT_RSS);
	uint64_t peak = ebbi_fact(facts, FACT_ALLOC_PEAK);
	bool covers = ebbi_known(facts, FACT_COVERS_ALL);
	char amount[AMOUNT_BYTES], past[AMOUNT_BYTES], says[FINDING_TEXT];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_FREE) || !ebbi_known(facts, FACT_RSS) || held < HELD_FLOOR ||
	    !ebbi_share(held, rss, 10))
		return;
	if (ebbi_fact(facts, FACT_SYSTEM) > rss + rss / 10)
		return; /* addresses: how much of it is resident cannot be told */
	if (covers && ebbi_fact(facts, FACT_SCATTERED)) {
		finding = ebbi_find(verdict, CODE_ALLOC_FRAGMENTED, held, false,
				    "%s were freed between small blocks that live on", ebbi_amount(amount, held));
	} else if (peak > 0 && rss <= peak + peak / 8) {
		finding = ebbi_find(verdict, CODE_ALLOC_RETAINED, held, true,
				    "%s kept since a peak of %s: RSS is within %.0f %% of it",
				    ebbi_amount(amount, held), ebbi_amount(past, peak),
				    rss > peak ? (double)(rss - peak) * 100 / (double)peak : 0.0);
		snprintf(finding->note, sizeof(finding->note), "fragmentation is at most what RSS is above the peak");
	} else if (covers) {
		snprintf(says, sizeof(says), "%s of RSS are not live in the program: kept by the allocator%s",
			 ebbi_amount(amount, held),
			 ebbi_fact(facts, FACT_LIVE) > 0 ? ", whether pinned or not cannot be told" : "");
		finding = ebbi_find(verdict, CODE_ALLOC_RETAINED, held, false, "%s", says);
		RESTS_ON(facts, finding, FACT_RSS, FACT_LIVE);
		/* Nothing lives that could pin a page. */
		if (ebbi_fact(facts, FACT_LIVE) == 0)
			return;
		finding = ebbi_find(verdict, CODE_ALLOC_FRAGMENTED, held, false, "%s", says);
	} else {
		finding = ebbi_find(verdict, CODE_ALLOC_RETAINED, held, false,
				    "%s are free in the allocator and stay resident", ebbi_amount(amount, held));
		say_rest(facts, finding, held);
	}
	RESTS_ON(facts, finding, FACT_RSS, FACT_LIVE, FACT_HELD, FACT_SYSTEM, FACT_LEDGER, FACT_ALLOC_PEAK);
}

/* Anonymous memory that the one allocator whose figures there are knows nothing of, and there is another one. */
static void second(const struct facts *facts, struct verdict *verdict)
{
	uint64_t named = ebbi_fact(facts, FACT_LIVE) + ebbi_fact(facts, FACT_FREE);
	uint64_t anon = ebbi_fact(facts, FACT_ANON), gap;
	char amount[AMOUNT_BYTES], of[AMOUNT_BYTES];
	const char *other = "";
	struct finding *finding;
	bool by_ledger = !ebbi_known(facts, FACT_LIVE);

	/* Whatever is in its pages is its own, live or not. */
	named = named > ebbi_fact(facts, FACT_RESIDENT) ? named : ebbi_fact(facts, FACT_RESIDENT);
	if (by_ledger)
		named = ebbi_fact(facts, FACT_LEDGER);
	if (facts->allocator_count < 2 || !ebbi_known(facts, FACT_ANON) || named >= anon ||
	    (by_ledger && !ebbi_known(facts, FACT_LEDGER)) || tried(facts, TRIED_TRIM))
		return;
	gap = anon - named;
	if (gap < 64 * MIB || !ebbi_share(gap, anon, 50))
		return;
	for (size_t i = 0; i < facts->allocator_count && other[0] == 0; i++) {
		if (strcmp(facts->allocators[i], facts->allocator) != 0)
			other = facts->allocators[i];
	}
	if (by_ledger)
		other = facts->allocators[facts->allocator_count - 1];
	finding = ebbi_find(verdict, CODE_SECOND_ALLOCATOR, gap, false,
			    "%s of %s anonymous memory are unknown to %s; %s is in the process, too",
			    ebbi_amount(amount, gap), ebbi_amount(of, anon),
			    by_ledger ? "the ledger" : facts->allocator, other);
	if (ebbi_known(facts, FACT_CG_ACTIVE) &&
	    ebbi_fact(facts, FACT_CG_ACTIVE) + ebbi_fact(facts, FACT_CG_INACTIVE) < anon / 20)
		snprintf(finding->note, sizeof(finding->note), "page cache is ruled out: there is next to none");
	RESTS_ON(facts, finding, FACT_RSS_ANON, FACT_CG_ANON, FACT_LIVE, FACT_HELD, FACT_LEDGER);
}

/*
 * All that the one known allocator ever took, with the stacks, is less than half of the anonymous memory: what grew is past it,
 * whoever that is. What was given up or lies in huge pages has findings of its own.
 */
static void past_it(const struct facts *facts, struct verdict *verdict)
{
	uint64_t took = ebbi_fact(facts, FACT_SYSTEM), anon = ebbi_fact(facts, FACT_ANON), named;
	char amount[AMOUNT_BYTES], of[AMOUNT_BYTES], own[AMOUNT_BYTES];
	struct finding *finding;

	took = took > ebbi_fact(facts, FACT_RESIDENT) ? took : ebbi_fact(facts, FACT_RESIDENT);
	named = took + ebbi_fact(facts, FACT_STACKS) + ebbi_fact(facts, FACT_LAZYFREE);
	if (took == 0 || named < took || named >= anon || ebbi_found(verdict, CODE_SECOND_ALLOCATOR) ||
	    ebbi_found(verdict, CODE_STACKS) || anon - named < 64 * MIB || !ebbi_share(anon - named, anon, 50) ||
	    ebbi_share(ebbi_fact(facts, FACT_ANON_HUGE), anon - named, 75))
		return;
	finding = ebbi_find(verdict, CODE_SECOND_ALLOCATOR, anon - named, false,
			    "%s has %s from the kernel: %s of %s anonymous memory were taken past it",
			    facts->allocator[0] ? facts->allocator : "the allocator", ebbi_amount(own, took),
			    ebbi_amount(amount, anon - named), ebbi_amount(of, anon));
	snprintf(finding->remedy, sizeof(finding->remedy),
		 "find who maps it: a second malloc, or mappings of the program's own; bound that");
	snprintf(
		verdict->next, sizeof(verdict->next),
		"smaps, and the allocators' names among the symbols: another malloc, or mappings of the program's own");
	RESTS_ON(facts, finding, FACT_SYSTEM, FACT_RESIDENT, FACT_RSS_ANON, FACT_CG_ANON, FACT_RSS, FACT_STACKS);
}

void ebbi_rules_allocator(const struct facts *facts, struct verdict *verdict)
{
	bool by_trying = ebbi_found(verdict, CODE_ALLOC_RETAINED) || ebbi_found(verdict, CODE_ALLOC_FRAGMENTED) ||
			 tried(facts, TRIED_TRIM);

	if (!by_trying)
		by_pages(facts, verdict);
	second(facts, verdict);
	past_it(facts, verdict);
	if (!by_trying && !ebbi_found(verdict, CODE_ALLOC_RETAINED) && !ebbi_found(verdict, CODE_ALLOC_FRAGMENTED) &&
	    !ebbi_found(verdict, CODE_INSTRUMENT) && !ebbi_known(facts, FACT_RETURNABLE))
		by_sum(facts, verdict);
}
