#include "report/view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/view_parts.h"

/* What has grown is told over ten to twenty seconds: shorter is noise, longer is late. */
#define GROWTH_NS 10000000000u

void ebbi_view_add(struct view *view, const struct sample *sample)
{
	const struct account_table *table = sample->table;
	uint64_t now_ns = sample->look->at_ns;

	if (view->point_count == VIEW_POINTS) {
		memmove(view->points, view->points + 1, (VIEW_POINTS - 1) * sizeof(view->points[0]));
		view->point_count--;
	}
	view->points[view->point_count++] = (struct view_point){.at_ns = now_ns,
								.rss_bytes = table->rss_bytes,
								.live_bytes = table->live_bytes,
								.held_bytes = table->held_bytes};
	if (view->newer_ns == 0) {
		view->older = view->newer = *table;
		view->older_ns = view->newer_ns = now_ns;
	} else if (now_ns - view->newer_ns >= GROWTH_NS) {
		view->older = view->newer;
		view->older_ns = view->newer_ns;
		view->newer = *table;
		view->newer_ns = now_ns;
	}
}

bool ebbi_view_key(struct view *view, int key)
{
	const unsigned page = 10;

	switch (key) {
	case 's':
		view->sort = (view->sort + 1) % SORT_COUNT;
		view->scroll = 0;
		return true;
	case 'd':
		view->details = !view->details;
		view->scroll = 0;
		return true;
	case 'p':
	case ' ':
		view->paused = !view->paused;
		return true;
	case 'h':
	case '?':
		view->help = !view->help;
		return true;
	case VIEW_KEY_UP:
		view->scroll -= view->scroll > 0;
		return true;
	case VIEW_KEY_DOWN:
		view->scroll++;
		return true;
	case VIEW_KEY_PAGE_UP:
		view->scroll = view->scroll > page ? view->scroll - page : 0;
		return true;
	case VIEW_KEY_PAGE_DOWN:
		view->scroll += page;
		return true;
	default:
		return false;
	}
}

/* --- Above and below --------------------------------------------------------------------- */

static double mib(uint64_t bytes)
{
	return (double)bytes / 1048576.0;
}

static void title(struct canvas *canvas, const struct view *view, const struct sample *sample)
{
	time_t at = (time_t)sample->look->at_unix;
	struct tm local;
	char clock[16];

	localtime_r(&at, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	for (unsigned i = 0; i < canvas->columns; i++)
		ebbi_canvas_print(canvas, 0, i, INK_TITLE, " ");
	ebbi_canvas_print(canvas, 0, 1, INK_TITLE, "ebb watch  %s (%d)%s", sample->look->command,
			  (int)sample->look->pid, sample->table->on_ebb ? ", under ebb" : "");
	ebbi_canvas_print_right(canvas, 0, canvas->columns - 1, INK_TITLE, "%severy %.3g s  %s",
				view->paused ? "PAUSED  " : "", view->interval_s, clock);
}

static unsigned figure(struct canvas *canvas, unsigned row, unsigned column, const char *name, enum ink ink,
		       const char *value)
{
	column = ebbi_canvas_print(canvas, row, column, INK_DIM, "%s ", name);
	return ebbi_canvas_print(canvas, row, column, ink, "%s", value) + (canvas->columns < 100 ? 2 : 3);
}

static void memory_line(struct canvas *canvas, const struct sample *sample, unsigned row)
{
	const struct account_table *table = sample->table;
	const struct look *look = sample->look;
	char text[64];
	unsigned column = 1;
	unsigned pressure = (unsigned)look->snapshot.pressure;

	snprintf(text, sizeof(text), "%.1f MiB", mib(table->rss_bytes));
	column = figure(canvas, row, column, "RSS", INK_BOLD, text);
	if (table->budget_bytes > 0) {
		snprintf(text, sizeof(text), "%.1f", mib(table->budget_bytes));
		column = figure(canvas, row, column, "budget", INK_LINE, text);
		snprintf(text, sizeof(text), "%u", pressure);
		column = figure(canvas, row, column, "pressure", pressure >= 800 ? INK_BAD : INK_PLAIN, text);
	} else if (look->cgroup.limit_bytes > 0) {
		snprintf(text, sizeof(text), "%.0f", mib(look->cgroup.limit_bytes));
		column = figure(canvas, row, column, "group's limit", INK_PLAIN, text);
	}
	snprintf(text, sizeof(text), "%.1f", mib(look->status.hwm_bytes));
	column = figure(canvas, row, column, "peak", INK_PLAIN, text);
	if (!table->on_ebb)
		return;
	snprintf(text, sizeof(text), "%.1f", mib(table->live_bytes));
	column = figure(canvas, row, column, "live", INK_LIVE, text);
	snprintf(text, sizeof(text), "%.1f", mib(table->held_bytes));
	(void)figure(canvas, row, column, "held", INK_HELD, text);
}

static void rate_line(struct canvas *canvas, const struct sample *sample, unsigned row)
{
	char text[64];
	unsigned column = 1;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)sample->look->status.threads);
	column = figure(canvas, row, column, "threads", INK_PLAIN, text);
	if (!sample->has_rates)
		return;
	snprintf(text, sizeof(text), "%.0f %%", sample->cpu_share * 100);
	column = figure(canvas, row, column, "CPU", INK_PLAIN, text);
	if (sample->major_faults > 0)
		snprintf(text, sizeof(text), "%.0f/s, %.0f major", sample->faults, sample->major_faults);
	else
		snprintf(text, sizeof(text), "%.0f/s", sample->faults);
	column = figure(canvas, row, column, "faults", sample->major_faults > 0 ? INK_BAD : INK_PLAIN, text);
	if (!sample->table->on_ebb)
		return;
	snprintf(text, sizeof(text), "%.0f/s %.1f MiB/s", sample->purges, sample->purged_bytes / 1048576.0);
	column = figure(canvas, row, column, "purges", INK_PLAIN, text);
	snprintf(text, sizeof(text), "%.0f/s", sample->refaults);
	(void)figure(canvas, row, column, "refaults", INK_PLAIN, text);
}

