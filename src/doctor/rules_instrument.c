/* Numbers that cannot be what they are called. */
#include <stdio.h>

#include "doctor/rules.h"

/* No machine has as much. */
#define IMPOSSIBLE ((uint64_t)1 << 50)
#define PAGE_KIB 4u

/* Within so many percent of the larger one. */
static bool near(uint64_t a, uint64_t b, unsigned percent)
{
	return ebbi_share(a < b ? a : b, a < b ? b : a, 100 - percent);
}

static void impossible(const struct facts *facts, struct verdict *verdict)
{
	static const enum fact_id figures[] = {FACT_REPORTED_RSS, FACT_RSS, FACT_RSS_ANON, FACT_HWM, FACT_CG_ANON};
	uint64_t most = ebbi_known(facts, FACT_MEMORY) ? ebbi_fact(facts, FACT_MEMORY) : IMPOSSIBLE;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		uint64_t value = ebbi_fact(facts, figures[i]);
		char amount[AMOUNT_BYTES], memory[AMOUNT_BYTES];
		struct finding *finding;

		if (value <= most)
			continue;
		finding = ebbi_find(verdict, CODE_INSTRUMENT, value, true, "%s cannot be %s: %s%s",
				    ebbi_fact_kinds[figures[i]].title, ebbi_amount(amount, value),
				    most == IMPOSSIBLE ? "no machine has as much" : "the machine has ",
				    most == IMPOSSIBLE ? "" : ebbi_amount(memory, most));
		if (value > IMPOSSIBLE)
			snprintf(finding->note, sizeof(finding->note),
				 "such a number is one below zero that was taken for one without a sign");
		ebbi_rests_on(facts, finding, figures[i]);
		ebbi_rests_on(facts, finding, FACT_MEMORY);
		return;
	}
}

/* What a program reports as its RSS, against what the kernel counts. */
static void reported(const struct facts *facts, struct verdict *verdict)
{
	uint64_t figure = ebbi_fact(facts, FACT_REPORTED_RSS);
	uint64_t truth = ebbi_known(facts, FACT_RSS) ? ebbi_fact(facts, FACT_RSS) : ebbi_fact(facts, FACT_ANON);
	uint64_t anon = ebbi_known(facts, FACT_ANON) ? ebbi_fact(facts, FACT_ANON) : truth;
	char amount[AMOUNT_BYTES], real[AMOUNT_BYTES];
	struct finding *finding;

	if (figure == 0 || truth == 0)
		return;
	if (near(figure * PAGE_KIB, truth, 2) || near(figure * PAGE_KIB, anon, 2)) {
		finding = ebbi_find(verdict, CODE_INSTRUMENT, truth, true,
				    "%s is a count of pages taken for kB: it is %s", ebbi_amount(amount, figure),
				    ebbi_amount(real, figure * PAGE_KIB));
		snprintf(finding->note, sizeof(finding->note),
			 "the kernel's table of tasks counts in pages: multiply by the page size");
	} else if (figure / 2 >= truth && figure - truth >= 64 * MIB) {
		finding = ebbi_find(verdict, CODE_INSTRUMENT, figure - truth, true,
				    "%s is not resident memory, of which there is %s", ebbi_amount(amount, figure),
				    ebbi_amount(real, truth));
		snprintf(finding->note, sizeof(finding->note),
			 "mimalloc's current_rss, for one, is what it committed; read RSS from the kernel");
	} else {
		return;
	}
	ebbi_rests_on(facts, finding, FACT_REPORTED_RSS);
	ebbi_rests_on(facts, finding, FACT_RSS);
	ebbi_rests_on(facts, finding, FACT_RSS_ANON);
}

/* wait4's ru_maxrss begins with the image of whoever forked. */
static void inherited(const struct facts *facts, struct verdict *verdict)
{
	uint64_t figure = ebbi_fact(facts, FACT_MAXRSS), parent = ebbi_fact(facts, FACT_PARENT_RSS);
	uint64_t own = ebbi_known(facts, FACT_HWM) ? ebbi_fact(facts, FACT_HWM) : ebbi_fact(facts, FACT_RSS);
	char amount[AMOUNT_BYTES], of_parent[AMOUNT_BYTES];
	struct finding *finding;

	if (figure == 0 || parent == 0 || !near(figure, parent, 10) || own > figure / 2)
		return;
	finding = ebbi_find(verdict, CODE_INSTRUMENT, figure, true,
			    "ru_maxrss of %s is the parent's image before exec, which had %s",
			    ebbi_amount(amount, figure), ebbi_amount(of_parent, parent));
	snprintf(
		finding->note, sizeof(finding->note),
		"start it from a small launcher, or read VmHWM while it lives: what it needs itself is not known from this");
	ebbi_rests_on(facts, finding, FACT_MAXRSS);
	ebbi_rests_on(facts, finding, FACT_PARENT_RSS);
}

