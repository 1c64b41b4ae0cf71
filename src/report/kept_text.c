#include <string.h>

#include "report/kept.h"

#define NAME_MOST 30

static void head(FILE *stream, const struct kept_check *check, const struct style *style)
{
	const struct promise *promise = check->promise;
	size_t runs = json_array_size(check->runs), broken = 0;
	const char *colour = check->kept == KEPT ? style->good : style->warn;

	for (size_t i = 0; i < check->count; i++)
		broken += check->limits[i].kept == KEPT_BROKEN;
	fprintf(stream, "%s%s%s: the promise is %s%s%s", style->bold, promise->name, style->off, colour,
		ebbi_kept_title(check->kept), style->off);
	if (check->kept == KEPT_BROKEN)
		fprintf(stream, ": %zu of %zu limits", broken, check->count);
	fprintf(stream, "\n%s%zu fresh run%s under %s", style->dim, runs, runs == 1 ? "" : "s", promise->allocator);
	if (promise->budget)
		fprintf(stream, ", budget %s", promise->budget);
	if (promise->load_command)
		fprintf(stream, ", %g s at rest", (double)promise->rest_ns / 1e9);
	fprintf(stream, "%s\n\n", style->off);
}

/* In a table an account goes by its own name. */
static const char *short_name(const struct judged *judged)
{
	return judged->limit->account ? judged->limit->account : judged->name;
}

static int name_width(const struct kept_check *check)
{
	size_t width = 12;

	for (size_t i = 0; i < check->count; i++) {
		size_t length = strlen(short_name(&check->limits[i]));

		if (length > width)
			width = length < NAME_MOST ? length : NAME_MOST;
	}
	return (int)width;
}

static void limit_row(FILE *stream, const struct judged *judged, int width, const struct style *style, bool exact)
{
	char most[FORMAT_BYTES] = "?", least[FORMAT_BYTES] = "-", middle[FORMAT_BYTES] = "-",
	     highest[FORMAT_BYTES] = "-";
	char used[16] = "-";
	bool median = judged->limit->keep == KEEP_MEDIAN;

	if (!judged->limit->ratio || judged->has_base)
		ebbi_kept_format(most, judged, judged->most, exact);
	if (judged->values.count > 0) {
		ebbi_kept_format(least, judged, ebbi_series_least(&judged->values), exact);
		ebbi_kept_format(middle, judged, ebbi_series_median(&judged->values), exact);
		ebbi_kept_format(highest, judged, ebbi_series_most(&judged->values), exact);
	}
	if (judged->held_against.known && ebbi_kept_used(judged) < 1000)
		snprintf(used, sizeof(used), "%.0f %%", 100 * ebbi_kept_used(judged));
	fprintf(stream, "  %-*.*s%11s%11s%11s%11s%7s  %s%s%s%s\n", width, width, short_name(judged), most, least,
		middle, highest, used, judged->kept == KEPT ? style->good : style->warn, ebbi_kept_title(judged->kept),
		style->off, median ? " *" : "");
}

void ebbi_kept_text(FILE *stream, const struct kept_check *check, const struct style *style, bool exact)
{
	bool median = false, broken = false;
	int width = name_width(check);
	char sentence[512];

	head(stream, check, style);
	fprintf(stream, "  %s%-*s%11s%11s%11s%11s%7s%s\n", style->dim, width, "", "limit", "lowest", "median",
		"highest", "used", style->off);
	for (size_t i = 0; i < check->count; i++) {
		limit_row(stream, &check->limits[i], width, style, exact);
		median = median || check->limits[i].limit->keep == KEEP_MEDIAN;
		broken = broken || check->limits[i].kept != KEPT;
	}
	if (median)
		fprintf(stream, "  %s* held against the median, the others against every run%s\n", style->dim,
			style->off);
	if (broken)
		fputc('\n', stream);
	for (size_t i = 0; i < check->count; i++) {
		if (check->limits[i].kept == KEPT)
			continue;
		ebbi_kept_sentence(&check->limits[i], sentence, sizeof(sentence));
		fprintf(stream, "%s:%u: %s\n", check->promise->path, check->limits[i].limit->line, sentence);
	}
}
