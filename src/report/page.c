#include "report/page.h"

#include <ebb/ebb.h>
#include <string.h>
#include <sys/random.h>

#include "report/assets.h"
#include "report/grids.h"

#define NONCE_BYTES 16

struct page {
	FILE *stream;
	const json_t *report;
	bool exact;
	char nonce[2 * NONCE_BYTES + 1];
	char title[256];
};

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static const json_t *list(const struct page *page, const char *key)
{
	return json_object_get(page->report, key);
}

/* Where there are several files, with the one that it is about; -1: with none. */
static void heading(const struct page *page, const char *title, json_int_t source)
{
	const json_t *sources = list(page, "sources");

	fputs("<section><h2>", page->stream);
	ebbi_html_text(page->stream, title);
	if (source >= 0 && json_array_size(sources) > 1) {
		fputs(" <span class=\"dim\">", page->stream);
		ebbi_html_text(page->stream, text(json_array_get(sources, (size_t)source), "file"));
		fputs("</span>", page->stream);
	}
	fputs("</h2>\n", page->stream);
}

/* The file of a result or a comparison; -1 when it is of runs in files of their own. */
static json_int_t source_of(const struct page *page, const json_t *given)
{
	json_int_t source = json_integer_value(json_object_get(given, "source"));
	const char *schema = text(json_array_get(list(page, "sources"), (size_t)source), "schema");

	return strcmp(schema, "ebb.run/1") == 0 ? -1 : source;
}

/* Takes the grid. Behind a chart a table is folded away, for those who want the figures. */
static void table(const struct page *page, json_t *grid, bool folded)
{
	if (!grid)
		return;
	if (folded)
		fputs("<details><summary>Figures</summary>\n", page->stream);
	ebbi_grid_html(page->stream, grid);
	if (folded)
		fputs("</details>\n", page->stream);
	json_decref(grid);
}

/* The script finds a figure by its kind and number in the document. */
static void chart(const struct page *page, const char *kind, size_t index, const char *alt, const char *caption)
{
	fprintf(page->stream,
		"<figure data-chart=\"%s\" data-index=\"%zu\"><div class=\"legend\"></div><div class=\"frame\">"
		"<canvas role=\"img\" aria-label=\"",
		kind, index);
	ebbi_html_text(page->stream, alt);
	fputs("\"></canvas></div><figcaption>", page->stream);
	ebbi_html_text(page->stream, caption);
	fputs("</figcaption></figure>\n", page->stream);
}

/* "peak: ebb is lowest": the phase stands out. */
static void sentence(const struct page *page, const char *line)
{
	const char *colon = strstr(line, ": ");
	char name[32];

	fputs("<li>", page->stream);
	if (colon && (size_t)(colon - line) < sizeof(name)) {
		snprintf(name, sizeof(name), "%.*s", (int)(colon - line), line);
		fputs("<strong>", page->stream);
		ebbi_html_text(page->stream, name);
		fputs("</strong>", page->stream);
		line = colon;
	}
	ebbi_html_text(page->stream, line);
	fputs("</li>\n", page->stream);
}

/* All sentences of a list, as a list, and as one text for those who cannot see the chart. */
static void sentences(const struct page *page, const json_t *lines, char *ret_alt, size_t size)
{
	size_t length = strlen(ret_alt);

	fputs("<ul class=\"findings\">\n", page->stream);
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const char *line = json_string_value(json_array_get(lines, i));

		sentence(page, line);
		if (length < size)
			length += (size_t)snprintf(ret_alt + length, size - length, " %s.", line);
	}
	fputs("</ul>\n", page->stream);
}

static void note_after(const struct page *page, const char *kind, const char *before, const char *line)
{
	fprintf(page->stream, "<p class=\"%s\">%s", kind, before);
	ebbi_html_text(page->stream, line);
	fputs("</p>\n", page->stream);
}

static void note(const struct page *page, const char *kind, const char *line)
{
	note_after(page, kind, "", line);
}

/* --- The sections ------------------------------------------------------------------------ */