/* An application's total that is more than the process ever had. */
static void drifted(const struct facts *facts, struct verdict *verdict)
{
	uint64_t most = ebbi_fact(facts, FACT_HWM), tracked = ebbi_fact(facts, FACT_TRACKED);
	bool known = ebbi_known(facts, FACT_HWM);
	char amount[AMOUNT_BYTES], peak[AMOUNT_BYTES];
	struct finding *finding;

	if (most < ebbi_fact(facts, FACT_RSS))
		most = ebbi_fact(facts, FACT_RSS);
	/* Without a peak: a ledger may be of addresses that were never touched, but hardly half of it. */
	if (!ebbi_known(facts, FACT_TRACKED) || most == 0 || ebbi_fact(facts, FACT_SWAP) > 0 ||
	    tracked < (known ? most + most / 4 : 2 * most) || tracked - most < 64 * MIB)
		return;
	finding = ebbi_find(verdict, CODE_INSTRUMENT, tracked - most, known,
			    known ? "the ledger says %s, and the process never had more than %s: the ledger drifts"
				  : "the ledger says %s, and %s are resident: it counts what is no memory",
			    ebbi_amount(amount, tracked), ebbi_amount(peak, most));
	if (!known)
		snprintf(verdict->next, sizeof(verdict->next),
			 "VmHWM and VmSwap in /proc/PID/status: did it ever have as much?");
	ebbi_rests_on(facts, finding, FACT_TRACKED);
	ebbi_rests_on(facts, finding, FACT_HWM);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

/* glibc's fordblks counts addresses. */
static void addresses(const struct facts *facts, struct verdict *verdict)
{
	uint64_t held = ebbi_fact(facts, FACT_HELD), rss = ebbi_fact(facts, FACT_RSS);
	char amount[AMOUNT_BYTES], real[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_RSS) || held < HELD_FLOOR || held / 10 * 9 < rss || ebbi_known(facts, FACT_ACTIVE))
		return;
	finding = ebbi_find(verdict, CODE_INSTRUMENT, held - (held < rss ? held : rss), true,
			    "%s free in the allocator are addresses, not memory: %s are resident in all",
			    ebbi_amount(amount, held), ebbi_amount(real, rss));
	snprintf(finding->note, sizeof(finding->note),
		 "take the resident pages among them: ebb doctor PID walks the heap");
	ebbi_rests_on(facts, finding, FACT_HELD);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

static void partial_limit(const struct facts *facts, struct verdict *verdict)
{
	uint64_t peak = ebbi_known(facts, FACT_HWM) ? ebbi_fact(facts, FACT_HWM) : ebbi_fact(facts, FACT_RSS);
	uint64_t limit = ebbi_fact(facts, FACT_APP_LIMIT);
	char bound[AMOUNT_BYTES], more[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_APP_LIMIT_PARTIAL) || limit == 0 || peak <= limit)
		return;
	finding = ebbi_find(verdict, CODE_INSTRUMENT, peak - limit, true,
			    "the limit of %s bounds a part of the process: %s come on top", ebbi_amount(bound, limit),
			    ebbi_amount(more, peak - limit));
	snprintf(finding->note, sizeof(finding->note),
		 "promise the limit and what the process needs beside it, measured: ebb size --sweep");
	ebbi_rests_on(facts, finding, FACT_APP_LIMIT);
	ebbi_rests_on(facts, finding, FACT_HWM);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

void ebbi_rules_instrument(const struct facts *facts, struct verdict *verdict)
{
	impossible(facts, verdict);
	if (!ebbi_found(verdict, CODE_INSTRUMENT))
		reported(facts, verdict);
	inherited(facts, verdict);
	drifted(facts, verdict);
	addresses(facts, verdict);
	partial_limit(facts, verdict);
}
