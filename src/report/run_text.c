#include "report/run_text.h"

#include <string.h>
#include <sys/wait.h>

#include "report/accounts.h"
#include "report/sparkline.h"
#include "report/words.h"

#define MIB 1048576u
/* Label, then columns; 80 characters hold the label and five columns. */
#define LABEL_WIDTH 16
#define COLUMN_WIDTH 12
#define COLUMN_WIDTH_EXACT 15
#define SCREEN 80
#define NOTE_INDENT 8
/* Fewer points make no picture. */
#define SPARKLINE_LEAST 16
/* Rows of the account table below a hundredth, or a tenth of a MiB, are summed up. */
#define ROW_SHARE 100u
#define ROW_LEAST (MIB / 10)

struct table {
	FILE *stream;
	const struct run_result *result;
	const struct style *style;
	bool exact;
	bool parts; /* show anonymous and file: one process */
	bool ebb;   /* show live and held */
};

static void cell_text(const struct table *table, const char *text)
{
	fprintf(table->stream, "%*s", table->exact ? COLUMN_WIDTH_EXACT : COLUMN_WIDTH, text);
}

static void cell(const struct table *table, bool known, uint64_t bytes)
{
	char text[FORMAT_BYTES];

	cell_text(table, known ? ebbi_format_bytes(text, bytes, table->exact) : "-");
}

static void label(const struct table *table, const char *text)
{
	fprintf(table->stream, "  %-*s", LABEL_WIDTH - 2, text);
}

static void head(const struct table *table)
{
	static const char *const names[] = {[BASIS_RSS] = "RSS", [BASIS_PSS] = "PSS", [BASIS_RSS_SUM] = "RSS summed"};

	fputs(table->style->dim, table->stream);
	label(table, "");
	cell_text(table, names[table->result->basis]);
	if (table->parts) {
		cell_text(table, "anonymous");
		cell_text(table, "file");
	}
	if (table->ebb) {
		cell_text(table, "live");
		cell_text(table, "held");
	}
	fprintf(table->stream, "%s\n", table->style->off);
}

static void mark_row(const struct table *table, const char *name, const struct mark *mark)
{
	const struct tree_memory *memory = &mark->memory;
	bool exact = mark->taken && memory->refused == 0 && memory->processes > 0;
	uint64_t bytes = 0;
	bool known = ebbi_mark_bytes(mark, table->result->basis, &bytes);

	label(table, name);
	fputs(table->style->bold, table->stream);
	cell(table, known, bytes);
	fputs(table->style->off, table->stream);
	if (table->parts) {
		cell(table, exact, memory->anonymous_bytes);
		cell(table, exact, memory->rss_bytes - memory->anonymous_bytes);
	}
	if (table->ebb) {
		cell(table, mark->ebb_processes > 0, mark->ebb_live_bytes);
		cell(table, mark->ebb_processes > 0, mark->ebb_held_bytes);
	}
	fputc('\n', table->stream);
}

static void peak_row(const struct table *table)
{
	const struct peak *peak = &table->result->peak;
	char text[FORMAT_BYTES];

	label(table, "peak");
	fputs(table->style->bold, table->stream);
	cell(table, peak->source != PEAK_NONE, peak->bytes);
	fprintf(table->stream, "%s%s", table->style->off, table->style->dim);
	if (peak->source == PEAK_NONE)
		fputs("   ended before it could be read", table->stream);
	else if (peak->source == PEAK_AT_MOST)
		fputs("   at most: less than ebb itself needs to start it", table->stream);
	else if (table->result->processes_most <= 1)
		fprintf(table->stream, "   high-water mark%s, +-%s", peak->source == PEAK_SAMPLES ? " and samples" : "",
			ebbi_format_bytes(text, peak->bound_bytes, table->exact));
	else if (peak->upper_bytes > peak->bytes)
		fprintf(table->stream, "   highest seen of %zu processes; %s at most", table->result->processes_most,
			ebbi_format_bytes(text, peak->upper_bytes, table->exact));
	else
		fprintf(table->stream, "   highest seen of %zu processes", table->result->processes_most);
	fprintf(table->stream, "%s\n", table->style->off);
}