static void verdict(const struct page *page, const json_t *given, size_t index, json_int_t source)
{
	const json_t *evidence = json_object_get(given, "evidence");

	if (!json_is_object(given))
		return;
	heading(page, "Verdict", source);
	fputs("<p class=\"verdict\"><strong>", page->stream);
	ebbi_html_text(page->stream, text(given, "code"));
	fputs("</strong> ", page->stream);
	ebbi_html_text(page->stream, text(given, "sentence"));
	fputs("</p>\n<ul>\n", page->stream);
	for (size_t i = 0; i < json_array_size(evidence); i++) {
		const char *from = text(json_array_get(evidence, i), "source");

		fputs("<li>", page->stream);
		ebbi_html_text(page->stream, text(json_array_get(evidence, i), "text"));
		fputs(from[0] ? " <span class=\"dim\">" : "", page->stream);
		ebbi_html_text(page->stream, from);
		fputs(from[0] ? "</span></li>\n" : "</li>\n", page->stream);
	}
	fputs("</ul>\n", page->stream);
	for (size_t i = 0; i < json_array_size(json_object_get(given, "further")); i++) {
		const json_t *further = json_array_get(json_object_get(given, "further"), i);

		fputs("<p><strong>", page->stream);
		ebbi_html_text(page->stream, text(further, "code"));
		fputs("</strong> ", page->stream);
		ebbi_html_text(page->stream, text(further, "sentence"));
		fputs("</p>\n", page->stream);
	}
	if (text(given, "remedy")[0])
		note_after(page, "remedy", "Remedy: ", text(given, "remedy"));
	if (text(given, "next_measurement")[0])
		note_after(page, "note", "Next measurement: ", text(given, "next_measurement"));
	if (json_is_object(json_object_get(given, "accounts"))) {
		chart(page, "verdict", index,
		      "A bar of who holds the resident memory; the table below has its figures.",
		      "Who holds the resident memory.");
		table(page, ebbi_grids_accounts(json_object_get(given, "accounts"), page->exact), /* folded= */ true);
	}
	fputs("</section>\n", page->stream);
}

static void promise(const struct page *page, const json_t *given, size_t index)
{
	char line[512];

	if (json_array_size(json_object_get(given, "limits")) == 0)
		return;
	heading(page, "Promise", source_of(page, given));
	snprintf(line, sizeof(line), "%.300s%s%.64s", text(given, "name"), text(given, "name")[0] ? ": " : "",
		 text(given, "kept"));
	note(page, strcmp(text(given, "kept"), "kept") == 0 ? "remedy" : "bad", line);
	chart(page, "limits", index, "What was measured as a share of each limit; the table below has the figures.",
	      "Measured, in percent of the limit. The line is the limit.");
	table(page, ebbi_grids_limits(given, page->exact), /* folded= */ false);
	fputs("</section>\n", page->stream);
}

static void size(const struct page *page, const json_t *given, size_t index)
{
	char alt[1024] = "Peak and resting memory over the rate.";

	if (json_array_size(json_object_get(given, "rows")) == 0)
		return;
	heading(page, "Size", source_of(page, given));
	sentences(page, json_object_get(given, "sentences"), alt, sizeof(alt));
	chart(page, "size-memory", index, alt, "Memory of a fresh server at each rate. A diamond is the knee.");
	chart(page, "size-work", index,
	      "Offered and served work, and the 99th percentile of the latency, over the rate; the table below has the figures.",
	      "Served work and latency at each rate.");
	table(page, ebbi_grids_size(given, page->exact), /* folded= */ false);
	fputs("</section>\n", page->stream);
}

static void result(const struct page *page, const json_t *given, size_t index)
{
	promise(page, given, index);
	size(page, given, index);
	verdict(page, json_object_get(given, "verdict"), index, source_of(page, given));
}

static void comparison(const struct page *page, const json_t *given, size_t index)
{
	char alt[1024] = "Bars of the median of each phase, with their ranges.";
	json_t *lines = ebbi_grids_conclusions(given);

	if (json_array_size(json_object_get(given, "groups")) == 0 && !text(given, "not_comparable")[0]) {
		json_decref(lines);
		return;
	}
	heading(page, json_array_size(json_object_get(given, "groups")) > 1 ? "Comparison" : "Phases",
		source_of(page, given));
	if (text(given, "not_comparable")[0])
		note(page, "bad", text(given, "not_comparable"));
	for (size_t i = 0; i < json_array_size(json_object_get(given, "problems")); i++)
		note(page, "bad", json_string_value(json_array_get(json_object_get(given, "problems"), i)));
	sentences(page, lines, alt, sizeof(alt));
	if (json_array_size(json_object_get(given, "groups")) > 0)
		chart(page, "comparison", index, alt, "Medians; the whiskers reach from the least to the most.");
	table(page, ebbi_grids_comparison(given, page->exact), /* folded= */ false);
	fputs("</section>\n", page->stream);
	json_decref(lines);
}

