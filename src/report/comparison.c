#include "report/comparison.h"

#include <string.h>

#include "report/effect.h"
#include "report/figure.h"

#define SCREEN 80
/* "  anonymous " */
#define WORD_WIDTH 12
#define NAME_LEAST 9
#define MEDIAN_WIDTH 11
#define RANGE_WIDTH 19
#define RANGE_WIDTH_EXACT 29
#define CHANGE_WIDTH 8
#define SHIFT_WIDTH 12
#define EFFECT_WIDTH 8
/* Memory that was given up and still counts is worth a row from here on. */
#define LAZYFREE_LEAST 1048576.0
/* More than ten times as much is a factor and no percentage. */
#define FACTOR_LEAST 10
#define COUNTS_BYTES 2048

struct view {
	FILE *stream;
	const struct comparison *comparison;
	const struct style *style;
	const char *generation;
	const struct group *base;
	bool exact;
	bool several; /* there is somebody to hold against the first */
	int name_width;
};

static const struct group *in_view(const struct view *view, size_t i)
{
	const struct group *group = view->comparison->groups[i];

	return strcmp(group->generation, view->generation) == 0 ? group : NULL;
}

static bool shown(const struct view *view, enum figure figure)
{
	for (size_t i = 0; i < view->comparison->group_count; i++) {
		const struct group *group = in_view(view, i);

		if (!group || group->series[figure].count == 0)
			continue;
		if (figure != FIGURE_REST_LAZYFREE || ebbi_series_median(&group->series[figure]) >= LAZYFREE_LEAST)
			return true;
	}
	return false;
}

static void figure_word(const struct view *view, enum figure figure, char *ret_word, size_t size)
{
	if (figure == FIGURE_REST_FIRST || figure == FIGURE_REST_LAST)
		snprintf(ret_word, size, "after %g s",
			 view->comparison->first.rest_seconds[figure == FIGURE_REST_LAST]);
	else
		snprintf(ret_word, size, "%s", ebbi_figures[figure].word);
}

/* Against the first group; in colour only where the ranges do not overlap. */
static void change_cells(const struct view *view, enum figure figure, const struct group *group)
{
	const struct series *a = &view->base->series[figure], *b = &group->series[figure];
	struct effect effect = ebbi_effect(a, b);
	char change[FORMAT_BYTES], shift[FORMAT_BYTES];
	double from = ebbi_series_median(a), to = ebbi_series_median(b);
	bool better = (effect.delta < 0) != ebbi_figures[figure].more_is_better;
	const char *colour = !ebbi_series_apart(a, b) ? "" : better ? view->style->good : view->style->warn;

	if (from > 0 && to >= FACTOR_LEAST * from)
		snprintf(change, sizeof(change), "x %.*f", to < 100 * from ? 1 : 0, to / from);
	else
		ebbi_format_change(change, to, from);
	fprintf(view->stream, "%s%*s%s%s%*s%*s%.2f%s", colour, CHANGE_WIDTH, change, colour[0] ? view->style->off : "",
		view->style->dim, SHIFT_WIDTH, ebbi_figure_shift(shift, figure, effect.shift, view->exact),
		EFFECT_WIDTH - 4,
		effect.delta < 0   ? "-"
		: effect.delta > 0 ? "+"
				   : "",
		effect.delta < 0 ? -effect.delta : effect.delta, view->style->off);
}

static void row(const struct view *view, enum figure figure, const struct group *group, const char *word)
{
	const struct series *series = &group->series[figure];
	char text[FORMAT_BYTES];

	fprintf(view->stream, "  %-*s%-*.*s", WORD_WIDTH - 2, word, view->name_width, view->name_width - 1,
		group->label);
	if (series->count == 0) {
		fprintf(view->stream, "%*s\n", MEDIAN_WIDTH, "-");
		return;
	}
	ebbi_figure_format(text, figure, ebbi_series_median(series), view->exact);
	fprintf(view->stream, "%s%*s%s", view->style->bold, MEDIAN_WIDTH, text, view->style->off);
	ebbi_figure_range(text, figure, ebbi_series_median(series), ebbi_series_least(series), ebbi_series_most(series),
			  view->exact);
	fprintf(view->stream, "%s%*s%s", view->style->dim, view->exact ? RANGE_WIDTH_EXACT : RANGE_WIDTH, text,
		view->style->off);
	if (group != view->base && view->base->series[figure].count > 0)
		change_cells(view, figure, group);
	fputc('\n', view->stream);
}

