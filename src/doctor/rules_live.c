/* Where memory is that nobody freed; and what is said when nothing is found. */
#include <stdio.h>
#include <string.h>

#include "doctor/rules.h"

#define GROWS "it grows still"

/* The last third of the time, in which a plateau is told from growth. */
static const char *course(const struct facts *facts)
{
	size_t count = facts->moment_count, from = count - count / 3 - 1;
	uint64_t before, last;

	if (count < 3)
		return "";
	before = facts->moments[from].live_bytes;
	last = facts->moments[count - 1].live_bytes;
	if (before == 0 || last == 0) {
		before = facts->moments[from].rss_bytes;
		last = facts->moments[count - 1].rss_bytes;
	}
	if (before == 0 || last == 0)
		return "";
	return ebbi_share(last, before, 105) ? GROWS : "it has come to a plateau";
}

static uint64_t anonymous(const struct facts *facts)
{
	return ebbi_known(facts, FACT_ANON) ? ebbi_fact(facts, FACT_ANON) : ebbi_fact(facts, FACT_RSS);
}

/* What grows, if that is much of it; else the largest part; the application's total only where there are no parts. */
static const struct ledger_entry *entry_to_name(const struct facts *facts, uint64_t named)
{
	const struct ledger_entry *best = &facts->ledger[0];

	for (size_t i = 1; i < facts->ledger_count; i++) {
		const struct ledger_entry *entry = &facts->ledger[i];
		bool grows = entry->growing && ebbi_share(entry->bytes, named, 25);
		bool best_grows = best->growing && ebbi_share(best->bytes, named, 25);

		if (best->total != entry->total)
			best = best->total ? entry : best;
		else if (grows != best_grows)
			best = grows ? entry : best;
		else if (entry->bytes > best->bytes)
			best = entry;
	}
	return best;
}