static void body(const struct page *page)
{
	const json_t *results = list(page, "results"), *comparisons = list(page, "comparisons");
	const json_t *stacks = list(page, "stacks"), *runs = list(page, "runs");

	for (size_t i = 0; i < json_array_size(results); i++)
		result(page, json_array_get(results, i), i);
	for (size_t i = 0; i < json_array_size(comparisons); i++)
		comparison(page, json_array_get(comparisons, i), i);
	if (json_array_size(runs) > 0) {
		heading(page, "Resident memory over time", -1);
		chart(page, "timeline", 0,
		      "Lines of resident memory over time, one a run; the table of runs has the figures.",
		      "Each line is a run; marks on it are boot, the end of the load, and rest.");
		table(page, ebbi_grids_runs(page->report, page->exact), /* folded= */ true);
		fputs("</section>\n", page->stream);
	}
	for (size_t i = 0; i < json_array_size(stacks); i++) {
		const json_t *stack = json_array_get(stacks, i);

		heading(page, "Who holds it", source_of(page, stack));
		chart(page, "stack", i, "Stacked bars of the account tables; the table below has the figures.",
		      text(stack, "title"));
		table(page, ebbi_grids_stack(page->report, stack, page->exact), /* folded= */ true);
		fputs("</section>\n", page->stream);
	}
	heading(page, "Where it comes from", -1);
	table(page, ebbi_grids_sources(page->report), /* folded= */ false);
	fputs("</section>\n", page->stream);
}

/* --- The template ------------------------------------------------------------------------ */

static void machine(const struct page *page)
{
	const json_t *source = json_array_get(list(page, "sources"), 0);
	double memory = json_number_value(json_object_get(source, "memory_bytes"));

	if (text(source, "command")[0]) {
		fputs("<code>", page->stream);
		ebbi_html_text(page->stream, text(source, "command"));
		fputs("</code><br>", page->stream);
	}
	ebbi_html_text(page->stream, text(source, "started_at"));
	if (!text(source, "kernel")[0])
		return;
	fputs(" on Linux ", page->stream);
	ebbi_html_text(page->stream, text(source, "kernel"));
	fprintf(page->stream, ", %.0f CPUs, %.1f GiB", json_number_value(json_object_get(source, "cpus")),
		memory / 1073741824.0);
	fputs(", huge pages ", page->stream);
	ebbi_html_text(page->stream, text(source, "thp"));
}

static void asset(const struct page *page, const char *name, bool escape)
{
	struct asset found = ebbi_asset(name);

	/* A 0 follows every asset. */
	if (escape)
		ebbi_html_text(page->stream, found.bytes);
	else
		fwrite(found.bytes, 1, (size_t)(found.end - found.bytes), page->stream);
}

static void place(const struct page *page, const char *name, size_t length)
{
	if (strncmp(name, "nonce", length) == 0)
		fputs(page->nonce, page->stream);
	else if (strncmp(name, "version", length) == 0)
		fputs(EBB_VERSION, page->stream);
	else if (strncmp(name, "title", length) == 0)
		ebbi_html_text(page->stream, page->title);
	else if (strncmp(name, "machine", length) == 0)
		machine(page);
	else if (strncmp(name, "style", length) == 0)
		asset(page, "page.css", /* escape= */ false);
	else if (strncmp(name, "script", length) == 0)
		asset(page, "page.js", /* escape= */ false);
	else if (strncmp(name, "chart", length) == 0)
		asset(page, "chart.js", /* escape= */ false);
	else if (strncmp(name, "licence", length) == 0)
		asset(page, "licence.txt", /* escape= */ true);
	else if (strncmp(name, "body", length) == 0)
		body(page);
	else if (strncmp(name, "data", length) == 0)
		ebbi_html_json(page->stream, page->report);
}

static void choose_title(struct page *page)
{
	const json_t *sources = list(page, "sources");
	const char *file = text(json_array_get(sources, 0), "file");
	const char *base = strrchr(file, '/');
	size_t others = json_array_size(sources) - 1;

	base = base ? base + 1 : file;
	if (others > 0)
		snprintf(page->title, sizeof(page->title), "%.200s and %zu more", base, others);
	else
		snprintf(page->title, sizeof(page->title), "%.200s", base);
}

static void choose_nonce(struct page *page)
{
	unsigned char bytes[NONCE_BYTES];

	/* Up to 256 bytes come whole, or not at all before the kernel is ready to give them, which it is. */
	while (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		continue;
	for (size_t i = 0; i < NONCE_BYTES; i++)
		snprintf(page->nonce + 2 * i, 3, "%02x", bytes[i]);
}

void ebbi_page(FILE *stream, const json_t *report, bool exact_bytes)
{
	struct page page = {.stream = stream, .report = report, .exact = exact_bytes};
	struct asset template = ebbi_asset("page.html");
	const char *at = template.bytes, *open, *close;

	choose_nonce(&page);
	choose_title(&page);
	while ((open = strstr(at, "{{")) && (close = strstr(open, "}}"))) {
		fwrite(at, 1, (size_t)(open - at), stream);
		place(&page, open + 2, (size_t)(close - open - 2));
		at = close + 2;
	}
	fputs(at, stream);
}
