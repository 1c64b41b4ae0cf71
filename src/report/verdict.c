#include "report/verdict.h"

#include <inttypes.h>
#include <string.h>

#include "doctor/ledger_file.h"
#include "report/verdict_arenas.h"
#include "report/verdict_rows.h"

#define WIDTH 78
#define NAME_WIDTH 46
/* Rows of the table that are smaller than this part of RSS are summed up. */
#define SMALL_PART 100
#define SMALL_LEAST 104858u
#define FURTHER_MOST 4

struct page {
	FILE *stream;
	const struct style *style;
	bool exact;
};

int ebbi_verdict_exit(const struct verdict *verdict)
{
	enum code code = verdict->findings[0].code;

	return code == CODE_UNKNOWN || code == CODE_NOT_COMPARABLE ? 4 : 0;
}

static void paragraph(const struct page *page, const char *head, unsigned indent, const char *text)
{
	fputs(head, page->stream);
	ebbi_format_wrapped(page->stream, text, strlen(head), indent, WIDTH);
}

static void head(const struct page *page, const struct facts *facts, const struct verdict *verdict)
{
	const struct finding *first = &verdict->findings[0];
	const struct style *style = page->style;
	const char *colour = ebbi_codes[first->code].rank < 2 ? style->warn : style->good;
	char code[64];

	if (facts->pid > 0)
		fprintf(page->stream, "%s%s, process %d%s\n\n", style->dim, facts->command, (int)facts->pid,
			style->off);
	else if (facts->command[0])
		fprintf(page->stream, "%s%s%s\n\n", style->dim, facts->command, style->off);
	snprintf(code, sizeof(code), "%s%s%s:", ebbi_codes[first->code].word, verdict->undecided ? " or " : "",
		 verdict->undecided ? ebbi_codes[verdict->findings[1].code].word : "");
	fprintf(page->stream, "%s%s%s%s ", style->bold, colour, code, style->off);
	ebbi_format_wrapped(page->stream,
			    verdict->undecided ? "kept by the allocator, pinned or not" : ebbi_codes[first->code].means,
			    strlen(code) + 1, 2, WIDTH);
	paragraph(page, "  ", 2, first->says);
	if (first->note[0])
		paragraph(page, "  ", 2, first->note);
}

static const char *value_of(const struct page *page, const struct facts *facts, enum fact_id id, char *ret_text)
{
	const struct fact *fact = &facts->all[id];

	if (ebbi_fact_kinds[id].unit == UNIT_BYTES && page->exact)
		snprintf(ret_text, FORMAT_BYTES, "%" PRIu64, fact->value);
	else if (ebbi_fact_kinds[id].unit == UNIT_BYTES)
		(void)ebbi_amount(ret_text, fact->value);
	else if (ebbi_fact_kinds[id].unit == UNIT_FLAG)
		snprintf(ret_text, FORMAT_BYTES, "yes");
	else
		snprintf(ret_text, FORMAT_BYTES, "%" PRIu64, fact->value);
	return ret_text;
}

static void tried_line(const struct page *page, const char *when, const struct intervention *tried, uint64_t bytes)
{
	char text[FORMAT_BYTES], title[96];

	snprintf(title, sizeof(title), "%s %s", when, tried->name[0] ? tried->name : ebbi_tried_word(tried->kind));
	if (page->exact)
		snprintf(text, sizeof(text), "%" PRIu64, bytes);
	fprintf(page->stream, "    %-48.48s %14s  %stried%s\n", title, page->exact ? text : ebbi_amount(text, bytes),
		page->style->dim, page->style->off);
}

static void evidence(const struct page *page, const struct facts *facts, const struct finding *finding)
{
	const struct intervention *tried = finding->tried > 0 ? &facts->tried[finding->tried - 1] : NULL;
	char text[FORMAT_BYTES], bound[FORMAT_BYTES];

	if (tried && tried->has_bytes) {
		tried_line(page, "before", tried, tried->before_bytes);
		tried_line(page, "after", tried, tried->after_bytes);
	}

	for (size_t i = 0; i < finding->evidence_count; i++) {
		enum fact_id id = finding->evidence[i];
		const struct fact *fact = &facts->all[id];

		fprintf(page->stream, "    %-48.48s %14s  %s%s", ebbi_fact_kinds[id].title,
			value_of(page, facts, id, text), page->style->dim, fact->source);
		if (fact->bound > 0)
			fprintf(page->stream, ", +-%s", ebbi_amount(bound, fact->bound));
		fprintf(page->stream, "%s\n", page->style->off);
	}
}

