#include "doctor/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "doctor/rules.h"

const struct code_kind ebbi_codes[CODE_COUNT] = {
#define CODE(id, rank, means, remedy, cost, next) {#id, rank, means, remedy, cost, next},
#include "doctor/codes.def"
#undef CODE
};

const char *ebbi_amount(char *ret_text, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t unit = 0;

	while (value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(ret_text, AMOUNT_BYTES, "%.*f %s", value < 10 && unit > 0 ? 2 : 1, value, units[unit]);
	return ret_text;
}

struct finding *ebbi_find(struct verdict *verdict, enum code code, uint64_t bytes, bool certain, const char *format,
			  ...)
{
	/* The last place is written again and again when there is no more room. */
	struct finding *finding = &verdict->findings[verdict->count];
	va_list arguments;

	if (verdict->count + 1 < FINDINGS_MOST)
		verdict->count++;
	*finding = (struct finding){.code = code, .bytes = bytes, .certain = certain};
	va_start(arguments, format);
	vsnprintf(finding->says, sizeof(finding->says), format, arguments);
	va_end(arguments);
	return finding;
}

void ebbi_rests_on(const struct facts *facts, struct finding *finding, enum fact_id id)
{
	if (ebbi_known(facts, id) && finding->evidence_count < FINDING_EVIDENCE)
		finding->evidence[finding->evidence_count++] = id;
}

bool ebbi_found(const struct verdict *verdict, enum code code)
{
	for (size_t i = 0; i < verdict->count; i++) {
		if (verdict->findings[i].code == code)
			return true;
	}
	return false;
}

static bool before(const struct finding *a, const struct finding *b)
{
	if (ebbi_codes[a->code].rank != ebbi_codes[b->code].rank)
		return ebbi_codes[a->code].rank < ebbi_codes[b->code].rank;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes;
	return a->certain && !b->certain;
}

/* Few, and those that are equal stay in the order of the rules. */
static void sort(struct verdict *verdict)
{
	for (size_t i = 1; i < verdict->count; i++) {
		for (size_t k = i; k > 0 && before(&verdict->findings[k], &verdict->findings[k - 1]); k--) {
			struct finding held = verdict->findings[k];

			verdict->findings[k] = verdict->findings[k - 1];
			verdict->findings[k - 1] = held;
		}
	}
}

/* One code once: the heaviest of those that are certain, or else the heaviest. */
static void unite(struct verdict *verdict)
{
	size_t kept = 0;

	for (size_t i = 0; i < verdict->count; i++) {
		const struct finding *finding = &verdict->findings[i];
		size_t k = 0;

		while (k < kept && verdict->findings[k].code != finding->code)
			k++;
		if (k == kept || (finding->certain && !verdict->findings[k].certain))
			verdict->findings[k] = *finding;
		kept += k == kept;
	}
	verdict->count = kept;
}

/* Where active ends and resident begins is where pinned ends and returnable begins. */
#define JEMALLOC_NEXT \
	"stats.active and stats.resident of jemalloc (redis: allocator_active and allocator_resident in INFO memory)"

static void choose_next(const struct facts *facts, struct verdict *verdict)
{
	const struct finding *first = &verdict->findings[0];
	bool of_pages = first->code == CODE_ALLOC_RETAINED || first->code == CODE_ALLOC_FRAGMENTED;

	if (verdict->next[0] == 0 && !first->certain)
		snprintf(verdict->next, sizeof(verdict->next), "%s",
			 of_pages && ebbi_facts_has_allocator(facts, "jemalloc") ? JEMALLOC_NEXT
										 : ebbi_codes[first->code].next);
	verdict->undecided = verdict->count > 1 && !first->certain && !verdict->findings[1].certain &&
			     first->bytes == verdict->findings[1].bytes && first->code == CODE_ALLOC_RETAINED &&
			     verdict->findings[1].code == CODE_ALLOC_FRAGMENTED;
}

void ebbi_verdict_make(const struct facts *facts, struct verdict *ret_verdict)
{
	*ret_verdict = (struct verdict){0};
	ebbi_rules_instrument(facts, ret_verdict);
	ebbi_rules_kernel(facts, ret_verdict);
	ebbi_rules_tried(facts, ret_verdict);
	ebbi_rules_allocator(facts, ret_verdict);
	ebbi_rules_live(facts, ret_verdict);
	if (ret_verdict->count == 0)
		ebbi_rules_rest(facts, ret_verdict);
	sort(ret_verdict);
	unite(ret_verdict);
	sort(ret_verdict);
	choose_next(facts, ret_verdict);
}
