/* What the kernel counts: shares of the group and of RSS, data files, stacks, forks, limits. */
#include <stdio.h>

#include "doctor/rules.h"

static const struct share_kind {
	enum code code;
	enum fact_id part;
	enum fact_id whole;
	unsigned percent;
	unsigned floor_mib;
	const char *says;
} shares[] = {
#define SHARE(code, part, whole, percent, floor_mib, says) \
	{CODE_##code, FACT_##part, FACT_##whole, percent, floor_mib, says},
#include "doctor/shares.def"
#undef SHARE
};

static void share(const struct facts *facts, struct verdict *verdict, const struct share_kind *kind)
{
	uint64_t part = ebbi_fact(facts, kind->part), whole = ebbi_fact(facts, kind->whole);
	char amount[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, kind->part) || !ebbi_known(facts, kind->whole) || part < kind->floor_mib * MIB ||
	    !ebbi_share(part, whole, kind->percent))
		return;
	finding = ebbi_find(verdict, kind->code, part, true, "%s %s", ebbi_amount(amount, part), kind->says);
	ebbi_rests_on(facts, finding, kind->part);
	ebbi_rests_on(facts, finding, kind->whole);
	if (kind->code == CODE_PAGE_CACHE) {
		ebbi_rests_on(facts, finding, FACT_CG_ANON);
		ebbi_rests_on(facts, finding, FACT_CG_ACTIVE);
		ebbi_rests_on(facts, finding, FACT_CG_FILE_DIRTY);
	}
	if (kind->code == CODE_LAZYFREE)
		snprintf(finding->note, sizeof(finding->note), "without it RSS is %s",
			 ebbi_amount(amount, whole > part ? whole - part : 0));
	if (kind->code == CODE_SOCK || kind->code == CODE_KERNEL_SLAB)
		ebbi_rests_on(facts, finding, FACT_CG_LIMIT);
}

/* "Working set", usage less inactive page cache, still counts the active one. */
static void note_working_set(const struct facts *facts, struct verdict *verdict)
{
	char active[AMOUNT_BYTES], set[AMOUNT_BYTES];

	for (size_t i = 0; i < verdict->count; i++) {
		uint64_t inactive = ebbi_fact(facts, FACT_CG_INACTIVE), usage = ebbi_fact(facts, FACT_CG_USAGE);

		if (verdict->findings[i].code != CODE_PAGE_CACHE || !ebbi_known(facts, FACT_CG_INACTIVE) ||
		    !ebbi_known(facts, FACT_CG_ACTIVE) || usage < inactive)
			continue;
		snprintf(verdict->findings[i].note, FINDING_TEXT,
			 "the \"working set\", usage less inactive cache, still says %s: %s of it are active cache",
			 ebbi_amount(set, usage - inactive), ebbi_amount(active, ebbi_fact(facts, FACT_CG_ACTIVE)));
	}
}

static void data_files(const struct facts *facts, struct verdict *verdict)
{
	uint64_t data = ebbi_fact(facts, FACT_FILE_DATA), rss = ebbi_fact(facts, FACT_RSS);
	uint64_t file = ebbi_fact(facts, FACT_RSS_FILE), objects = ebbi_fact(facts, FACT_OBJECTS);
	bool by_mapping = data >= HELD_FLOOR && ebbi_share(data, rss, 25);
	/* Few binaries with their libraries are as large: likely, and smaps would tell. */
	bool by_size = file >= 192 * MIB && ebbi_share(file, rss, 50);
	char amount[AMOUNT_BYTES], dirty[AMOUNT_BYTES], own[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_RSS) || (!by_mapping && !by_size))
		return;
	/* Where only some of the mappings are known, the kernel's sum tells of the others. */
	if (by_size && file - (objects < file ? objects : file) > data)
		data = file - objects;
	finding = ebbi_find(verdict, CODE_FILE_MMAP, data, by_mapping, "%s of mapped data files",
			    ebbi_amount(amount, data));
	if (ebbi_known(facts, FACT_ANON))
		snprintf(finding->says, sizeof(finding->says),
			 "%s of mapped data files, which the kernel can take back; the program's own memory is %s",
			 amount, ebbi_amount(own, ebbi_fact(facts, FACT_ANON)));
	if (ebbi_fact(facts, FACT_FILE_DATA_DIRTY) > 0)
		snprintf(finding->note, sizeof(finding->note), "%s of it must be written first",
			 ebbi_amount(dirty, ebbi_fact(facts, FACT_FILE_DATA_DIRTY)));
	ebbi_rests_on(facts, finding, FACT_RSS_FILE);
	ebbi_rests_on(facts, finding, FACT_FILE_DATA);
	ebbi_rests_on(facts, finding, FACT_RSS_ANON);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

