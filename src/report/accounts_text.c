#include <inttypes.h>
#include <string.h>

#include "report/accounts.h"

#define NAME_WIDTH 46

struct printer {
	FILE *stream;
	const struct account_table *table;
	const struct style *style;
	bool exact;
};

/* Figures of one table in one unit; "-0.0" would be odd. */
static const char *amount(const struct printer *printer, char *ret_text, int64_t bytes)
{
	if (printer->exact)
		snprintf(ret_text, FORMAT_BYTES, "%" PRId64, bytes);
	else if (bytes > -52429 && bytes < 0)
		snprintf(ret_text, FORMAT_BYTES, "0.0");
	else
		snprintf(ret_text, FORMAT_BYTES, "%.1f", (double)bytes / 1048576.0);
	return ret_text;
}

static void line(const struct printer *printer, int indent, const char *name, int64_t bytes, const char *note)
{
	char text[FORMAT_BYTES];

	fprintf(printer->stream, "  %*s%-*.*s%*s", indent, "", NAME_WIDTH - indent, NAME_WIDTH - indent, name,
		printer->exact ? 15 : 10, amount(printer, text, bytes));
	if (printer->table->rss_bytes > 0 && indent == 0)
		fprintf(printer->stream, "%6.1f", (double)bytes * 100 / (double)printer->table->rss_bytes);
	if (note[0])
		fprintf(printer->stream, "%*s%s%s%s", indent == 0 ? 2 : 8, "", printer->style->dim, note,
			printer->style->off);
	fputc('\n', printer->stream);
}

static void row_note(const struct printer *printer, const struct account_row *row, char *ret_note, size_t size)
{
	char text[FORMAT_BYTES];

	ret_note[0] = 0;
	if (row->error_bytes > 0)
		snprintf(ret_note, size, "+-%s", amount(printer, text, (int64_t)row->error_bytes));
	else if (row->limit_bytes > 0)
		snprintf(ret_note, size, "of %s", amount(printer, text, (int64_t)row->limit_bytes));
	else if (row->section == SECTION_STACKS && row->count > 1)
		snprintf(ret_note, size, "%u threads", row->count);
}

/*
 * The rows of a section; many small ones as one line, or as none when that would only say again what the section's own
 * line says. A section that is one row of its own name has none.
 */
static void rows(const struct printer *printer, enum section section, uint64_t least_bytes)
{
	int64_t small_bytes = 0;
	size_t small = 0, shown = 0;

	for (size_t i = 0; i < printer->table->count && section != SECTION_REST; i++) {
		const struct account_row *row = &printer->table->rows[i];
		char note[64];

		if (row->section != section)
			continue;
		if (row->bytes >= 0 && (uint64_t)row->bytes < least_bytes) {
			small++;
			small_bytes += row->bytes;
			continue;
		}
		row_note(printer, row, note, sizeof(note));
		line(printer, 2, row->name, row->bytes, note);
		shown++;
	}
	if (shown > 0 && small_bytes > 0) {
		char name[ACCOUNT_NAME];

		snprintf(name, sizeof(name), "%zu smaller", small);
		line(printer, 2, name, small_bytes, "");
	}
}

static void outside_rows(const struct printer *printer)
{
	fprintf(printer->stream, "\n  %snot in RSS%s\n", printer->style->dim, printer->style->off);
	for (size_t i = 0; i < printer->table->outside_count; i++) {
		const struct outside_row *row = &printer->table->outside[i];

		if (row->known)
			line(printer, 2, row->title, (int64_t)row->bytes, row->note);
		else
			fprintf(printer->stream, "    %-*s%*s        %s%s%s\n", NAME_WIDTH - 2, row->title,
				printer->exact ? 15 : 10, "not known", printer->style->dim, row->note,
				printer->style->off);
	}
}

void ebbi_accounts_text(FILE *stream, const struct account_table *table, const struct style *style, bool exact,
			uint64_t least_bytes)
{
	struct printer printer = {.stream = stream, .table = table, .style = style, .exact = exact};
	char note[96], text[FORMAT_BYTES];

	fprintf(stream, "  %s%-*s%*s%6s%s\n", style->dim, NAME_WIDTH, "account", exact ? 15 : 10,
		exact ? "bytes" : "MiB", "%", style->off);
	for (enum section section = 0; section < SECTION_COUNT; section++) {
		if (!table->on_ebb && section < SECTION_OBJECTS)
			continue;
		note[0] = 0;
		if (section == SECTION_REST && table->on_ebb)
			snprintf(note, sizeof(note), "at least -%s",
				 amount(&printer, text, (int64_t)table->bound_bytes));
		line(&printer, 0, ebbi_section_title(section), table->sections[section], note);
		rows(&printer, section, least_bytes);
	}
	fputs(style->bold, stream);
	line(&printer, 0, "RSS", (int64_t)table->rss_bytes, "");
	fputs(style->off, stream);
	outside_rows(&printer);
}
