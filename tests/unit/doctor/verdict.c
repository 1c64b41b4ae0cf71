/* Facts in, verdict out: the edges of the rules, and what holds of any facts whatever. */
#include <stdlib.h>

#include "../seeded.h"
#include "check.h"
#include "doctor/facts.h"
#include "doctor/verdict.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct known {
	enum fact_id id;
	uint64_t value;
};

static struct facts facts;
static struct verdict verdict;

static void forget(void)
{
	memset(&facts, 0, sizeof(facts));
}

static void tell(const struct known *known, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ebbi_fact_set(&facts, known[i].id, known[i].value, "test");
}

static enum code judge(void)
{
	ebbi_facts_derive(&facts);
	ebbi_verdict_make(&facts, &verdict);
	return verdict.findings[0].code;
}

#define TELL(...) \
	tell((const struct known[]){__VA_ARGS__}, sizeof((const struct known[]){__VA_ARGS__}) / sizeof(struct known))
#define WORD(code) ebbi_codes[code].word
#define CHECK_CODE(wanted) CHECK_STR_EQ(WORD(judge()), WORD(CODE_##wanted))

static bool has(enum code code)
{
	for (size_t i = 0; i < verdict.count; i++) {
		if (verdict.findings[i].code == code)
			return true;
	}
	return false;
}

TEST(nothing_known)
{
	forget();
	CHECK_CODE(UNKNOWN);
	CHECK(verdict.next[0] != 0);
}

/* RSS alone blames nobody, whatever it is. */
TEST(rss_alone)
{
	for (uint64_t rss = 64 * MIB; rss < 1024 * GIB; rss *= 3) {
		forget();
		TELL({FACT_RSS, rss});
		CHECK_CODE(UNKNOWN);
		CHECK(verdict.next[0] != 0);
	}
}

/* A frightening ratio is nothing below the floor, and something above it. */
TEST(floors)
{
	forget();
	TELL({FACT_RSS, 15 * MIB}, {FACT_LIVE, MIB}, {FACT_COVERS_ALL, 1});
	CHECK_CODE(TOO_SMALL);
	forget();
	TELL({FACT_RSS, 150 * MIB}, {FACT_LIVE, 10 * MIB}, {FACT_COVERS_ALL, 1});
	CHECK_CODE(ALLOC_RETAINED);
	CHECK(verdict.undecided && has(CODE_ALLOC_FRAGMENTED) && verdict.next[0] != 0);
	forget();
	TELL({FACT_CG_USAGE, 20 * MIB}, {FACT_CG_ANON, 4 * MIB}, {FACT_CG_FILE, 14 * MIB});
	CHECK(judge() != CODE_PAGE_CACHE);
	forget();
	TELL({FACT_CG_USAGE, 2000 * MIB}, {FACT_CG_ANON, 400 * MIB}, {FACT_CG_FILE, 1400 * MIB});
	CHECK_CODE(PAGE_CACHE);
	CHECK_EQ(verdict.findings[0].bytes, 1400 * MIB);
}

/* tmpfs is in the group's page cache, and is not page cache: it cannot be dropped. */
TEST(tmpfs_is_no_cache)
{
	forget();
	TELL({FACT_CG_USAGE, 2000 * MIB}, {FACT_CG_ANON, 400 * MIB}, {FACT_CG_FILE, 1500 * MIB},
	     {FACT_CG_SHMEM, 1450 * MIB});
	CHECK_CODE(SHMEM);
	CHECK(!has(CODE_PAGE_CACHE));
}

/* Pages of jemalloc: what is above active can go back, what is between live and active cannot; its own records neither. */
TEST(pages_of_an_allocator)
{
	forget();
	TELL({FACT_LIVE, 1000 * MIB}, {FACT_ACTIVE, 1020 * MIB}, {FACT_RESIDENT, 1500 * MIB},
	     {FACT_METADATA, 30 * MIB});
	CHECK_CODE(ALLOC_RETAINED);
	CHECK_EQ(verdict.findings[0].gain_bytes, 450 * MIB);
	CHECK(!has(CODE_ALLOC_FRAGMENTED));
	forget();
	TELL({FACT_LIVE, 1000 * MIB}, {FACT_ACTIVE, 1900 * MIB}, {FACT_RESIDENT, 1920 * MIB}, {FACT_METADATA, 19 * MIB},
	     {FACT_RETAINED, 40 * GIB});
	CHECK_CODE(ALLOC_FRAGMENTED);
	CHECK(!has(CODE_ALLOC_RETAINED));
	CHECK_EQ(verdict.findings[0].bytes, 900 * MIB);
}