static void rows(const struct page *page, const struct verdict_row *all, size_t count, uint64_t rss_bytes)
{
	for (size_t i = 0; i < count; i++) {
		char text[FORMAT_BYTES];

		if (page->exact)
			snprintf(text, sizeof(text), "%" PRIu64, all[i].bytes);
		else
			snprintf(text, sizeof(text), "%.1f", (double)all[i].bytes / 1048576);
		fprintf(page->stream, "  %-*s%*s", NAME_WIDTH, all[i].title, page->exact ? 15 : 10, text);
		if (rss_bytes > 0)
			fprintf(page->stream, "%6.1f", (double)all[i].bytes * 100 / (double)rss_bytes);
		fputc('\n', page->stream);
	}
}

static void accounts(const struct page *page, const struct facts *facts, const struct account_table *table)
{
	struct verdict_row all[VERDICT_ROWS];
	uint64_t rss = ebbi_fact(facts, FACT_RSS);
	size_t count;

	if (table) {
		uint64_t least = table->rss_bytes / SMALL_PART;

		fputc('\n', page->stream);
		ebbi_accounts_text(page->stream, table, page->style, page->exact,
				   least > SMALL_LEAST ? least : SMALL_LEAST);
		return;
	}
	count = ebbi_verdict_rows(facts, all);
	if (count > 0) {
		struct verdict_row sum = {"rss", "RSS", rss};

		fprintf(page->stream, "\n  %s%-*s%*s%6s%s\n", page->style->dim, NAME_WIDTH, "account",
			page->exact ? 15 : 10, page->exact ? "bytes" : "MiB", "%", page->style->off);
		rows(page, all, count, rss);
		fputs(page->style->bold, page->stream);
		rows(page, &sum, 1, rss);
		fputs(page->style->off, page->stream);
	}
	count = ebbi_verdict_outside(facts, all);
	if (count > 0) {
		fprintf(page->stream, "\n  %snot in RSS, or given up%s\n", page->style->dim, page->style->off);
		rows(page, all, count, 0);
	}
}

/* What was tried or counted gives about as much; what a remedy is for, that at most. */
static const char *gain_of(const struct finding *finding, char *ret_text)
{
	uint64_t bytes = finding->gain_bytes > 0 ? finding->gain_bytes : finding->bytes;
	char amount[AMOUNT_BYTES];

	if (ebbi_codes[finding->code].rank == 0)
		return "no memory";
	if (bytes == 0)
		return "not known before it was tried";
	snprintf(ret_text, FORMAT_BYTES, "%s %s", finding->gain_bytes > 0 ? "about" : "at most",
		 ebbi_amount(amount, bytes));
	return ret_text;
}

static void advice(const struct page *page, const struct verdict *verdict)
{
	const struct finding *first = &verdict->findings[0];
	const struct code_kind *code = &ebbi_codes[first->code];
	const char *remedy = first->remedy[0] ? first->remedy : code->remedy;
	char text[FORMAT_BYTES];

	if (remedy[0]) {
		fputc('\n', page->stream);
		paragraph(page, "  remedy  ", 10, remedy);
		fprintf(page->stream, "  gain    %s\n", gain_of(first, text));
		paragraph(page, "  cost    ", 10, code->cost);
	}
	if (verdict->next[0]) {
		fputc('\n', page->stream);
		paragraph(page, "  next    measure: ", 10, verdict->next);
	}
}

static void further(const struct page *page, const struct verdict *verdict)
{
	for (size_t i = verdict->undecided ? 2 : 1; i < verdict->count && i < FURTHER_MOST; i++) {
		char text[32];

		snprintf(text, sizeof(text), "  %s: ", ebbi_codes[verdict->findings[i].code].word);
		fputs(i == 1 || (verdict->undecided && i == 2) ? "\n" : "", page->stream);
		paragraph(page, text, 4, verdict->findings[i].says);
	}
}

void ebbi_verdict_text(FILE *stream, const struct facts *facts, const struct verdict *verdict,
		       const struct account_table *table, const struct style *style, bool exact)
{
	struct page page = {.stream = stream, .style = style, .exact = exact};

	head(&page, facts, verdict);
	evidence(&page, facts, &verdict->findings[0]);
	further(&page, verdict);
	accounts(&page, facts, table);
	/* Where the heap is what the verdict is about. */
	if (verdict->findings[0].code == CODE_ALLOC_RETAINED || verdict->findings[0].code == CODE_ALLOC_FRAGMENTED)
		ebbi_arenas_text(stream, facts, style, exact);
	advice(&page, verdict);
}