/* One line a ledger; returns the row behind them. */
static unsigned ledger_lines(struct canvas *canvas, const struct sample *sample, unsigned row)
{
	for (size_t i = 0; i < sample->ledger_count; i++, row++) {
		const struct ledger_value *ledger = &sample->ledgers[i];
		double gap = mib(sample->table->rss_bytes) - mib(ledger->bytes);
		unsigned column = ebbi_canvas_print(canvas, row, 1, INK_DIM, "ledger ");

		column = ebbi_canvas_print(canvas, row, column, INK_BOLD, "%s ", ledger->name);
		if (ledger->known)
			ebbi_canvas_print(canvas, row, column, INK_PLAIN, "%.1f MiB; RSS is %.1f MiB %s",
					  mib(ledger->bytes), gap < 0 ? -gap : gap, gap < 0 ? "less" : "more");
		else
			ebbi_canvas_print(canvas, row, column, INK_BAD, "%s", ledger->problem);
	}
	return row;
}

static void outside_line(struct canvas *canvas, const struct sample *sample, unsigned row)
{
	static const char *const names[] = {"page tables", "swap", "group's page cache", "sockets", "MADV_FREE"};
	unsigned column = ebbi_canvas_print(canvas, row, 1, INK_DIM, "not in RSS: ");

	for (size_t i = 0; i < sample->table->outside_count && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct outside_row *outside = &sample->table->outside[i];

		/* The last is in RSS, and in its own place when it matters. */
		if (!outside->known || (i == 4 && outside->bytes == 0))
			continue;
		column = ebbi_canvas_print(canvas, row, column, INK_DIM, i == 4 ? "  in it: %s " : "%s ", names[i]);
		column = ebbi_canvas_print(canvas, row, column, INK_PLAIN, "%.1f", mib(outside->bytes)) + 2;
	}
}

static void key_line(struct canvas *canvas, const struct view *view, unsigned row)
{
	static const char *const sorts[] = {"table", "size", "growth", "name"};
	const struct {
		const char *key;
		const char *what;
	} keys[] = {
		{"q", "quit"},
		{"s", "sort: "},
		{"d", view->details ? "fewer rows" : "all rows"},
		{"p", view->paused ? "go on" : "pause"},
		{"arrows", "scroll"},
		{"h", "help"},
	};
	unsigned column = 1;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		column = ebbi_canvas_print(canvas, row, column, INK_BOLD, "%s", keys[i].key);
		column = ebbi_canvas_print(canvas, row, column + 1, INK_DIM, "%s%s", keys[i].what,
					   i == 1 ? sorts[view->sort] : "") +
			 2;
	}
}

static void help_screen(struct canvas *canvas)
{
	static const char *const lines[] = {
		"q         quit",
		"s         sort: as the table, by size, by growth, by name",
		"d         every row of every section, or the sections and the live heap",
		"p, space  pause: the screen stays, the process goes on",
		"arrows    scroll; page up and page down, too",
		"h, ?      this text",
		"",
		"The rows of the table sum up to RSS. Live is what the program has",
		"allocated and not freed: by account, and by library as an estimate.",
		"Held is what it freed and libebb keeps. \"change\" is since ten to twenty",
		"seconds ago. The line across the graph is the budget; pressure goes from",
		"0 to 1000, at the line. More: man ebb-watch",
	};

	ebbi_canvas_print(canvas, 2, 3, INK_BOLD, "Keys");
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ebbi_canvas_print(canvas, 4 + i, 3, INK_PLAIN, "%s", lines[i]);
	ebbi_canvas_print(canvas, canvas->rows - 1, 1, INK_DIM, "h goes back, q quits");
}

/* --- The whole --------------------------------------------------------------------------- */

#define GRAPH_LEAST 4
#define GRAPH_MOST 16
/* From this width on what grows has a place of its own. */
#define WIDE 120
#define SIDE 50

void ebbi_view_draw(struct canvas *canvas, struct view *view, const struct sample *sample)
{
	unsigned rows = canvas->rows, columns = canvas->columns;
	unsigned graph = rows / 3 > GRAPH_MOST ? GRAPH_MOST : rows / 3;
	unsigned row, left = columns;

	ebbi_canvas_clear(canvas);
	title(canvas, view, sample);
	if (view->help) {
		help_screen(canvas);
		return;
	}
	memory_line(canvas, sample, 1);
	rate_line(canvas, sample, 2);
	row = ledger_lines(canvas, sample, 3);
	if (view->notice[0])
		ebbi_canvas_print(canvas, row++, 1, INK_BAD, "%s", view->notice);
	if (graph >= GRAPH_LEAST) {
		ebbi_view_graph(canvas, view, sample->table, row, graph);
		row += graph + 1;
	}
	if (columns >= WIDE) {
		left = columns - SIDE - 2;
		ebbi_view_side(canvas, view, sample,
			       (struct area){row, left + 2, rows > row + 2 ? rows - row - 2 : 0, SIDE});
	}
	if (rows > row + 2)
		ebbi_view_table(canvas, view, sample->table, (struct area){row, 0, rows - row - 2, left});
	if (rows > 2)
		outside_line(canvas, sample, rows - 2);
	key_line(canvas, view, rows - 1);
}