/* What glibc calls free is addresses: more than RSS of it is no memory. */
TEST(addresses_are_no_memory)
{
	forget();
	TELL({FACT_RSS, 30 * MIB}, {FACT_SYSTEM, 600 * MIB}, {FACT_HELD, 590 * MIB});
	CHECK_CODE(INSTRUMENT);
	CHECK(!has(CODE_ALLOC_RETAINED) && !has(CODE_ALLOC_FRAGMENTED));
}

/* Most of anonymous memory never went through the allocator that tells. */
TEST(past_the_allocator)
{
	forget();
	snprintf(facts.allocator, sizeof(facts.allocator), "jemalloc");
	TELL({FACT_RSS_ANON, 4 * GIB}, {FACT_LIVE, 300 * MIB}, {FACT_ACTIVE, 310 * MIB}, {FACT_RESIDENT, 320 * MIB});
	CHECK_CODE(SECOND_ALLOCATOR);
	CHECK_EQ(verdict.findings[0].bytes, 4 * GIB - 320 * MIB);
	CHECK(verdict.next[0] != 0);
}

/* Huge pages under what is live are no finding; under what nobody names they may be. */
TEST(huge_pages)
{
	forget();
	TELL({FACT_RSS_ANON, 4 * GIB}, {FACT_ANON_HUGE, 3 * GIB}, {FACT_LIVE, 3900 * MIB}, {FACT_THP_ALWAYS, 1});
	CHECK_CODE(HEALTHY);
	forget();
	TELL({FACT_RSS_ANON, 4 * GIB}, {FACT_ANON_HUGE, 3 * GIB}, {FACT_THP_ALWAYS, 1});
	CHECK_CODE(THP);
	CHECK(!verdict.findings[0].certain && verdict.next[0] != 0);
}

TEST(many_threads)
{
	forget();
	TELL({FACT_RSS, 6 * GIB}, {FACT_THREADS, 4000}, {FACT_THP_ALWAYS, 1});
	CHECK_CODE(STACKS);
	CHECK(has(CODE_THP) && verdict.next[0] != 0);
	/* Without huge pages no stack is as large by itself. */
	forget();
	TELL({FACT_RSS, 6 * GIB}, {FACT_THREADS, 4000});
	CHECK_CODE(UNKNOWN);
}

TEST(ledgers)
{
	forget();
	TELL({FACT_RSS, 900 * MIB}, {FACT_HWM, 950 * MIB});
	facts.ledger[facts.ledger_count++] = (struct ledger_entry){.name = "tracked", .bytes = 9 * GIB, .total = true};
	CHECK_CODE(INSTRUMENT);
	CHECK(verdict.findings[0].certain);
	/* Of a process of which no peak is known, it is likely. */
	facts.all[FACT_HWM].known = false;
	facts.all[FACT_TRACKED].known = facts.all[FACT_LEDGER].known = false;
	CHECK_CODE(INSTRUMENT);
	CHECK(!verdict.findings[0].certain && verdict.next[0] != 0);
}

TEST(limits)
{
	forget();
	TELL({FACT_CG_LIMIT, 256 * MIB}, {FACT_CG_ANON, 246 * MIB}, {FACT_CG_KILLS, 3}, {FACT_LIVE, 240 * MIB});
	CHECK_CODE(CAP_BELOW_FLOOR);
	/* Nobody was killed, and there is room. */
	facts.all[FACT_CG_KILLS].known = false;
	CHECK(judge() != CODE_CAP_BELOW_FLOOR);
	/* Addresses that are live and not resident fill no limit. */
	forget();
	TELL({FACT_CG_LIMIT, 256 * MIB}, {FACT_CG_ANON, 100 * MIB}, {FACT_CG_KILLS, 3}, {FACT_LIVE, 240 * MIB});
	CHECK(judge() != CODE_CAP_BELOW_FLOOR);
}

