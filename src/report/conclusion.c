#include "report/conclusion.h"

#include <math.h>
#include <string.h>

#include "report/effect.h"

#define CHANCE_MOST 0.05
/* Less than this is nothing to anybody, whatever its chance. */
#define SHARE_LEAST 0.01
#define BYTES_LEAST 262144.0
#define SECONDS_LEAST 0.01
/* Values that lie within this share of the lowest median are close together; CPU times of the same work vary more. */
#define SHARE_CLOSE 0.03
#define SHARE_CLOSE_CPU 0.06
/* The least chance there is with 3 and 3 runs: more than CHANCE_MOST. */
#define RUNS_LEAST 4

struct contest {
	const struct comparison *comparison;
	const char *generation;
	enum figure figure;
	double least; /* differences below it are none */
};

static const struct group *entrant(const struct contest *contest, size_t i)
{
	const struct group *group = contest->comparison->groups[i];
	bool in = strcmp(group->generation, contest->generation) == 0 && group->series[contest->figure].count > 0;

	return in ? group : NULL;
}

static double median(const struct contest *contest, const struct group *group)
{
	return ebbi_series_median(&group->series[contest->figure]);
}

static double least_of(const struct contest *contest, double base)
{
	return ebbi_larger(contest->least, base * SHARE_LEAST);
}

enum relation { RELATION_HIGHER, RELATION_SAME, RELATION_UNSURE };

/* How `other` stands to `best`, whose median is not above its own. */
static enum relation relation_of(const struct contest *contest, const struct group *best, const struct group *other)
{
	const struct series *a = &best->series[contest->figure], *b = &other->series[contest->figure];
	struct effect effect = ebbi_effect(a, b);
	double least = least_of(contest, median(contest, best));
	double spread = ebbi_larger(ebbi_series_most(a), ebbi_series_most(b)) -
			ebbi_smaller(ebbi_series_least(a), ebbi_series_least(b));
	double close = contest->figure == FIGURE_CPU ? SHARE_CLOSE_CPU : SHARE_CLOSE;
	bool few = a->count < RUNS_LEAST || b->count < RUNS_LEAST;
	bool parted = effect.chance <= CHANCE_MOST || (few && ebbi_series_apart(a, b));

	if (parted && effect.shift > least)
		return RELATION_HIGHER;
	if (parted || spread <= ebbi_larger(contest->least, median(contest, best) * close))
		return RELATION_SAME;
	return RELATION_UNSURE;
}

static const struct group *lowest(const struct contest *contest, size_t *ret_entrants)
{
	const struct group *best = NULL;

	*ret_entrants = 0;
	for (size_t i = 0; i < contest->comparison->group_count; i++) {
		const struct group *group = entrant(contest, i);

		*ret_entrants += group != NULL;
		if (group && (!best || median(contest, group) < median(contest, best)))
			best = group;
	}
	return best;
}

static void measure_lead(const struct contest *contest, struct phase_verdict *verdict)
{
	const struct group *best = verdict->best, *next = verdict->next;
	double base, top = median(contest, best);

	if (verdict->verdict == VERDICT_LOWEST) {
		const struct series *a = &best->series[contest->figure], *b = &next->series[contest->figure];

		base = median(contest, next);
		verdict->units = base - top;
		verdict->chance = ebbi_effect(a, b).chance;
		verdict->few = a->count < RUNS_LEAST || b->count < RUNS_LEAST;
	} else {
		for (size_t i = 0; i < verdict->tied; i++)
			top = ebbi_larger(top, median(contest, verdict->tied_with[i]));
		base = top;
		verdict->units = top - median(contest, best);
	}
	verdict->share = base > 0 ? verdict->units / base : 0;
}

static struct phase_verdict judge(const struct contest *contest)
{
	struct phase_verdict verdict = {.figure = contest->figure, .chance = 1};
	size_t entrants;
	bool unsure = false;

