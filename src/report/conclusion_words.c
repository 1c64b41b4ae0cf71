#include "report/conclusion.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/figure.h"
#include "report/format.h"

#define SHARE_SHOWN 0.05

const char *ebbi_word_compared(enum compared_phase phase)
{
	static const char *const words[] = {[COMPARED_BOOT] = "boot",
					    [COMPARED_PEAK] = "peak",
					    [COMPARED_RESTING] = "resting",
					    [COMPARED_CPU] = "CPU"};

	return words[phase];
}

const char *ebbi_word_verdict(enum verdict verdict)
{
	static const char *const words[] = {[VERDICT_UNKNOWN] = "unknown",
					    [VERDICT_LOWEST] = "lowest",
					    [VERDICT_SAME] = "same",
					    [VERDICT_UNSURE] = "inconclusive"};

	return words[verdict];
}

struct sentence {
	char *text;
	size_t size;
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *sentence, const char *format, ...)
{
	va_list arguments;
	size_t room = sentence->size - sentence->length;
	int length;

	va_start(arguments, format);
	length = vsnprintf(sentence->text + sentence->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		sentence->length += (size_t)length < room ? (size_t)length : room - 1;
}

/* "a", "a and b", "a, b and c" */
static void say_tied(struct sentence *sentence, const struct phase_verdict *verdict)
{
	say(sentence, "%s", verdict->best->label);
	for (size_t i = 0; i < verdict->tied; i++)
		say(sentence, "%s%s", i + 1 == verdict->tied ? " and " : ", ", verdict->tied_with[i]->label);
}

static bool is_anonymous(const struct phase_verdict *verdict)
{
	return verdict->figure == FIGURE_BOOT_ANONYMOUS || verdict->figure == FIGURE_REST_ANONYMOUS;
}

/* Whether those that are the same differ in their allocator alone. */
static bool by_allocator(const struct phase_verdict *verdict)
{
	const struct saved_build *best = &verdict->best->build;

	for (size_t i = 0; i < verdict->tied; i++) {
		const struct saved_build *other = &verdict->tied_with[i]->build;

		if (strcmp(best->allocator, other->allocator) == 0 || strcmp(best->command, other->command) != 0)
			return false;
	}
	return true;
}

static void say_lowest(struct sentence *sentence, const struct phase_verdict *verdict, bool exact)
{
	char units[FORMAT_BYTES];
	size_t runs = verdict->best->runs < verdict->next->runs ? verdict->best->runs : verdict->next->runs;

	say(sentence, "%s is lowest%s, %s (%.0f %%) below %s", verdict->best->label,
	    is_anonymous(verdict) ? " in anonymous memory" : "",
	    ebbi_figure_format(units, verdict->figure, verdict->units, exact), verdict->share * 100,
	    verdict->next->label);
	if (runs < 2)
		say(sentence, " (one run: may be noise)");
	else if (verdict->few)
		say(sentence, " (ranges apart, but of %zu runs: chance does that 1 time in %.0f)", runs,
		    1 / verdict->chance);
	if (verdict->by_files)
		say(sentence, "; the totals say otherwise, because of pages of files");
}

static void say_same(struct sentence *sentence, const struct phase_verdict *verdict, bool exact)
{
	char units[FORMAT_BYTES];

	say(sentence, "%s",
	    by_allocator(verdict) && !verdict->next ? "the allocator makes no difference" : "no difference");
	/* A large share of next to nothing is nothing. */
	if (verdict->share < SHARE_SHOWN)
		say(sentence, " (%.1f %%)", verdict->share * 100);
	say(sentence, ": ");
	say_tied(sentence, verdict);
	say(sentence, " are within %s%s", ebbi_figure_format(units, verdict->figure, verdict->units, exact),
	    is_anonymous(verdict) ? " of anonymous memory" : "");
	if (verdict->next)
		say(sentence, ", all below %s", verdict->next->label);
	if (verdict->best->runs < 2)
		say(sentence, " (one run: may be chance)");
	if (verdict->by_files)
		say(sentence, "; the totals differ in pages of files alone");
}

static void say_unsure(struct sentence *sentence, const struct phase_verdict *verdict, bool exact)
{
	say(sentence, "inconclusive: the ranges of ");
	for (size_t i = 0; i <= verdict->tied; i++) {
		const struct group *group = i == 0 ? verdict->best : verdict->tied_with[i - 1];
		const struct series *series = &group->series[verdict->figure];
		char least[FORMAT_BYTES], most[FORMAT_BYTES];

		say(sentence, "%s%s (%s to %s)",
		    i == 0               ? ""
		    : i == verdict->tied ? " and "
					 : ", ",
		    group->label, ebbi_figure_format(least, verdict->figure, ebbi_series_least(series), exact),
		    ebbi_figure_format(most, verdict->figure, ebbi_series_most(series), exact));
	}
	say(sentence, " are too near for so few or such noisy runs");
	if (verdict->next)
		say(sentence, "; all are below %s", verdict->next->label);
}

void ebbi_sentence_phase(const struct phase_verdict *verdict, bool exact_bytes, char *ret_text, size_t size)
{
	struct sentence sentence = {ret_text, size, 0};

	ret_text[0] = 0;
	switch (verdict->verdict) {
	case VERDICT_LOWEST:
		say_lowest(&sentence, verdict, exact_bytes);
		break;
	case VERDICT_SAME:
		say_same(&sentence, verdict, exact_bytes);
		break;
	case VERDICT_UNSURE:
		say_unsure(&sentence, verdict, exact_bytes);
		break;
	case VERDICT_UNKNOWN:
		break;
	}
}

void ebbi_sentence_conclusion(const struct conclusion *conclusion, char *ret_text, size_t size)
{
	struct sentence sentence = {ret_text, size, 0};

	ret_text[0] = 0;
	if (conclusion->work_differs) {
		say(&sentence,
		    "not comparable: the runs served from %.10g to %.10g, and memory after different work says nothing",
		    conclusion->work_least, conclusion->work_most);
		return;
	}
	for (enum compared_phase i = 0; i < COMPARED_COUNT; i++) {
		const struct phase_verdict *verdict = &conclusion->phases[i];

		if (verdict->verdict == VERDICT_UNKNOWN)
			continue;
		say(&sentence, "%s%s ", sentence.length > 0 ? ", " : "", ebbi_word_compared(i));
		if (verdict->verdict == VERDICT_LOWEST)
			say(&sentence, "%s (-%.0f %%)", verdict->best->label, verdict->share * 100);
		else if (verdict->verdict == VERDICT_SAME && verdict->next)
			say_tied(&sentence, verdict);
		else
			say(&sentence, "%s", verdict->verdict == VERDICT_SAME ? "no difference" : "inconclusive");
	}
}