TEST(growth_without_a_ledger)
{
	forget();
	TELL({FACT_RSS_ANON, 2 * GIB}, {FACT_LIVE, 2000 * MIB});
	for (size_t i = 0; i < 6; i++)
		facts.moments[facts.moment_count++] =
			(struct moment){.at_s = (double)i * 60, .live_bytes = (500 + 300 * i) * MIB};
	CHECK_CODE(LIVE_UNEXPLAINED);
	/* It went down once: that is work, not growth. */
	facts.moments[3].live_bytes = 400 * MIB;
	CHECK_CODE(HEALTHY);
}

/* --- Anything -------------------------------------------------------------------------------- */

static uint64_t any_size(uint64_t *state)
{
	return seeded_next(state) >> seeded_below(state, 64);
}

static void any_facts(uint64_t *state)
{
	static const char *const allocators[] = {"glibc", "jemalloc", "go", "mimalloc"};

	forget();
	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		if (seeded_below(state, 4) == 0 && ebbi_fact_kinds[id].group[0])
			ebbi_fact_set(&facts, id, ebbi_fact_kinds[id].unit == UNIT_FLAG ? 1 : any_size(state), "test");
	}
	for (size_t i = seeded_below(state, 3); i > 0; i--)
		ebbi_facts_add_allocator(&facts, allocators[seeded_below(state, 4)]);
	for (size_t i = seeded_below(state, 4); i > 0; i--)
		facts.ledger[facts.ledger_count++] = (struct ledger_entry){.name = "part",
									   .bytes = any_size(state),
									   .growing = i % 2,
									   .total = seeded_below(state, 4) == 0};
	for (size_t i = seeded_below(state, 6); i > 0; i--)
		ebbi_facts_add_process(&facts, "worker", any_size(state), seeded_below(state, 2) ? any_size(state) : 0);
	for (size_t i = seeded_below(state, 5); i > 0; i--)
		facts.moments[facts.moment_count++] =
			(struct moment){.at_s = 1, .rss_bytes = any_size(state), .live_bytes = any_size(state)};
}

/* Nobody tried anything here: each finding must rest on facts that are known, and these must be of the kind it is about. */
static void check_any(void)
{
	bool tells = ebbi_known(&facts, FACT_LIVE) || ebbi_known(&facts, FACT_FREE) ||
		     ebbi_known(&facts, FACT_ACTIVE) || ebbi_known(&facts, FACT_RETURNABLE) ||
		     ebbi_known(&facts, FACT_FRAGMENTED);

	REQUIRE(verdict.count > 0 && verdict.count <= FINDINGS_MOST);
	for (size_t i = 0; i < verdict.count; i++) {
		const struct finding *finding = &verdict.findings[i];

		CHECK(finding->evidence_count > 0 || finding->code == CODE_UNKNOWN);
		for (size_t k = 0; k < finding->evidence_count; k++)
			CHECK(ebbi_known(&facts, finding->evidence[k]));
		CHECK(memchr(finding->says, 0, sizeof(finding->says)) && finding->says[0]);
		if (finding->code == CODE_ALLOC_RETAINED || finding->code == CODE_ALLOC_FRAGMENTED)
			CHECK(tells);
		for (size_t k = 0; k < i; k++)
			CHECK_NE(verdict.findings[k].code, finding->code);
	}
	if (verdict.findings[0].code == CODE_UNKNOWN)
		CHECK(verdict.next[0]);
}

TEST(any_facts_at_all)
{
	uint64_t state = 5;

	for (int i = 0; i < 40000; i++) {
		any_facts(&state);
		judge();
		check_any();
	}
}

int main(void)
{
	RUN(nothing_known);
	RUN(rss_alone);
	RUN(floors);
	RUN(tmpfs_is_no_cache);
	RUN(pages_of_an_allocator);
	RUN(addresses_are_no_memory);
	RUN(past_the_allocator);
	RUN(huge_pages);
	RUN(many_threads);
	RUN(ledgers);
	RUN(limits);
	RUN(growth_without_a_ledger);
	RUN(any_facts_at_all);
	return check_report();
}