	verdict.best = lowest(contest, &entrants);
	if (entrants < 2)
		return verdict;
	for (size_t i = 0; i < contest->comparison->group_count; i++) {
		const struct group *group = entrant(contest, i);
		enum relation relation;

		if (!group || group == verdict.best)
			continue;
		relation = relation_of(contest, verdict.best, group);
		unsure = unsure || relation == RELATION_UNSURE;
		if (relation != RELATION_HIGHER)
			verdict.tied_with[verdict.tied++] = group;
		else if (!verdict.next || median(contest, group) < median(contest, verdict.next))
			verdict.next = group;
	}
	verdict.verdict = verdict.tied == 0 ? VERDICT_LOWEST : unsure ? VERDICT_UNSURE : VERDICT_SAME;
	measure_lead(contest, &verdict);
	return verdict;
}

/* Whether every group that has the figure `of` has the figure `also`. */
static bool known_to_all(const struct contest *contest, enum figure of, enum figure also)
{
	struct contest total = *contest;

	total.figure = of;
	for (size_t i = 0; i < contest->comparison->group_count; i++) {
		const struct group *group = entrant(&total, i);

		if (group && group->series[also].count != group->series[of].count)
			return false;
	}
	return true;
}

static struct phase_verdict judge_memory(const struct contest *contest, enum figure total, enum figure anonymous)
{
	struct contest by = *contest;
	struct phase_verdict verdict, own;

	by.figure = total;
	verdict = judge(&by);
	if (verdict.verdict == VERDICT_UNKNOWN || !known_to_all(contest, total, anonymous))
		return verdict;
	by.figure = anonymous;
	own = judge(&by);
	own.by_files = verdict.verdict == VERDICT_LOWEST &&
		       (own.verdict == VERDICT_SAME || (own.verdict == VERDICT_LOWEST && own.best != verdict.best));
	return own;
}

static void check_work(const struct contest *contest, struct conclusion *conclusion)
{
	struct contest work = *contest;

	work.figure = FIGURE_WORK;
	conclusion->work_least = INFINITY;
	for (size_t i = 0; i < contest->comparison->group_count; i++) {
		const struct group *group = entrant(&work, i);

		if (!group)
			continue;
		conclusion->work_least =
			ebbi_smaller(conclusion->work_least, ebbi_series_least(&group->series[FIGURE_WORK]));
		conclusion->work_most =
			ebbi_larger(conclusion->work_most, ebbi_series_most(&group->series[FIGURE_WORK]));
	}
	conclusion->work_differs =
		conclusion->work_most - conclusion->work_least > conclusion->work_most * COMPARISON_WORK_SHARE;
}

void ebbi_conclude(const struct comparison *comparison, const char *generation, struct conclusion *ret_conclusion)
{
	struct contest contest = {comparison, generation, FIGURE_PEAK, BYTES_LEAST};
	struct conclusion conclusion = {0};
	bool has_last = comparison->first.rest_seconds[1] > 0;

	check_work(&contest, &conclusion);
	if (!conclusion.work_differs) {
		conclusion.phases[COMPARED_BOOT] = judge_memory(&contest, FIGURE_BOOT, FIGURE_BOOT_ANONYMOUS);
		conclusion.phases[COMPARED_RESTING] =
			judge_memory(&contest, has_last ? FIGURE_REST_LAST : FIGURE_REST_FIRST, FIGURE_REST_ANONYMOUS);
		contest.least = ebbi_larger(BYTES_LEAST, 2 * comparison->peak_bound_bytes);
		conclusion.phases[COMPARED_PEAK] = judge(&contest);
		contest.least = SECONDS_LEAST;
		contest.figure = FIGURE_CPU;
		conclusion.phases[COMPARED_CPU] = judge(&contest);
	}
	for (size_t i = 0; i < COMPARED_COUNT; i++)
		conclusion.any = conclusion.any || conclusion.phases[i].verdict == VERDICT_LOWEST ||
				 conclusion.phases[i].verdict == VERDICT_SAME;
	*ret_conclusion = conclusion;
}