/* Stacks told by their number alone, and huge pages in them. */
static void stacks(const struct facts *facts, struct verdict *verdict)
{
	uint64_t threads = ebbi_fact(facts, FACT_THREADS), each = ebbi_fact(facts, FACT_STACK_EACH);
	uint64_t rss = ebbi_fact(facts, FACT_RSS), all;
	char amount[AMOUNT_BYTES], one[AMOUNT_BYTES];
	struct finding *finding;

	if (threads < 32 || each == 0 || rss == 0 || ebbi_found(verdict, CODE_STACKS))
		return;
	if (__builtin_mul_overflow(threads, each, &all) || !ebbi_share(all, rss, 50))
		return;
	all = all < rss ? all : rss;
	finding = ebbi_find(verdict, CODE_STACKS, all, true,
			    "%llu threads with up to %s resident in each stack: up to %s", (unsigned long long)threads,
			    ebbi_amount(one, each), ebbi_amount(amount, all));
	snprintf(finding->note, sizeof(finding->note), "RSS is %s a thread", ebbi_amount(one, rss / threads));
	ebbi_rests_on(facts, finding, FACT_THREADS);
	ebbi_rests_on(facts, finding, FACT_STACK_EACH);
	ebbi_rests_on(facts, finding, FACT_RSS);
}

/* Where nearly all is live or named, huge pages are only what it lies on. */
static bool explained(const struct facts *facts, uint64_t anon)
{
	uint64_t live = ebbi_fact(facts, FACT_LIVE), named = ebbi_fact(facts, FACT_LEDGER);

	return ebbi_share(live > named ? live : named, anon, 75);
}

/*
 * Of very many threads, what each costs is all that is known. With huge pages everywhere a stack of a MiB or two is resident
 * as a whole; without, none is as large, and it is something else.
 */
static void stacks_by_count(const struct facts *facts, struct verdict *verdict)
{
	uint64_t threads = ebbi_fact(facts, FACT_THREADS), rss = ebbi_fact(facts, FACT_RSS);
	char one[AMOUNT_BYTES];
	struct finding *finding;

	if (threads < 512 || !ebbi_fact(facts, FACT_THP_ALWAYS) || ebbi_found(verdict, CODE_STACKS) ||
	    ebbi_known(facts, FACT_STACKS) || rss / threads < MIB / 2 || rss / threads > 8 * MIB)
		return;
	if (ebbi_share(ebbi_fact(facts, FACT_LIVE), rss, 50) || ebbi_share(ebbi_fact(facts, FACT_LEDGER), rss, 50))
		return;
	finding = ebbi_find(verdict, CODE_STACKS, rss, false,
			    "%llu threads, and %s of RSS a thread, with huge pages set to always",
			    (unsigned long long)threads, ebbi_amount(one, rss / threads));
	ebbi_rests_on(facts, finding, FACT_THREADS);
	ebbi_rests_on(facts, finding, FACT_RSS);
	ebbi_rests_on(facts, finding, FACT_THP_ALWAYS);
}

static void huge_pages(const struct facts *facts, struct verdict *verdict)
{
	uint64_t huge = ebbi_fact(facts, FACT_ANON_HUGE), anon = ebbi_fact(facts, FACT_ANON);
	uint64_t each = ebbi_fact(facts, FACT_STACK_EACH);
	char amount[AMOUNT_BYTES];
	struct finding *finding = NULL;

	if (ebbi_known(facts, FACT_ANON) && huge >= 64 * MIB && ebbi_share(huge, anon, 25) && !explained(facts, anon)) {
		/* That they are huge does not say that nobody touched them. */
		finding = ebbi_find(verdict, CODE_THP, 0, false,
				    "%s in huge pages: up to a huge page of each touched spot is resident",
				    ebbi_amount(amount, huge));
		ebbi_rests_on(facts, finding, FACT_ANON_HUGE);
		ebbi_rests_on(facts, finding, FACT_RSS_ANON);
	} else if (ebbi_fact(facts, FACT_THP_ALWAYS) && ebbi_found(verdict, CODE_STACKS) &&
		   (each >= MIB || !ebbi_known(facts, FACT_STACK_EACH))) {
		finding = ebbi_find(verdict, CODE_THP, 0, false,
				    "huge pages are set to always: a stack that is touched once is resident whole");
		ebbi_rests_on(facts, finding, FACT_STACK_EACH);
	}
	if (finding)
		ebbi_rests_on(facts, finding, FACT_THP_ALWAYS);
}