static void figure_rows(const struct view *view, enum figure figure)
{
	char word[32];

	if (!shown(view, figure))
		return;
	figure_word(view, figure, word, sizeof(word));
	for (size_t i = 0; i < view->comparison->group_count; i++) {
		const struct group *group = in_view(view, i);

		if (!group || group->runs == 0)
			continue;
		row(view, figure, group, word);
		word[0] = 0;
	}
}

static void block(const struct view *view, enum figure_phase phase)
{
	static const char *const words[] = {
		[FIGURE_PHASE_BOOT] = "boot", [FIGURE_PHASE_LOAD] = "load", [FIGURE_PHASE_REST] = "resting"};
	bool any = false;

	for (enum figure i = 0; i < FIGURE_COUNT; i++) {
		if (ebbi_figures[i].phase != phase || !shown(view, i))
			continue;
		if (!any)
			fprintf(view->stream, "%s%s%s\n", view->style->bold, words[phase], view->style->off);
		any = true;
		figure_rows(view, i);
	}
}

static void head(const struct view *view)
{
	fprintf(view->stream, "%s%*s%*s%*s", view->style->dim, WORD_WIDTH + view->name_width, "", MEDIAN_WIDTH,
		"median", view->exact ? RANGE_WIDTH_EXACT : RANGE_WIDTH, "min .. max");
	if (view->several)
		fprintf(view->stream, "%*s%*s%*s", CHANGE_WIDTH, "change", SHIFT_WIDTH, "shift", EFFECT_WIDTH,
			"effect");
	fprintf(view->stream, "%s\n", view->style->off);
}

/* Whether all in view have the same number of runs, and none failed. */
static bool all_alike(const struct view *view)
{
	for (size_t i = 0; i < view->comparison->group_count; i++) {
		const struct group *group = in_view(view, i);

		if (group && (group->runs != view->base->runs || group->failed > 0))
			return false;
	}
	return true;
}

/* "5 runs each of glibc, ebb" or "5 runs of glibc, 4 of ebb (and 1 failed)" */
static void counts(const struct view *view)
{
	char text[COUNTS_BYTES];
	bool alike = all_alike(view), first = true;
	size_t length = 0;

	for (size_t i = 0; i < view->comparison->group_count && length < sizeof(text); i++) {
		const struct group *group = in_view(view, i);

		if (!group)
			continue;
		if (alike && !first)
			length += (size_t)snprintf(text + length, sizeof(text) - length, ", %s", group->label);
		else
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%zu%s%s of %s",
						   first ? "" : ", ", group->runs,
						   !first             ? ""
						   : group->runs == 1 ? " run"
								      : " runs",
						   alike && view->several ? " each" : "", group->label);
		if (group->failed > 0 && length < sizeof(text))
			length += (size_t)snprintf(text + length, sizeof(text) - length, " (and %zu failed)",
						   group->failed);
		first = false;
	}
	if (view->several && length < sizeof(text))
		snprintf(text + length, sizeof(text) - length, "; change, shift and effect are against %s",
			 view->base->label);
	fputs(view->style->dim, view->stream);
	ebbi_format_wrapped(view->stream, text, view->generation[0] ? strlen(view->generation) + 2 : 0, 0, SCREEN);
	fputs(view->style->off, view->stream);
}

static void conclusions(const struct view *view)
{
	const struct style *style = view->style;
	struct conclusion conclusion;
	char text[CONCLUSION_BYTES];

	ebbi_conclude(view->comparison, view->generation, &conclusion);
	ebbi_sentence_conclusion(&conclusion, text, sizeof(text));
	if (!view->several || text[0] == 0)
		return;
	fputc('\n', view->stream);
	if (!conclusion.work_differs)
		fprintf(view->stream, "%slowest:%s ", conclusion.any ? style->bold : style->warn, style->off);
	ebbi_format_wrapped(view->stream, text, conclusion.work_differs ? 0 : sizeof("lowest:"), sizeof("lowest:"),
			    SCREEN);
	for (enum compared_phase i = 0; i < COMPARED_COUNT; i++) {
		ebbi_sentence_phase(&conclusion.phases[i], view->exact, text, sizeof(text));
		if (text[0] == 0)
			continue;
		fprintf(view->stream, "%-*s", WORD_WIDTH - 2, ebbi_word_compared(i));
		ebbi_format_wrapped(view->stream, text, WORD_WIDTH - 2, WORD_WIDTH - 2, SCREEN);
	}
}

