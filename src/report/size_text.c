#include "report/size_text.h"

#include <inttypes.h>

#define SCREEN 80
#define REASON_INDENT 8

/* Three digits that count: 0.12, 1.03, 12.1, 123, 1,234. */
static const char *milliseconds(char *ret_text, uint64_t ns)
{
	double ms = (double)ns / 1e6;

	if (ms < 9.995)
		snprintf(ret_text, FORMAT_BYTES, "%.2f", ms);
	else if (ms < 99.95)
		snprintf(ret_text, FORMAT_BYTES, "%.1f", ms);
	else
		ebbi_format_count(ret_text, (uint64_t)(ms + 0.5));
	return ret_text;
}

/* Nothing is rounded to 0 % or to 100 % that is not. */
static const char *percent(char *ret_text, uint64_t of, uint64_t whole)
{
	double value = whole ? 100.0 * (double)of / (double)whole : 0;

	if (of == 0)
		snprintf(ret_text, FORMAT_BYTES, "0 %%");
	else if (value < 0.1)
		snprintf(ret_text, FORMAT_BYTES, "<0.1 %%");
	else if (value > 99.9 && of < whole)
		snprintf(ret_text, FORMAT_BYTES, "99.9 %%");
	else
		snprintf(ret_text, FORMAT_BYTES, "%.1f %%", value);
	return ret_text;
}

static const char *memory(char *ret_text, bool known, uint64_t bytes, bool exact)
{
	if (!known)
		snprintf(ret_text, FORMAT_BYTES, "-");
	else if (exact)
		snprintf(ret_text, FORMAT_BYTES, "%" PRIu64, bytes);
	else
		snprintf(ret_text, FORMAT_BYTES, "%.1f", (double)bytes / 1048576.0);
	return ret_text;
}

static uint64_t errors_of(const struct generator_result *load)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < GENERATOR_ERROR_COUNT; i++)
		sum += load->errors[i];
	return sum;
}

void ebbi_size_head(const struct size_table *table)
{
	const struct sizing *sizing = table->sizing;
	char command[60];

	ebbi_format_command(sizing->plan.argv, command, sizeof(command));
	fprintf(table->stream, "%s%s%s under %s\n", table->style.bold, command, table->style.off,
		sizing->plan.allocator.name);
	fprintf(table->stream, "each rate for %g s, to %s\n\n", (double)sizing->load.duration_ns / 1e9, table->url);
	fprintf(table->stream, "%s%7s %7s %7s %7s %6s %6s %6s %8s %7s %5s %4s%s\n", table->style.dim, "offered",
		"served", "refused", "errors", "p50", "p99", "max", "peak", "rest", "CPU", "box", table->style.off);
	fprintf(table->stream, "%s%7s %7s %7s %7s %6s %6s %6s %8s %7s %5s %4s%s\n", table->style.dim, "/s", "/s", "",
		"", "ms", "ms", "ms", table->exact ? "B" : "MiB", table->exact ? "B" : "MiB", "cores", "",
		table->style.off);
}

void ebbi_size_series(const struct size_table *table, const struct sizing_row *first)
{
	char box[FORMAT_BYTES];

	if (!table->many)
		return;
	fprintf(table->stream, "\n%s%" PRIu32 " connections%s", table->style.bold, first->connections,
		table->style.off);
	if (first->event_bytes)
		fprintf(table->stream, "%s, events of %s%s", table->style.bold, ebbi_size_box(box, first->event_bytes),
			table->style.off);
	if (first->sweep)
		fprintf(table->stream, "%s, %s=%s%s", table->style.bold, table->sizing->sweep_variable, first->sweep,
			table->style.off);
	fputc('\n', table->stream);
}

/* CPU of the server while the load ran, in cores; below 0: not known. */
static double cores(const struct run_result *run)
{
	uint64_t used_ns;

	if (!run->load_end.taken || !run->boot.taken || run->load_end.at_ns <= run->boot.at_ns)
		return -1;
	used_ns = run->load_end.times.user_ns + run->load_end.times.system_ns;
	if (used_ns < run->boot.times.user_ns + run->boot.times.system_ns)
		return -1;
	used_ns -= run->boot.times.user_ns + run->boot.times.system_ns;
	return (double)used_ns / (double)(run->load_end.at_ns - run->boot.at_ns);
}

static void row_memory(const struct size_table *table, const struct sizing_row *row)
{
	const struct run_result *run = &row->trial->result;
	const struct mark *last = run->rest_count > 0 ? &run->rest[run->rest_count - 1] : NULL;
	char peak[FORMAT_BYTES], rest[FORMAT_BYTES], cpu[FORMAT_BYTES] = "-", box[FORMAT_BYTES] = "-";
	uint64_t rest_bytes = 0;
	bool rested = last && last->taken && ebbi_mark_bytes(last, run->basis, &rest_bytes);
	size_t fits = ebbi_sizing_box(table->sizing, row);
	double used = cores(run);

	if (used >= 0)
		snprintf(cpu, sizeof(cpu), "%.2f", used);
	if (fits < table->sizing->box_count)
		ebbi_size_box(box, table->sizing->boxes[fits]);
	else if (row->verdict == ROW_SERVED)
		snprintf(box, sizeof(box), "none");
	fprintf(table->stream, " %8s %7s %5s %4s", memory(peak, run->peak.bytes > 0, run->peak.bytes, table->exact),
		memory(rest, rested, rest_bytes, table->exact), cpu, box);
}