static void shared_twice(const struct facts *facts, struct verdict *verdict)
{
	uint64_t sum = ebbi_fact(facts, FACT_SUM_OF_RSS), pss = ebbi_fact(facts, FACT_SUM_OF_PSS);
	uint64_t memory = ebbi_fact(facts, FACT_MEMORY);
	char amount[AMOUNT_BYTES], other[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_SUM_OF_RSS))
		return;
	if (pss > 0 && sum > pss && sum - pss >= 64 * MIB && ebbi_share(sum - pss, sum, 30))
		finding = ebbi_find(verdict, CODE_SHARED_TWICE, sum - pss, true,
				    "the RSS of all processes sums up to %s, what they have to %s (PSS)",
				    ebbi_amount(amount, sum), ebbi_amount(other, pss));
	else if (memory > 0 && sum > memory)
		finding = ebbi_find(
			verdict, CODE_SHARED_TWICE, sum - memory, true,
			"the RSS of all processes sums up to %s, more than the machine's %s: shared pages are counted in each",
			ebbi_amount(amount, sum), ebbi_amount(other, memory));
	else
		return;
	if (ebbi_fact(facts, FACT_RSS_SHMEM) > 0)
		snprintf(finding->note, sizeof(finding->note), "count the shared %s once, and add what is private",
			 ebbi_amount(amount, ebbi_fact(facts, FACT_RSS_SHMEM)));
	ebbi_rests_on(facts, finding, FACT_SUM_OF_RSS);
	ebbi_rests_on(facts, finding, FACT_SUM_OF_PSS);
	ebbi_rests_on(facts, finding, FACT_MEMORY);
}

static void copied(const struct facts *facts, struct verdict *verdict)
{
	uint64_t bytes = ebbi_fact(facts, FACT_COPIED);
	char amount[AMOUNT_BYTES];
	struct finding *finding;

	if (bytes < 64 * MIB || (ebbi_known(facts, FACT_RSS) && !ebbi_share(bytes, ebbi_fact(facts, FACT_RSS), 10)))
		return;
	finding = ebbi_find(verdict, CODE_COW_FORK, bytes, true,
			    "%s were copied while a forked child lived: the peak is parent and copies together",
			    ebbi_amount(amount, bytes));
	ebbi_rests_on(facts, finding, FACT_COPIED);
	ebbi_rests_on(facts, finding, FACT_LEDGER);
}

/* A small request refused at a limit that rest alone has reached. */
static void cap(const struct facts *facts, struct verdict *verdict)
{
	uint64_t limit = ebbi_fact(facts, FACT_APP_LIMIT), rss = ebbi_fact(facts, FACT_RSS);
	uint64_t refused = ebbi_fact(facts, FACT_REFUSED), tracked = ebbi_fact(facts, FACT_TRACKED);
	char bound[AMOUNT_BYTES], now[AMOUNT_BYTES], request[AMOUNT_BYTES];
	struct finding *finding;

	if (!ebbi_known(facts, FACT_REFUSED) || limit == 0 || rss == 0 || !ebbi_share(rss, limit, 95) ||
	    ebbi_share(refused, limit, 10) || (ebbi_known(facts, FACT_TRACKED) && ebbi_share(tracked, limit, 60)))
		return;
	finding = ebbi_find(verdict, CODE_CAP_BELOW_FLOOR, rss, true,
			    "a limit of %s, of which the process fills %s before it works: a request of %s is refused",
			    ebbi_amount(bound, limit), ebbi_amount(now, rss), ebbi_amount(request, refused));
	ebbi_rests_on(facts, finding, FACT_APP_LIMIT);
	ebbi_rests_on(facts, finding, FACT_RSS);
	ebbi_rests_on(facts, finding, FACT_REFUSED);
	ebbi_rests_on(facts, finding, FACT_TRACKED);
}

/* Binary, libraries, stacks and what is live are there whatever is done, and no page of them can be dropped. */
static void group_cap(const struct facts *facts, struct verdict *verdict)
{
	uint64_t limit = ebbi_fact(facts, FACT_CG_LIMIT), live = ebbi_fact(facts, FACT_LIVE);
	uint64_t floor = live + ebbi_fact(facts, FACT_STACKS);
	char bound[AMOUNT_BYTES], least[AMOUNT_BYTES];
	struct finding *finding;

	/* Live addresses that were never touched need no memory; a group that kills has no room left for anything else. */
	bool resident = live <= ebbi_fact(facts, FACT_ANON) || live <= ebbi_fact(facts, FACT_RSS);
	unsigned most = ebbi_fact(facts, FACT_CG_KILLS) > 0 || ebbi_fact(facts, FACT_KILLED) > 0 ? 90 : 97;

	if (!ebbi_known(facts, FACT_CG_LIMIT) || live == 0 || floor < live || !ebbi_share(floor, limit, most) ||
	    !resident)
		return;
	finding = ebbi_find(verdict, CODE_CAP_BELOW_FLOOR, floor, true, "a limit of %s, and %s are live",
			    ebbi_amount(bound, limit), ebbi_amount(least, floor));
	ebbi_rests_on(facts, finding, FACT_CG_LIMIT);
	ebbi_rests_on(facts, finding, FACT_LIVE);
	ebbi_rests_on(facts, finding, FACT_STACKS);
}

void ebbi_rules_kernel(const struct facts *facts, struct verdict *verdict)
{
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		share(facts, verdict, &shares[i]);
	note_working_set(facts, verdict);
	data_files(facts, verdict);
	stacks(facts, verdict);
	stacks_by_count(facts, verdict);
	huge_pages(facts, verdict);
	shared_twice(facts, verdict);
	copied(facts, verdict);
	cap(facts, verdict);
	group_cap(facts, verdict);
}