/* Whether the last look differs by more than 1 % from the resting memory shown above it. */
static bool last_says_more(const struct run_result *result)
{
	uint64_t last, resting;

	if (!ebbi_mark_bytes(&result->last, result->basis, &last))
		return false;
	for (size_t i = result->rest_count; i > 0; i--) {
		if (ebbi_mark_bytes(&result->rest[i - 1], result->basis, &resting))
			return last > resting + resting / 100 || resting > last + last / 100;
	}
	return true;
}

static void mark_rows(const struct table *table)
{
	const struct run_result *result = table->result;

	mark_row(table, "boot", &result->boot);
	peak_row(table);
	for (size_t i = 0; i < result->rest_count; i++) {
		char name[32];

		if (!result->rest[i].taken)
			continue;
		snprintf(name, sizeof(name), "resting %g s", (double)result->rest_ns[i] / 1e9);
		mark_row(table, name, &result->rest[i]);
	}
	if (!result->load_ran && last_says_more(result))
		mark_row(table, "last seen", &result->last);
}

static void ready_row(const struct table *table)
{
	const struct run_result *result = table->result;
	char text[FORMAT_BYTES];

	if (!result->boot.taken)
		return;
	label(table, "ready");
	fprintf(table->stream, "%s", ebbi_format_seconds(text, result->ready_ns));
	if (result->boot_by == BOOT_BY_READY)
		fprintf(table->stream, "  (%s %.120s)\n", ebbi_word_ready(result), result->ready.target);
	else if (result->boot_by == BOOT_BY_IDLE)
		fputs("  (idle for 300 ms; a --ready option is more exact)\n", table->stream);
	else
		fputs("  (still at work; a --ready option is more exact)\n", table->stream);
}

static void load_row(const struct table *table)
{
	const struct run_result *result = table->result;
	char seconds[FORMAT_BYTES];
	char status[48];

	if (!result->load_ran || result->load_ns == 0)
		return;
	label(table, "load");
	fprintf(table->stream, "%s  (%s)\n", ebbi_format_seconds(seconds, result->load_ns),
		ebbi_sentence_status(result->load_status, status, sizeof(status)));
	if (!result->has_work)
		return;
	label(table, "work");
	fprintf(table->stream, "%.10g  (%.4g a second of the load)\n", result->work,
		result->work / ((double)result->load_ns / 1e9));
}

static void ended_row(const struct table *table)
{
	const struct run_result *result = table->result;
	bool asked = result->outcome != OUTCOME_ENDED && result->outcome != OUTCOME_DIED_EARLY &&
		     result->outcome != OUTCOME_DIED_LOADED;
	char seconds[FORMAT_BYTES];
	char status[48];

	if (!result->main_reaped)
		return;
	label(table, "ended");
	fprintf(table->stream, "after %s: %s%s%s\n", ebbi_format_seconds(seconds, result->total_ns),
		asked ? "stopped by ebb, " : "", ebbi_sentence_status(result->main_status, status, sizeof(status)),
		result->killed ? " (it outlasted --grace)" : "");
}

static void total_rows(const struct table *table)
{
	const struct run_result *result = table->result;
	char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES];

	ready_row(table);
	load_row(table);
	label(table, "CPU");
	fprintf(table->stream, "%s  (%s user, %s system)\n",
		ebbi_format_seconds(a, result->user_ns + result->system_ns), ebbi_format_seconds(b, result->user_ns),
		ebbi_format_seconds(c, result->system_ns));
	label(table, "page faults");
	fprintf(table->stream, "%s  (%s major)\n", ebbi_format_count(a, result->minor_faults + result->major_faults),
		ebbi_format_count(b, result->major_faults));
	if (result->threads_most > 0) {
		label(table, "threads");
		fprintf(table->stream, "%s at most", ebbi_format_count(a, result->threads_most));
		if (result->processes_most > 1)
			fprintf(table->stream, ", in %s processes", ebbi_format_count(b, result->processes_most));
		fputc('\n', table->stream);
	}
	ended_row(table);
}

