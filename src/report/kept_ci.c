/* What continuous integration reads: JUnit's XML, Markdown, GitHub's annotations. */
#include <string.h>

#include "report/kept.h"

/* --- JUnit ------------------------------------------------------------------------------- */

static void junit_case(FILE *stream, const struct kept_check *check, const struct judged *judged)
{
	const char *element = judged->kept == KEPT_BROKEN ? "failure" : "error";
	char sentence[512];

	fputs("    <testcase classname=\"", stream);
	ebbi_format_xml(stream, check->promise->name);
	fputs("\" name=\"", stream);
	ebbi_format_xml(stream, judged->name);
	fputs("\" file=\"", stream);
	ebbi_format_xml(stream, check->promise->path);
	fprintf(stream, "\" line=\"%u\">\n", judged->limit->line);
	ebbi_kept_sentence(judged, sentence, sizeof(sentence));
	if (judged->kept == KEPT) {
		fputs("      <system-out>", stream);
		ebbi_format_xml(stream, sentence);
		fputs("</system-out>\n", stream);
	} else {
		fprintf(stream, "      <%s type=\"%s\" message=\"", element, ebbi_kept_word(judged->kept));
		ebbi_format_xml(stream, sentence);
		fputs("\"/>\n", stream);
	}
	fputs("    </testcase>\n", stream);
}

void ebbi_kept_junit(FILE *stream, const struct kept_check *check)
{
	size_t failures = 0, errors = 0;
	double seconds = 0;

	for (size_t i = 0; i < check->count; i++) {
		failures += check->limits[i].kept == KEPT_BROKEN;
		errors += check->limits[i].kept == KEPT_UNSURE || check->limits[i].kept == KEPT_UNKNOWN;
	}
	for (size_t i = 0; i < json_array_size(check->runs); i++)
		seconds += json_number_value(
			json_object_get(json_object_get(json_array_get(check->runs, i), "totals"), "seconds"));
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"", stream);
	ebbi_format_xml(stream, check->promise->name);
	fprintf(stream, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\">\n", check->count, failures,
		errors, seconds);
	for (size_t i = 0; i < check->count; i++)
		junit_case(stream, check, &check->limits[i]);
	fputs("  </testsuite>\n</testsuites>\n", stream);
}

void ebbi_kept_junit_error(FILE *stream, const char *name, const char *message)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"", stream);
	ebbi_format_xml(stream, name);
	fputs("\" tests=\"1\" failures=\"0\" errors=\"1\">\n    <testcase classname=\"", stream);
	ebbi_format_xml(stream, name);
	fputs("\" name=\"measured\">\n      <error type=\"not_measured\" message=\"", stream);
	ebbi_format_xml(stream, message);
	fputs("\"/>\n    </testcase>\n  </testsuite>\n</testsuites>\n", stream);
}

/* --- Markdown ---------------------------------------------------------------------------- */

/* What Markdown would read as its own, within a cell or a line. */
static void markdown(FILE *stream, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_[]<>|#&", *text))
			fputc('\\', stream);
		fputc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, stream);
	}
}

static void markdown_row(FILE *stream, const struct judged *judged)
{
	char text[FORMAT_BYTES];

	fputs("| ", stream);
	markdown(stream, judged->name);
	fprintf(stream, " | %s |", ebbi_kept_format(text, judged, judged->most, false));
	if (judged->values.count > 0) {
		fprintf(stream, " %s |", ebbi_kept_format(text, judged, ebbi_series_least(&judged->values), false));
		fprintf(stream, " %s |", ebbi_kept_format(text, judged, ebbi_series_median(&judged->values), false));
		fprintf(stream, " %s |", ebbi_kept_format(text, judged, ebbi_series_most(&judged->values), false));
	} else {
		fputs(" - | - | - |", stream);
	}
	fprintf(stream, " %s%s%s |\n", judged->kept == KEPT ? "" : "**", ebbi_kept_title(judged->kept),
		judged->kept == KEPT ? "" : "**");
}

void ebbi_kept_markdown(FILE *stream, const struct kept_check *check)
{
	char sentence[512];
	bool first = true;

	fputs("### ", stream);
	markdown(stream, check->promise->name);
	fprintf(stream, ": the promise is %s\n\n", ebbi_kept_title(check->kept));
	fprintf(stream, "%zu fresh run%s under ", json_array_size(check->runs),
		json_array_size(check->runs) == 1 ? "" : "s");
	markdown(stream, check->promise->allocator);
	fputs("\n\n| | limit | lowest | median | highest | |\n|---|---:|---:|---:|---:|---|\n", stream);
	for (size_t i = 0; i < check->count; i++)
		markdown_row(stream, &check->limits[i]);
	for (size_t i = 0; i < check->count; i++) {
		if (check->limits[i].kept == KEPT)
			continue;
		ebbi_kept_sentence(&check->limits[i], sentence, sizeof(sentence));
		fputs(first ? "\n- " : "- ", stream);
		markdown(stream, sentence);
		fputc('\n', stream);
		first = false;
	}
	fputc('\n', stream);
}

/* --- Annotations ------------------------------------------------------------------------- */

/* A percent sign and line ends have codes of their own; in a property so do ':' and ','. */
static void workflow(FILE *stream, const char *text, bool property)
{
	for (; *text; text++) {
		if (strchr("%\r\n", *text) || (property && strchr(":,", *text)))
			fprintf(stream, "%%%02X", (unsigned char)*text);
		else
			fputc(*text, stream);
	}
}

void ebbi_kept_annotation(FILE *stream, const char *level, const struct kept_place *place, const char *title,
			  const char *text)
{
	fprintf(stream, "::%s file=", level);
	workflow(stream, place->file, /* property= */ true);
	fprintf(stream, ",line=%u,col=%u,title=", place->line, place->column);
	workflow(stream, title, /* property= */ true);
	fputs("::", stream);
	workflow(stream, text, /* property= */ false);
	fputc('\n', stream);
}

void ebbi_kept_annotations(FILE *stream, const struct kept_check *check, const char *file)
{
	char sentence[512], title[256];

	for (size_t i = 0; i < check->count; i++) {
		const struct judged *judged = &check->limits[i];
		const struct kept_place place = {file, judged->limit->line, judged->limit->column};

		if (judged->kept == KEPT)
			continue;
		ebbi_kept_sentence(judged, sentence, sizeof(sentence));
		snprintf(title, sizeof(title), "%.100s: %s %s", check->promise->name, judged->name,
			 ebbi_kept_title(judged->kept));
		ebbi_kept_annotation(stream, judged->kept == KEPT_UNSURE ? "warning" : "error", &place, title,
				     sentence);
	}
}