/* Two programs on glibc: what one of them keeps may be what it freed before, in another order. */
static bool glibc_alone(const struct view *view)
{
	bool differ = false;

	for (size_t i = 0; i < view->comparison->group_count; i++) {
		const struct group *group = in_view(view, i);

		if (!group)
			continue;
		if (strcmp(group->build.allocator, "glibc") != 0 || group->build.linked[0])
			return false;
		differ = differ || strcmp(group->build.command, view->base->build.command) != 0 ||
			 strcmp(group->build.build_id, view->base->build.build_id) != 0;
	}
	return differ;
}

static void note(const struct view *view, const char *text)
{
	fprintf(view->stream, "%s%-*s%s", view->style->warn, WORD_WIDTH - 2, "note", view->style->off);
	ebbi_format_wrapped(view->stream, text, WORD_WIDTH - 2, WORD_WIDTH - 2, SCREEN);
}

static void notes(const struct view *view)
{
	struct conclusion conclusion;
	char text[512];

	for (size_t i = 0; i < view->comparison->group_count; i++) {
		const struct group *group = in_view(view, i);

		if (!group || group->runs == 0 || group->build.linked[0] == 0)
			continue;
		snprintf(text, sizeof(text),
			 "%s is linked by the command of %s itself: its figures are those of that, not of %s",
			 group->build.linked, group->label, group->build.allocator);
		note(view, text);
	}
	ebbi_conclude(view->comparison, view->generation, &conclusion);
	if ((conclusion.phases[COMPARED_PEAK].verdict == VERDICT_LOWEST ||
	     conclusion.phases[COMPARED_RESTING].verdict == VERDICT_LOWEST) &&
	    glibc_alone(view))
		note(view,
		     "All of them run on glibc's malloc, which keeps more after it has freed large blocks. Before "
		     "a program is blamed, compare again with MALLOC_MMAP_THRESHOLD_=1048576 set for all.");
}

static void generation_text(struct view *view)
{
	size_t entrants = 0;

	view->base = NULL;
	view->name_width = NAME_LEAST;
	for (size_t i = 0; i < view->comparison->group_count; i++) {
		const struct group *group = in_view(view, i);
		int length = group ? (int)strlen(group->label) + 1 : 0;

		if (!group)
			continue;
		entrants += group->runs > 0;
		if (!view->base && group->runs > 0)
			view->base = group;
		view->name_width = length > view->name_width ? length : view->name_width;
	}
	if (!view->base)
		return;
	view->several = entrants > 1;
	if (view->generation[0])
		fprintf(view->stream, "\n%s%s%s: ", view->style->bold, view->generation, view->style->off);
	counts(view);
	fputc('\n', view->stream);
	head(view);
	for (enum figure_phase i = 0; i < FIGURE_PHASES; i++)
		block(view, i);
	if (view->several)
		fprintf(view->stream, "%seffect: -1.00 all runs below all of %s, +1.00 all above (Cliff's delta)%s\n",
			view->style->dim, view->base->label, view->style->off);
	conclusions(view);
	notes(view);
}

void ebbi_comparison_text(FILE *stream, const struct comparison *comparison, const struct style *style,
			  bool exact_bytes)
{
	struct view view = {.stream = stream, .comparison = comparison, .style = style, .exact = exact_bytes};
	const struct saved_run *first = &comparison->first;
	const char *generations[COMPARISON_GROUPS];
	size_t count = ebbi_comparison_generations(comparison, generations, COMPARISON_GROUPS);
	static const char pss[] = "PSS and swapped PSS of the tree";

	if (comparison->first_path)
		fprintf(stream, "%sLinux %s, %llu CPUs, huge pages %s; memory is %s%s\n", style->dim, first->kernel,
			(unsigned long long)first->cpus, first->thp,
			strcmp(first->basis, "rss") == 0   ? "RSS"
			: strcmp(first->basis, "pss") == 0 ? pss
							   : "the sum of RSS",
			style->off);
	for (size_t i = 0; i < count; i++) {
		view.generation = generations[i];
		generation_text(&view);
	}
	for (size_t i = 0; i < comparison->problem_count; i++) {
		fprintf(stream, "%s%s%s ", style->warn, i == 0 ? "\nproblem:" : "problem:", style->off);
		ebbi_format_wrapped(stream, comparison->problems[i], sizeof("problem:"), sizeof("problem:"), SCREEN);
	}
}