/* One note, in as many lines of 80 characters as it takes. */
static void note(const struct table *table, const char *text)
{
	size_t column = NOTE_INDENT;

	fprintf(table->stream, "  %snote:%s", table->style->warn, table->style->off);
	while (*text) {
		size_t length = strcspn(text, " ");

		if (column + length > SCREEN) {
			fprintf(table->stream, "\n%*s", NOTE_INDENT - 1, "");
			column = NOTE_INDENT;
		}
		fprintf(table->stream, " %.*s", (int)length, text);
		column += length + 1;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', table->stream);
}

/* Memory that a bare RSS hides or overstates, when there is enough of it to matter. */
static void hidden_notes(const struct table *table, const struct mark *mark, const char *when)
{
	char text[160], a[FORMAT_BYTES];
	const struct tree_memory *memory = &mark->memory;

	if (!mark->taken || memory->refused > 0)
		return;
	if (memory->lazyfree_bytes >= MIB) {
		snprintf(text, sizeof(text), "%s of %s was given up with MADV_FREE and still counts",
			 ebbi_format_bytes(a, memory->lazyfree_bytes, table->exact), when);
		note(table, text);
	}
	if (memory->swap_bytes >= MIB) {
		snprintf(text, sizeof(text), "%s more lay in swap at %s",
			 ebbi_format_bytes(a, memory->swap_bytes, table->exact), when);
		note(table, text);
	}
	if (memory->huge_bytes >= MIB) {
		snprintf(text, sizeof(text), "%s of %s is in huge pages",
			 ebbi_format_bytes(a, memory->huge_bytes, table->exact), when);
		note(table, text);
	}
}

static void other_allocators(const struct table *table)
{
	const struct run_result *result = table->result;
	const char *own = strrchr(result->allocator.path, '/');
	char text[256];

	for (size_t i = 0; i < result->others.other_count; i++) {
		const char *other = result->others.others[i];

		if (own && strcmp(own + 1, other) == 0)
			continue;
		if (result->allocator.path[0])
			snprintf(text, sizeof(text),
				 "%s is loaded as well: it serves only what asks for it by its own names", other);
		else
			snprintf(text, sizeof(text),
				 "%s is linked by the command itself: the figures are those of it, not of %s", other,
				 result->allocator.name);
		note(table, text);
	}
}

static void notes(const struct table *table)
{
	const struct run_result *result = table->result;
	char text[RESULT_NOTE_BYTES + 160];

	if (ebbi_sentence_preload(result, text, sizeof(text)))
		note(table, text);
	else if (result->preload_missing > 0) {
		snprintf(text, sizeof(text), "%zu of %zu processes run without %s", result->preload_missing,
			 result->preload_missing + result->preload_processes, result->allocator.name);
		note(table, text);
	}
	other_allocators(table);
	if (result->rest_count > 0 && result->rest[result->rest_count - 1].taken)
		hidden_notes(table, &result->rest[result->rest_count - 1], "the resting memory");
	else if (result->last.taken)
		hidden_notes(table, &result->last, "the memory last seen");
	if (result->basis == BASIS_RSS_SUM)
		note(table, "the tree may not be read in full: shared pages are counted once a process");
	if (result->left_behind > 0) {
		snprintf(text, sizeof(text), "%zu processes are still there, even after SIGKILL", result->left_behind);
		note(table, text);
	}
	for (size_t i = 0; i < result->note_count; i++)
		note(table, result->notes[i]);
}

/* Whose table it is, and when it was looked at. */
static void account_head(const struct table *table, const struct account_table *accounts)
{
	const struct full_look *full = &table->result->full_look;
	char rss[FORMAT_BYTES], when[32];

	switch (full->when) {
	case LOOKED_AT_REST:
		snprintf(when, sizeof(when), "resting %g s", (double)full->rest_ns / 1e9);
		break;
	case LOOKED_AT_WORK:
		snprintf(when, sizeof(when), "at work");
		break;
	case LOOKED_AFTER_LOAD:
		snprintf(when, sizeof(when), "after the load");
		break;
	case LOOKED_AT_BOOT:
	case LOOKED_NEVER:
		snprintf(when, sizeof(when), "at boot");
		break;
	}
	fprintf(table->stream, "\n  %s%.32s%s (%d%s), %s", table->style->bold, full->look->command, table->style->off,
		(int)full->look->pid, full->is_main && full->processes > 1 ? ", the main process" : "", when);
	if (full->processes > 1)
		fprintf(table->stream, ", the largest of %zu", full->processes);
	fprintf(table->stream, ": RSS %s\n", ebbi_format_bytes(rss, accounts->rss_bytes, table->exact));
}

static void account_rows(const struct table *table)
{
	static struct account_table accounts;
	const struct look *look = table->result->full_look.look;
	uint64_t least_bytes;
	char text[256];

	if (!look)
		return;
	ebbi_accounts_make(look, &accounts);
	account_head(table, &accounts);
	least_bytes = accounts.rss_bytes / ROW_SHARE > ROW_LEAST ? accounts.rss_bytes / ROW_SHARE : ROW_LEAST;
	ebbi_accounts_text(table->stream, &accounts, table->style, table->exact, table->exact ? 0 : least_bytes);
	if (look->holdings.stacks_unsure > 0) {
		snprintf(text, sizeof(text), "the stacks of %zu threads that were running are in \"other mappings\"",
			 look->holdings.stacks_unsure);
		note(table, text);
	}
	if (ebbi_accounts_reason(look, text, sizeof(text)))
		note(table, text);
}

/* The whole course as a line of blocks, where the terminal can show them. */
static void over_time(const struct table *table)
{
	const struct run_result *result = table->result;
	char line[SPARKLINE_BYTES];

	if (!table->style->blocks || result->timeline_count < SPARKLINE_LEAST)
		return;
	ebbi_sparkline(result->timeline, result->timeline_count, SCREEN - LABEL_WIDTH - 4, line);
	label(table, "over time");
	fprintf(table->stream, "    %s%s%s\n", table->style->dim, line, table->style->off);
}

static void under_line(const struct table *table)
{
	const struct run_result *result = table->result;

	fprintf(table->stream, "%sunder %s", table->style->dim, result->allocator.name);
	if (result->conf)
		fprintf(table->stream, " %s", result->conf);
	if (result->allocator.path[0])
		fprintf(table->stream, ", %s", result->allocator.path);
	if (result->preload == PRELOAD_UNKNOWN && result->preload_reason == REASON_TOO_SHORT)
		fputs(" (ended before that could be checked)", table->stream);
	fprintf(table->stream, "%s\n\n", table->style->off);
}

void ebbi_run_text(FILE *stream, const struct run_result *result, const struct style *style, bool exact_bytes)
{
	struct table table = {
		.stream = stream,
		.result = result,
		.style = style,
		.exact = exact_bytes,
		.parts = result->basis == BASIS_RSS,
	};
	const struct mark *marks[] = {&result->boot,    &result->last,    &result->rest[0],
				      &result->rest[1], &result->rest[2], &result->rest[3]};
	char command[1024];

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		table.ebb = table.ebb || (marks[i]->taken && marks[i]->ebb_processes > 0);
	ebbi_format_command(result->argv, command, sizeof(command));
	fprintf(stream, "%s%s%s\n", style->bold, command, style->off);
	under_line(&table);
	head(&table);
	mark_rows(&table);
	over_time(&table);
	fputc('\n', stream);
	total_rows(&table);
	account_rows(&table);
	notes(&table);
}

void ebbi_run_accounts_text(FILE *stream, const struct run_result *result, const struct style *style, bool exact_bytes)
{
	struct table table = {.stream = stream, .result = result, .style = style, .exact = exact_bytes};

	account_rows(&table);
}