void ebbi_size_row(const struct size_table *table, const struct sizing_row *row)
{
	const struct generator_result *load = row->load;
	const char *colour = row->verdict == ROW_SERVED ? "" : table->style.warn;
	char cells[7][FORMAT_BYTES];
	char reason[1024];
	double served = ebbi_generator_throughput(load, table->sizing->load.duration_ns);

	fprintf(table->stream, "%s%7s %7s %7s %7s %6s %6s %6s", colour, ebbi_format_count(cells[0], row->rate),
		ebbi_format_count(cells[1], (uint64_t)(served + 0.5)), percent(cells[2], load->refused, load->offered),
		percent(cells[3], errors_of(load), load->offered),
		load->served ? milliseconds(cells[4], ebbi_latency_quantile(&load->latency, 0.5)) : "-",
		load->served ? milliseconds(cells[5], ebbi_latency_quantile(&load->latency, 0.99)) : "-",
		load->served ? milliseconds(cells[6], load->latency.most_ns) : "-");
	row_memory(table, row);
	fprintf(table->stream, "%s\n", colour[0] ? table->style.off : "");
	ebbi_size_reason(table->sizing, row, reason, sizeof(reason));
	if (reason[0]) {
		fprintf(table->stream, "        %s", table->style.dim);
		ebbi_format_wrapped(table->stream, reason, REASON_INDENT, REASON_INDENT, SCREEN);
		fputs(table->style.off, table->stream);
	}
	fflush(table->stream);
}

/* --- What it says ------------------------------------------------------------------------ */

static void say_knee(const struct size_table *table, const struct sizing_series *series)
{
	const struct sizing_row *bad = series->bad ? &table->sizing->rows[series->bad_row] : NULL;
	char good[FORMAT_BYTES], above[FORMAT_BYTES];

	if (bad)
		ebbi_format_count(above, bad->rate);
	if (series->good == 0 && bad && bad->verdict == ROW_MACHINE)
		fprintf(table->stream, "No rate was served, and the machine itself was the limit: try lower ones.\n");
	else if (series->good == 0 && bad && bad->verdict == ROW_LATE)
		fprintf(table->stream,
			"No rate was served in time: try lower ones, or a longer --late if one stall is the cause.\n");
	else if (series->good == 0 && bad && (bad->verdict == ROW_SERVED || bad->verdict == ROW_NO_LOAD))
		fprintf(table->stream, "No rate was served.\n");
	else if (series->good == 0)
		fprintf(table->stream, "No rate was served: try lower ones.\n");
	else if (!bad)
		fprintf(table->stream, "Serves %s requests/s, the highest rate that was tried: the knee lies beyond.\n",
			ebbi_format_count(good, series->good));
	else if (bad->verdict == ROW_MACHINE)
		fprintf(table->stream,
			"Serves %s requests/s; at %s this machine, which carries the load as well, was the limit.\n",
			ebbi_format_count(good, series->good), above);
	else
		fprintf(table->stream, "Serves %s requests/s, and not %s: the knee lies between.\n",
			ebbi_format_count(good, series->good), above);
}

/* The highest served rate that fits; 0: none. */
static uint64_t best_in(const struct sizing *sizing, const struct sizing_series *series, size_t box)
{
	uint64_t best = 0;

	for (size_t i = series->first; i < series->first + series->count; i++) {
		const struct sizing_row *row = &sizing->rows[i];
		size_t fits = ebbi_sizing_box(sizing, row);

		if (fits < sizing->box_count && fits <= box && row->rate > best)
			best = row->rate;
	}
	return best;
}

void ebbi_size_knee(const struct size_table *table, const struct sizing_series *series)
{
	const struct sizing *sizing = table->sizing;
	char box[FORMAT_BYTES], share[FORMAT_BYTES], rate[FORMAT_BYTES];
	bool any = false;

	fprintf(table->stream, "\n%s", table->style.bold);
	say_knee(table, series);
	fputs(table->style.off, table->stream);
	for (size_t i = 0; i < sizing->box_count && series->good > 0; i++) {
		uint64_t best = best_in(sizing, series, i);
		uint64_t share_bytes = (uint64_t)(sizing->share * (double)sizing->boxes[i]);

		if (best == 0)
			continue;
		any = true;
		fprintf(table->stream, "  a machine of %-4s (%s for the process): %s requests/s\n",
			ebbi_size_box(box, sizing->boxes[i]), ebbi_format_bytes(share, share_bytes, table->exact),
			ebbi_format_count(rate, best));
		if (best == series->good)
			break;
	}
	if (!any && series->good > 0)
		fprintf(table->stream,
			"  No box fits: the largest, %s, has %s for the process; see --box and --share.\n",
			ebbi_size_box(box, sizing->boxes[sizing->box_count - 1]),
			ebbi_format_bytes(share,
					  (uint64_t)(sizing->share * (double)sizing->boxes[sizing->box_count - 1]),
					  table->exact));
}
