#include "doctor/facts.h"

#include <stdio.h>
#include <string.h>

#include "observe/text.h"

const struct fact_kind ebbi_fact_kinds[FACT_COUNT] = {
#define FACT(id, group, key, unit, title) {group, key, UNIT_##unit, title},
#include "doctor/facts.def"
#undef FACT
};

void ebbi_fact_set(struct facts *facts, enum fact_id id, uint64_t value, const char *source)
{
	struct fact *fact = &facts->all[id];

	if (fact->known)
		return;
	fact->known = true;
	fact->value = value;
	snprintf(fact->source, sizeof(fact->source), "%s", source);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t total;

	return __builtin_add_overflow(a, b, &total) ? UINT64_MAX : total;
}

/* id = a - b, when both are known. */
static void difference(struct facts *facts, enum fact_id id, enum fact_id a, enum fact_id b)
{
	char source[32];

	if (!ebbi_known(facts, a) || !ebbi_known(facts, b))
		return;
	snprintf(source, sizeof(source), "%.15s, %.14s", facts->all[a].source, facts->all[b].source);
	if (strcmp(facts->all[a].source, facts->all[b].source) == 0)
		snprintf(source, sizeof(source), "%s", facts->all[a].source);
	ebbi_fact_set(facts, id, less(ebbi_fact(facts, a), ebbi_fact(facts, b)), source);
}

static void copy(struct facts *facts, enum fact_id id, enum fact_id from)
{
	if (ebbi_known(facts, from))
		ebbi_fact_set(facts, id, ebbi_fact(facts, from), facts->all[from].source);
}

static void derive_process(struct facts *facts)
{
	uint64_t parts = sum(sum(ebbi_fact(facts, FACT_RSS_ANON), ebbi_fact(facts, FACT_RSS_FILE)),
			     ebbi_fact(facts, FACT_RSS_SHMEM));

	if (ebbi_known(facts, FACT_RSS_ANON) && (ebbi_known(facts, FACT_RSS_FILE) || ebbi_known(facts, FACT_KILLED)))
		ebbi_fact_set(facts, FACT_RSS, parts, facts->all[FACT_RSS_ANON].source);
	copy(facts, FACT_ANON, FACT_RSS_ANON);
	if (ebbi_known(facts, FACT_RSS_FILE))
		difference(facts, FACT_ANON, FACT_RSS, FACT_RSS_FILE);
	copy(facts, FACT_ANON, FACT_CG_ANON);
}

/* What the group's figures leave open. Its page cache counts tmpfs, too. */
static void derive_group(struct facts *facts)
{
	if (ebbi_known(facts, FACT_CG_FILE)) {
		uint64_t mapped = ebbi_fact(facts, FACT_CG_FILE_MAPPED), tmpfs = ebbi_fact(facts, FACT_CG_SHMEM);
		uint64_t cache = less(ebbi_fact(facts, FACT_CG_FILE), sum(mapped, tmpfs));

		ebbi_fact_set(facts, FACT_UNMAPPED_CACHE, cache, facts->all[FACT_CG_FILE].source);
	}
	copy(facts, FACT_KERNEL_SLAB, FACT_CG_SLAB_RECLAIMABLE);
	copy(facts, FACT_KERNEL_SLAB, FACT_CG_SLAB);
	copy(facts, FACT_KERNEL_SLAB, FACT_CG_KERNEL);
	copy(facts, FACT_SHARED, FACT_CG_SHMEM);
	copy(facts, FACT_SHARED, FACT_RSS_SHMEM);
	copy(facts, FACT_TOTAL, FACT_CG_USAGE);
	copy(facts, FACT_TOTAL, FACT_RSS);
	copy(facts, FACT_TOTAL, FACT_ANON);
}

/* jemalloc's pages: resident > active > live. glibc's: system > live. */
static void derive_allocator(struct facts *facts)
{
	difference(facts, FACT_FRAGMENTED, FACT_ACTIVE, FACT_LIVE);
	if (ebbi_known(facts, FACT_RESIDENT) && ebbi_known(facts, FACT_ACTIVE)) {
		uint64_t more = less(ebbi_fact(facts, FACT_RESIDENT), ebbi_fact(facts, FACT_ACTIVE));

		ebbi_fact_set(facts, FACT_HELD, more, facts->all[FACT_RESIDENT].source);
		ebbi_fact_set(facts, FACT_RETURNABLE, less(more, ebbi_fact(facts, FACT_METADATA)),
			      facts->all[FACT_RESIDENT].source);
	}
	copy(facts, FACT_RETURNABLE, FACT_TRIMMABLE);
	copy(facts, FACT_FRAGMENTED, FACT_PINNED);
	copy(facts, FACT_FREE, FACT_HELD);
	difference(facts, FACT_FREE, FACT_SYSTEM, FACT_LIVE);
	if (ebbi_known(facts, FACT_COVERS_ALL)) {
		difference(facts, FACT_FREE, FACT_ANON, FACT_LIVE);
		difference(facts, FACT_FREE, FACT_RSS, FACT_LIVE);
	}
}

static void derive_ledger(struct facts *facts)
{
	uint64_t parts = 0;
	size_t part_count = 0;

	for (size_t i = 0; i < facts->ledger_count; i++) {
		if (facts->ledger[i].total) {
			ebbi_fact_set(facts, FACT_TRACKED, facts->ledger[i].bytes, facts->ledger[i].name);
			continue;
		}
		parts = sum(parts, facts->ledger[i].bytes);
		part_count++;
	}
	if (part_count > 0)
		ebbi_fact_set(facts, FACT_LEDGER, parts, "ledger");
	copy(facts, FACT_LEDGER, FACT_TRACKED);
}

void ebbi_facts_derive(struct facts *facts)
{
	derive_process(facts);
	derive_group(facts);
	derive_allocator(facts);
	derive_ledger(facts);
	if (facts->process_count > 1) {
		ebbi_fact_set(facts, FACT_SUM_OF_RSS, facts->process_rss_bytes, "processes");
		if (facts->process_pss_bytes > 0)
			ebbi_fact_set(facts, FACT_SUM_OF_PSS, facts->process_pss_bytes, "processes");
	}
}

bool ebbi_facts_has_allocator(const struct facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->allocator_count; i++) {
		if (strcmp(facts->allocators[i], name) == 0)
			return true;
	}
	return false;
}

void ebbi_facts_add_allocator(struct facts *facts, const char *name)
{
	if (ebbi_facts_has_allocator(facts, name) || facts->allocator_count == FACTS_ALLOCATORS)
		return;
	snprintf(facts->allocators[facts->allocator_count], sizeof(facts->allocators[0]), "%s", name);
	ebbi_text_clean(facts->allocators[facts->allocator_count++]);
}

void ebbi_facts_add_process(struct facts *facts, const char *name, uint64_t rss_bytes, uint64_t pss_bytes)
{
	bool all_known = facts->process_count == 0 || facts->process_pss_bytes > 0;

	if (facts->process_count < FACTS_PROCESSES) {
		struct process_fact *process = &facts->processes[facts->process_count];

		snprintf(process->name, sizeof(process->name), "%s", name);
		ebbi_text_clean(process->name);
		process->rss_bytes = rss_bytes;
		process->pss_bytes = pss_bytes;
	}
	facts->process_count++;
	facts->process_rss_bytes = sum(facts->process_rss_bytes, rss_bytes);
	facts->process_pss_bytes = all_known && pss_bytes > 0 ? sum(facts->process_pss_bytes, pss_bytes) : 0;
}
