#include <stdlib.h>
#include <string.h>

#include "report/view_parts.h"

/* A line of the table on the screen: a section or a row. */
struct shown {
	bool is_section;
	enum section section;
	const char *name;
	int64_t bytes;
	int64_t change;
	uint64_t error_bytes;
	uint32_t count;
};

#define SHOWN_MOST (ACCOUNT_ROWS + SECTION_COUNT)
#define FIGURES 27 /* columns of MiB, % and change */

static double mib(int64_t bytes)
{
	double value = (double)bytes / 1048576.0;

	return value > -0.05 && value < 0 ? 0 : value;
}

static int64_t bytes_before(const struct view *view, const struct account_row *row)
{
	const struct account_table *before = &view->older;

	for (size_t i = 0; i < before->count; i++) {
		if (before->rows[i].section == row->section && strcmp(before->rows[i].name, row->name) == 0)
			return before->rows[i].bytes;
	}
	return 0;
}

static enum ink ink_of(enum section section)
{
	if (section == SECTION_LIVE)
		return INK_LIVE;
	return section == SECTION_HELD ? INK_HELD : INK_REST;
}

/* --- What is shown ----------------------------------------------------------------------- */

static struct shown shown_row(const struct view *view, const struct account_row *row)
{
	return (struct shown){.section = row->section,
			      .name = row->name,
			      .bytes = row->bytes,
			      .change = row->bytes - bytes_before(view, row),
			      .error_bytes = row->error_bytes,
			      .count = row->section == SECTION_STACKS ? row->count : 0};
}

/* From so many rows on, the largest of every section have room. */
#define TALL 24

/* Sections with their rows: all of them, or those that matter. */
static size_t as_table(const struct view *view, const struct account_table *table, unsigned room,
		       struct shown *ret_shown)
{
	size_t count = 0;

	for (enum section section = 0; section < SECTION_COUNT; section++) {
		if (!table->on_ebb && section < SECTION_OBJECTS)
			continue;
		ret_shown[count++] = (struct shown){.is_section = true,
						    .section = section,
						    .name = ebbi_section_title(section),
						    .bytes = table->sections[section],
						    .change = table->sections[section] - view->older.sections[section]};
		for (size_t i = 0; i < table->count && section != SECTION_REST; i++) {
			const struct account_row *row = &table->rows[i];
			bool matters = (room >= TALL || section == SECTION_LIVE ||
					(section == SECTION_OTHER && !table->on_ebb)) &&
				       (uint64_t)llabs(row->bytes) * 100 >= table->rss_bytes;

			if (row->section == section && (view->details || matters))
				ret_shown[count++] = shown_row(view, row);
		}
	}
	return count;
}

static size_t all_rows(const struct view *view, const struct account_table *table, struct shown *ret_shown)
{
	for (size_t i = 0; i < table->count; i++)
		ret_shown[i] = shown_row(view, &table->rows[i]);
	return table->count;
}

