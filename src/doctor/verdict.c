#include "doctor/verdict.h"

#include <stdio.h>
#include <string.h>

#include "doctor/rules.h"

const struct code_kind ebbi_codes[CODE_COUNT] = {
#define CODE(id, rank, means, remedy, cost, next) {#id, rank, means, remedy, cost, next},
#include "doctor/codes.def"
#undef CODE
};

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