static void by_ledger(const struct facts *facts, struct verdict *verdict)
{
	uint64_t named = ebbi_fact(facts, FACT_LEDGER), anon = anonymous(facts);
	const struct ledger_entry *most;
	char amount[AMOUNT_BYTES], of[AMOUNT_BYTES], part[AMOUNT_BYTES];
	struct finding *finding;

	if (named < HELD_FLOOR || ebbi_found(verdict, CODE_INSTRUMENT))
		return;
	most = entry_to_name(facts, named);
	if (anon == 0 && most->growing) {
		/* What the process has is not known; what grows is. */
		finding = ebbi_find(verdict, CODE_LIVE_LEDGER, most->bytes, false, "the ledger has %s grow: %s of %s",
				    most->name, ebbi_amount(part, most->bytes), ebbi_amount(amount, named));
		ebbi_rests_on(facts, finding, FACT_LEDGER);
		return;
	}
	if (anon == 0 || !ebbi_share(named, anon, 50))
		return;
	finding = ebbi_find(verdict, CODE_LIVE_LEDGER, named < anon ? named : anon, true,
			    "the ledger names %s of %s: most of it is %s (%s)%s", ebbi_amount(amount, named),
			    ebbi_amount(of, anon), most->name, ebbi_amount(part, most->bytes),
			    most->growing ? ", and it grows" : "");
	ebbi_rests_on(facts, finding, FACT_LEDGER);
	ebbi_rests_on(facts, finding, FACT_RSS_ANON);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

static void unexplained(const struct facts *facts, struct verdict *verdict)
{
	uint64_t live = ebbi_fact(facts, FACT_LIVE), named = ebbi_fact(facts, FACT_LEDGER);
	const char *goes = course(facts);
	char amount[AMOUNT_BYTES], of[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_LIVE) || !ebbi_known(facts, FACT_LEDGER) || live <= named ||
	    live - named < 64 * MIB || !ebbi_share(live - named, live, 40))
		return;
	finding = ebbi_find(verdict, CODE_LIVE_UNEXPLAINED, live - named, false,
			    "%s of %s live in the allocator are in no ledger%s%s", ebbi_amount(amount, live - named),
			    ebbi_amount(of, live), goes[0] ? "; " : "", goes);
	ebbi_rests_on(facts, finding, FACT_LIVE);
	ebbi_rests_on(facts, finding, FACT_LEDGER);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

/* No ledger is there to name anything, and live memory grows at every look. */
static void growing(const struct facts *facts, struct verdict *verdict)
{
	uint64_t first, last;
	size_t count = facts->moment_count;
	char before[AMOUNT_BYTES], after[AMOUNT_BYTES];
	struct finding *finding;

	if (count < 3 || ebbi_known(facts, FACT_LEDGER) || !ebbi_known(facts, FACT_LIVE))
		return;
	for (size_t i = 1; i < count; i++) {
		if (facts->moments[i].live_bytes <= facts->moments[i - 1].live_bytes)
			return;
	}
	first = facts->moments[0].live_bytes;
	last = facts->moments[count - 1].live_bytes;
	if (first == 0 || last - first < 64 * MIB || !ebbi_share(last, first, 125) || strcmp(course(facts), GROWS) != 0)
		return;
	finding = ebbi_find(verdict, CODE_LIVE_UNEXPLAINED, last - first, false,
			    "live memory went from %s to %s at every look, and no ledger names it",
			    ebbi_amount(before, first), ebbi_amount(after, last));
	ebbi_rests_on(facts, finding, FACT_LIVE);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

/* Processes of which none is most of it. */
static void workers(const struct facts *facts, struct verdict *verdict)
{
	bool pss = facts->process_pss_bytes > 0;
	uint64_t sum = pss ? facts->process_pss_bytes : facts->process_rss_bytes;
	size_t kept = facts->process_count < FACTS_PROCESSES ? facts->process_count : FACTS_PROCESSES;
	uint64_t largest = 0;
	char amount[AMOUNT_BYTES], each[AMOUNT_BYTES];
	struct finding *finding;

	for (size_t i = 0; i < kept; i++) {
		uint64_t bytes = pss ? facts->processes[i].pss_bytes : facts->processes[i].rss_bytes;

		largest = bytes > largest ? bytes : largest;
	}
	/* Where shared pages are all there is to it, a mean of them says nothing. */
	if (!pss && ebbi_found(verdict, CODE_SHARED_TWICE))
		return;
	if (facts->process_count < 4 || sum < 128 * MIB || largest > sum / facts->process_count * 3)
		return;
	finding = ebbi_find(verdict, CODE_WORKERS, sum, pss, "%zu processes of about %s each: %s in all%s",
			    facts->process_count, ebbi_amount(each, sum / facts->process_count),
			    ebbi_amount(amount, sum), pss ? "" : ", shared pages counted again");
	ebbi_rests_on(facts, finding, FACT_SUM_OF_PSS);
	ebbi_rests_on(facts, finding, FACT_SUM_OF_RSS);
}

void ebbi_rules_live(const struct facts *facts, struct verdict *verdict)
{
	by_ledger(facts, verdict);
	unexplained(facts, verdict);
	growing(facts, verdict);
	workers(facts, verdict);
}

static void rests_on_all(const struct facts *facts, struct finding *finding)
{
	static const enum fact_id ids[] = {FACT_RSS,    FACT_RSS_ANON, FACT_LIVE,    FACT_ACTIVE, FACT_FREE,
					   FACT_LEDGER, FACT_CG_USAGE, FACT_VM_SIZE, FACT_CG_ANON};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		ebbi_rests_on(facts, finding, ids[i]);
}

/* A ratio of two and more over a few MiB. */
static bool too_small(const struct facts *facts, struct verdict *verdict)
{
	uint64_t held = ebbi_fact(facts, FACT_FREE), live = ebbi_fact(facts, FACT_LIVE);
	char amount[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_FREE) || !ebbi_known(facts, FACT_LIVE) || held >= HELD_FLOOR || held < live / 2 ||
	    held == 0)
		return false;
	finding = ebbi_find(verdict, CODE_TOO_SMALL, held, true,
			    "%s are free in the allocator: whatever the ratio, it is nothing to anybody",
			    ebbi_amount(amount, held));
	rests_on_all(facts, finding);
	return true;
}

static bool healthy(const struct facts *facts, struct verdict *verdict)
{
	static const enum fact_id known_by[] = {FACT_LIVE, FACT_ACTIVE, FACT_LEDGER};
	uint64_t anon = anonymous(facts), best = 0, rest;
	char amount[AMOUNT_BYTES], of[AMOUNT_BYTES];
	struct finding *finding;

	if (anon == 0)
		return false;
	for (size_t i = 0; i < sizeof(known_by) / sizeof(known_by[0]); i++) {
		uint64_t value = ebbi_fact(facts, known_by[i]);

		best = value > best ? value : best;
	}
	best += ebbi_fact(facts, FACT_STACKS);
	rest = anon > best ? anon - best : 0;
	if (anon < 2 * HELD_FLOOR)
		finding = ebbi_find(verdict, CODE_HEALTHY, anon, true,
				    "%s of memory of its own: nothing here is large enough to matter",
				    ebbi_amount(amount, anon));
	else if (rest < HELD_FLOOR || !ebbi_share(rest, anon, 25))
		finding = ebbi_find(verdict, CODE_HEALTHY, anon, true, "what is live accounts for %s of %s",
				    ebbi_amount(amount, best < anon ? best : anon), ebbi_amount(of, anon));
	else
		return false;
	if (ebbi_known(facts, FACT_ACTIVE) && ebbi_fact(facts, FACT_ACTIVE) > ebbi_fact(facts, FACT_RSS))
		snprintf(finding->note, sizeof(finding->note),
			 "active pages may exceed RSS: some were handed out and never touched");
	rests_on_all(facts, finding);
	return true;
}

static void unknown(const struct facts *facts, struct verdict *verdict)
{
	uint64_t anon = anonymous(facts);
	char amount[AMOUNT_BYTES];
	struct finding *finding;
	const char *next;

	if (anon > 0)
		finding = ebbi_find(verdict, CODE_UNKNOWN, anon, false,
				    "%s of memory of its own, and nothing that tells what of it is live",
				    ebbi_amount(amount, anon));
	else
		finding = ebbi_find(verdict, CODE_UNKNOWN, 0, false, "what is known does not tell where the memory is");
	if (ebbi_known(facts, FACT_HEAP_MOVED))
		next = "the heap changed while it was read: the same while the process is stopped for a moment, ebb doctor --stop PID";
	else if (ebbi_known(facts, FACT_CG_USAGE) && !ebbi_known(facts, FACT_CG_FILE))
		next = "memory.stat of the control group: anon, file, slab_reclaimable, sock";
	else if (!ebbi_known(facts, FACT_RSS) && !ebbi_known(facts, FACT_ANON))
		next = "VmRSS and RssAnon in /proc/PID/status";
	else if (!ebbi_known(facts, FACT_RSS_ANON) && !ebbi_known(facts, FACT_CG_ANON))
		next = "RssAnon, RssFile and RssShmem in /proc/PID/status";
	else if (!ebbi_known(facts, FACT_LIVE))
		next = facts->pid > 0
			       ? "what is live in the allocator: its own statistics (jemalloc's stats.allocated, mi_stats_print), or the same under ebb run"
			       : "what is live in the allocator: malloc_info, jemalloc's stats.allocated, or ebb doctor PID while it runs";
	else
		next = "the application's own ledger, with --ledger";
	snprintf(verdict->next, sizeof(verdict->next), "%s", next);
	rests_on_all(facts, finding);
}

void ebbi_rules_rest(const struct facts *facts, struct verdict *verdict)
{
	if (!too_small(facts, verdict) && !healthy(facts, verdict))
		unknown(facts, verdict);
}