static int by_size(const void *a, const void *b)
{
	const struct shown *left = a, *right = b;

	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

static int by_growth(const void *a, const void *b)
{
	const struct shown *left = a, *right = b;

	if (left->change != right->change)
		return left->change > right->change ? -1 : 1;
	return by_size(a, b);
}

static int by_name(const void *a, const void *b)
{
	const struct shown *left = a, *right = b;

	return strcasecmp(left->name, right->name);
}

static size_t collect(const struct view *view, const struct account_table *table, unsigned room,
		      struct shown *ret_shown)
{
	size_t count;

	if (view->sort == SORT_TABLE)
		return as_table(view, table, room, ret_shown);
	count = all_rows(view, table, ret_shown);
	qsort(ret_shown, count, sizeof(*ret_shown),
	      view->sort == SORT_SIZE     ? by_size
	      : view->sort == SORT_GROWTH ? by_growth
					  : by_name);
	return count;
}

/* --- Drawing ----------------------------------------------------------------------------- */

static void draw_change(struct canvas *canvas, unsigned row, unsigned end, int64_t change)
{
	if (change >= 52429 || change <= -52429)
		ebbi_canvas_print_right(canvas, row, end, change > 0 ? INK_HELD : INK_LIVE, "%+.1f", mib(change));
	else
		ebbi_canvas_print_right(canvas, row, end, INK_DIM, "-");
}

static void draw_line(struct canvas *canvas, const struct shown *shown, const struct account_table *table,
		      struct area area, bool indented)
{
	unsigned name_width = area.columns > 100 ? 50 : area.columns * 45 / 100;
	unsigned figures = area.column + 1 + name_width;
	unsigned bar = figures + FIGURES + 2;
	double share = table->rss_bytes > 0 ? (double)shown->bytes / (double)table->rss_bytes : 0;
	char name[160], note[48] = "";

	if (shown->error_bytes > 0)
		snprintf(note, sizeof(note), " +-%.1f", mib((int64_t)shown->error_bytes));
	else if (shown->count > 1)
		snprintf(note, sizeof(note), " (%u threads)", shown->count);
	snprintf(name, sizeof(name), "%s%s%s", indented ? "  " : "", shown->name, note);
	if (name_width >= 3 && strlen(name) > name_width)
		snprintf(name + name_width - 3, 4, "...");
	ebbi_canvas_print(canvas, area.row, area.column + 1, shown->is_section ? INK_BOLD : INK_PLAIN, "%s", name);
	ebbi_canvas_print_right(canvas, area.row, figures + 10, shown->is_section ? INK_BOLD : INK_PLAIN, "%.1f",
				mib(shown->bytes));
	ebbi_canvas_print_right(canvas, area.row, figures + 17, INK_PLAIN, "%.1f",
				share * 100 > -0.05 && share < 0 ? 0.0 : share * 100);
	draw_change(canvas, area.row, figures + FIGURES, shown->change);
	if (bar + 4 < area.column + area.columns)
		ebbi_canvas_bar(canvas, area.row, bar, area.column + area.columns - bar - 1, share,
				ink_of(shown->section));
}

static void draw_head(struct canvas *canvas, const struct account_table *table, struct area area)
{
	unsigned name_width = area.columns > 100 ? 50 : area.columns * 45 / 100;
	unsigned figures = area.column + 1 + name_width;

	ebbi_canvas_print(canvas, area.row, area.column + 1, INK_DIM, "account");
	ebbi_canvas_print_right(canvas, area.row, figures + 10, INK_DIM, "MiB");
	ebbi_canvas_print_right(canvas, area.row, figures + 17, INK_DIM, "%%");
	ebbi_canvas_print_right(canvas, area.row, figures + FIGURES, INK_DIM, "change");
	if (figures + FIGURES + 12 < area.column + area.columns)
		ebbi_canvas_print(canvas, area.row, figures + FIGURES + 2, INK_DIM, "of %.1f MiB",
				  mib((int64_t)table->rss_bytes));
}

void ebbi_view_table(struct canvas *canvas, struct view *view, const struct account_table *table, struct area area)
{
	static struct shown shown[SHOWN_MOST];
	size_t count = collect(view, table, area.rows, shown);
	size_t room = area.rows > 1 ? area.rows - 1 : 0;

	if (view->scroll + room > count)
		view->scroll = count > room ? (unsigned)(count - room) : 0;
	draw_head(canvas, table, area);
	for (size_t i = view->scroll; i < count && i < view->scroll + room; i++) {
		struct area line = {area.row + 1 + (unsigned)(i - view->scroll), area.column, 1, area.columns};

		draw_line(canvas, &shown[i], table, line, view->sort == SORT_TABLE && !shown[i].is_section);
	}
	if (view->scroll + room < count)
		ebbi_canvas_print_right(canvas, area.row + area.rows - 1, area.column + area.columns - 1, INK_DIM,
					"%zu more below", count - view->scroll - room);
}

/* --- The side ---------------------------------------------------------------------------- */

static unsigned held_by_kind(struct canvas *canvas, const struct account_table *table, struct area area)
{
	unsigned row = area.row;

	ebbi_canvas_print(canvas, row++, area.column, INK_DIM, "held by kind");
	for (size_t i = 0; i < table->count; i++) {
		const struct account_row *at = &table->rows[i];

		if (at->section != SECTION_HELD)
			continue;
		ebbi_canvas_print(canvas, row, area.column, INK_PLAIN, "%.30s", at->name);
		ebbi_canvas_print_right(canvas, row, area.column + 38, INK_PLAIN, "%.1f", mib(at->bytes));
		ebbi_canvas_bar(canvas, row, area.column + 40, area.columns - 41,
				table->held_bytes ? (double)at->bytes / (double)table->held_bytes : 0, INK_HELD);
		row++;
	}
	return row + 1;
}

void ebbi_view_side(struct canvas *canvas, const struct view *view, const struct sample *sample, struct area area)
{
	static struct shown shown[SHOWN_MOST];
	const struct account_table *table = sample->table;
	size_t count = all_rows(view, table, shown);
	unsigned row = area.row, end = area.row + area.rows;

	if (table->on_ebb)
		row = held_by_kind(canvas, table, area);
	qsort(shown, count, sizeof(shown[0]), by_growth);
	ebbi_canvas_print(canvas, row++, area.column, INK_DIM, "grown most in the last %.0f s",
			  (double)(sample->look->at_ns - view->older_ns) / 1e9);
	for (size_t i = 0; i < count && row < end && shown[i].change >= 52429; i++, row++) {
		ebbi_canvas_print(canvas, row, area.column, INK_PLAIN, "%.30s", shown[i].name);
		draw_change(canvas, row, area.column + 38, shown[i].change);
		ebbi_canvas_bar(canvas, row, area.column + 40, area.columns - 41,
				(double)shown[i].change / (double)shown[0].change, ink_of(shown[i].section));
	}
	if (count == 0 || shown[0].change < 52429)
		ebbi_canvas_print(canvas, row, area.column, INK_PLAIN, "nothing");
}
