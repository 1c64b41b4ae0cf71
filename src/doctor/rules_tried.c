/* What somebody tried: nothing says more than memory before and after. */
#include <stdio.h>

#include "doctor/rules.h"

static uint64_t returned(const struct intervention *tried)
{
	return tried->before_bytes > tried->after_bytes ? tried->before_bytes - tried->after_bytes : 0;
}

/* What a share is taken of: RSS, or else what the allocator took, or else what there was before. */
static uint64_t whole_of(const struct facts *facts, const struct intervention *tried)
{
	if (ebbi_known(facts, FACT_RSS))
		return ebbi_fact(facts, FACT_RSS);
	return ebbi_known(facts, FACT_SYSTEM) ? ebbi_fact(facts, FACT_SYSTEM) : tried->before_bytes;
}

static bool matters(uint64_t bytes, uint64_t whole)
{
	return bytes >= HELD_FLOOR && ebbi_share(bytes, whole, 10);
}

static void rests_on_allocator(const struct facts *facts, struct finding *finding)
{
	static const enum fact_id ids[] = {FACT_RSS,  FACT_RSS_ANON, FACT_HWM,   FACT_LIVE,
					   FACT_HELD, FACT_SYSTEM,   FACT_LEDGER};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		ebbi_rests_on(facts, finding, ids[i]);
}

/* Killed by a limit that the figures of this moment are far below. */
static void note_early(const struct facts *facts, struct finding *finding)
{
	uint64_t limit = ebbi_fact(facts, FACT_CG_LIMIT), system = ebbi_fact(facts, FACT_SYSTEM);
	char bound[AMOUNT_BYTES], now[AMOUNT_BYTES];

	if (!ebbi_known(facts, FACT_KILLED) || system == 0 || limit / 2 < system)
		return;
	snprintf(finding->note, sizeof(finding->note),
		 "%s in the allocator do not explain a kill at %s: the figures were taken too early",
		 ebbi_amount(now, system), ebbi_amount(bound, limit));
}

static void trimmed(const struct facts *facts, struct verdict *verdict, const struct intervention *tried)
{
	uint64_t back = returned(tried), held = ebbi_fact(facts, FACT_FREE);
	char amount[AMOUNT_BYTES], of[AMOUNT_BYTES];
	struct finding *finding;

	if (matters(back, whole_of(facts, tried))) {
		finding = ebbi_find(verdict, CODE_ALLOC_RETAINED, back, true,
				    "a trim gave %s back: freed by the program and kept by the allocator",
				    ebbi_amount(amount, back));
		finding->gain_bytes = back;
		if (tried->took_ms >= 100)
			snprintf(finding->note, sizeof(finding->note),
				 "the trim took %.1f s and stopped its caller for so long",
				 (double)tried->took_ms / 1000);
		rests_on_allocator(facts, finding);
	} else if (held >= HELD_FLOOR && back < held / 5) {
		finding = ebbi_find(verdict, CODE_ALLOC_FRAGMENTED, held - back, true,
				    "%s are free in the allocator, and a trim gave back %s", ebbi_amount(of, held),
				    ebbi_amount(amount, back));
		if (!ebbi_known(facts, FACT_RSS)) {
			snprintf(finding->note, sizeof(finding->note),
				 "free in the allocator is address space: how much of it is resident is not known");
			snprintf(verdict->next, sizeof(verdict->next),
				 "RSS and its peak, shortly before the limit is reached");
		}
		note_early(facts, finding);
		rests_on_allocator(facts, finding);
	}
}

static void variable_set(const struct facts *facts, struct verdict *verdict, const struct intervention *tried)
{
	uint64_t back = returned(tried);
	char amount[AMOUNT_BYTES], before[AMOUNT_BYTES], after[AMOUNT_BYTES];
	struct finding *finding;

	if (!matters(back, tried->before_bytes))
		return;
	finding = ebbi_find(verdict, CODE_ALLOC_RETAINED, back, true,
			    "with %s the same work takes %s, not %s: the allocator kept %s", tried->name,
			    ebbi_amount(after, tried->after_bytes), ebbi_amount(before, tried->before_bytes),
			    ebbi_amount(amount, back));
	finding->gain_bytes = back;
	snprintf(finding->remedy, sizeof(finding->remedy), "set %s", tried->name);
	snprintf(finding->note, sizeof(finding->note),
		 "before blaming a change of the program, run both versions with it set");
	rests_on_allocator(facts, finding);
	ebbi_rests_on(facts, finding, FACT_THRESHOLD_MOVED);
}

/* Both codes, since nobody knows whether the old allocator could have given it back. */
static void undecided(const struct facts *facts, struct verdict *verdict, uint64_t bytes, const char *says)
{
	rests_on_allocator(facts, ebbi_find(verdict, CODE_ALLOC_RETAINED, bytes, false, "%s", says));
	rests_on_allocator(facts, ebbi_find(verdict, CODE_ALLOC_FRAGMENTED, bytes, false, "%s", says));
}

static void same_with_another(const struct facts *facts, struct verdict *verdict, const struct intervention *tried)
{
	uint64_t grown = tried->after_bytes;
	char amount[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_FILE_DATA_GROWS) || ebbi_found(verdict, CODE_FILE_MMAP))
		return;
	if (facts->moment_count > 1) {
		uint64_t first = facts->moments[0].rss_bytes, last = facts->moments[facts->moment_count - 1].rss_bytes;

		grown = last > first ? last - first : 0;
	}
	finding = ebbi_find(verdict, CODE_FILE_MMAP, grown, true,
			    "the allocator makes no difference: %s of growth are the mapped data file",
			    ebbi_amount(amount, grown));
	snprintf(finding->note, sizeof(finding->note), "compare RssAnon, not RSS, when you compare allocators");
	ebbi_rests_on(facts, finding, FACT_RSS);
	ebbi_rests_on(facts, finding, FACT_FILE_DATA_GROWS);
}

static void other_allocator(const struct facts *facts, struct verdict *verdict, const struct intervention *tried)
{
	uint64_t back = returned(tried);
	char amount[AMOUNT_BYTES], before[AMOUNT_BYTES], after[AMOUNT_BYTES], says[FINDING_TEXT];

	if (ebbi_share(tried->after_bytes, tried->before_bytes, 95) &&
	    ebbi_share(tried->before_bytes, tried->after_bytes, 95)) {
		same_with_another(facts, verdict, tried);
		return;
	}
	if (!matters(back, tried->before_bytes))
		return;
	snprintf(says, sizeof(says),
		 "%s less with %s for the same work (%s, not %s): the allocator's, not the program's",
		 ebbi_amount(amount, back), tried->name, ebbi_amount(after, tried->after_bytes),
		 ebbi_amount(before, tried->before_bytes));
	if (tried->falls) {
		struct finding *finding = ebbi_find(verdict, CODE_ALLOC_RETAINED, back, true, "%s", says);

		finding->gain_bytes = back;
		snprintf(finding->note, sizeof(finding->note),
			 "with %s memory falls between peaks, so the program does free", tried->name);
		snprintf(finding->remedy, sizeof(finding->remedy), "run it with %s", tried->name);
		rests_on_allocator(facts, finding);
	} else {
		undecided(facts, verdict, back, says);
	}
}

static void freed_all(const struct facts *facts, struct verdict *verdict, const struct intervention *tried)
{
	uint64_t back = returned(tried);
	char amount[AMOUNT_BYTES];
	struct finding *finding;

	if (tried->after_bytes >= HELD_FLOOR && ebbi_share(tried->after_bytes, tried->before_bytes, 50))
		finding = ebbi_find(verdict, CODE_ALLOC_RETAINED, tried->after_bytes, true,
				    "%s stay resident although everything was freed",
				    ebbi_amount(amount, tried->after_bytes));
	else if (back >= HELD_FLOOR && ebbi_share(back, tried->before_bytes, 50))
		finding = ebbi_find(verdict, CODE_ALLOC_FRAGMENTED,
				    back - (ebbi_fact(facts, FACT_LIVE) < back ? ebbi_fact(facts, FACT_LIVE) : 0), true,
				    "freed whole it gives %s back: what lives on pins it", ebbi_amount(amount, back));
	else
		return;
	rests_on_allocator(facts, finding);
}

/* Interventions that need no more than a code and a word. */
static void simple(const struct facts *facts, struct verdict *verdict, const struct intervention *tried)
{
	static const struct {
		enum intervention_kind kind;
		enum code code;
		const char *says;
		enum fact_id fact;
	} kinds[] = {
		{TRIED_RELEASE, CODE_LAZYFREE,
		 "the allocator says it gave memory back, and RSS did not move: given up with MADV_FREE",
		 FACT_LAZYFREE},
		{TRIED_DROP_SLAB, CODE_KERNEL_SLAB, "dropping dentries and inodes emptied it", FACT_KERNEL_SLAB},
		{TRIED_DROP_CACHE, CODE_PAGE_CACHE, "dropping the page cache emptied it", FACT_UNMAPPED_CACHE},
		{TRIED_FREEZE, CODE_COW_FORK, "the collector's marks copied pages that parent and children shared",
		 FACT_SUM_OF_PSS},
		{TRIED_THP_OFF, CODE_THP, "without huge pages the same work takes less", FACT_ANON_HUGE},
	};
	uint64_t back = returned(tried);
	char amount[AMOUNT_BYTES];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct finding *finding;
		bool big = tried->has_bytes && matters(back, tried->before_bytes);

		/* A release is told by what did not happen. */
		bool told = tried->kind == TRIED_RELEASE ? ebbi_known(facts, FACT_RELEASED) && !big : tried->helped;

		if (kinds[i].kind != tried->kind || (!big && !told))
			continue;
		finding = big ? ebbi_find(verdict, kinds[i].code, back, true, "%s: %s", kinds[i].says,
					  ebbi_amount(amount, back))
			      : ebbi_find(verdict, kinds[i].code, 0, false, "%s", kinds[i].says);
		finding->gain_bytes = back;
		ebbi_rests_on(facts, finding, kinds[i].fact);
		ebbi_rests_on(facts, finding, FACT_RELEASED);
		ebbi_rests_on(facts, finding, FACT_CG_USAGE);
		ebbi_rests_on(facts, finding, FACT_CG_LIMIT);
	}
}

void ebbi_rules_tried(const struct facts *facts, struct verdict *verdict)
{
	for (size_t i = 0; i < facts->tried_count; i++) {
		const struct intervention *tried = &facts->tried[i];
		size_t before = verdict->count;

		if (tried->has_bytes && tried->kind == TRIED_TRIM)
			trimmed(facts, verdict, tried);
		else if (tried->has_bytes && tried->kind == TRIED_ENVIRONMENT)
			variable_set(facts, verdict, tried);
		else if (tried->has_bytes && tried->kind == TRIED_ALLOCATOR)
			other_allocator(facts, verdict, tried);
		else if (tried->has_bytes && tried->kind == TRIED_FREE_ALL)
			freed_all(facts, verdict, tried);
		else
			simple(facts, verdict, tried);
		for (; before < verdict->count; before++)
			verdict->findings[before].tried = (unsigned)i + 1;
	}
}
