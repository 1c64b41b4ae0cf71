#include "report/view_parts.h"

#define AXIS 10 /* columns for the figures at the left */

static double mib(uint64_t bytes)
{
	return (double)bytes / 1048576.0;
}

/* The first of the points that fit into `width` columns, and the highest figure among them. */
static size_t first_point(const struct view *view, unsigned width, uint64_t *ret_most)
{
	size_t first = view->point_count > width ? view->point_count - width : 0;

	*ret_most = 1;
	for (size_t i = first; i < view->point_count; i++) {
		if (view->points[i].rss_bytes > *ret_most)
			*ret_most = view->points[i].rss_bytes;
	}
	return first;
}

/* Who has the byte at this height: from below the rest, live, held. */
static enum ink band(const struct view_point *point, double bytes)
{
	double heap = (double)point->live_bytes + (double)point->held_bytes;
	double rest = (double)point->rss_bytes - heap;

	if (heap <= 0 || bytes < rest)
		return INK_REST;
	return bytes < rest + (double)point->live_bytes ? INK_LIVE : INK_HELD;
}

static void column_of(struct canvas *canvas, const struct view_point *point, struct area area, double scale)
{
	unsigned eighths = (unsigned)((double)point->rss_bytes / scale * area.rows * 8 + 0.5);

	for (unsigned i = 0; i < area.rows && eighths > 0; i++) {
		unsigned here = eighths < 8 ? eighths : 8;
		double middle = (i * 8 + here / 2.0) / (area.rows * 8) * scale;

		ebbi_canvas_fill(canvas, area.row + area.rows - 1 - i, area.column, band(point, middle), here);
		eighths -= here;
	}
}

static void budget_line(struct canvas *canvas, uint64_t budget, struct area area, double scale)
{
	unsigned height = (unsigned)((double)budget / scale * area.rows);
	unsigned row;

	if (budget == 0 || (double)budget > scale || height >= area.rows)
		return;
	row = area.row + area.rows - 1 - height;
	for (unsigned i = 0; i < area.columns; i++) {
		const struct cell *cell = &canvas->cells[(size_t)row * canvas->columns + area.column + i];

		if (cell->text[0] == ' ')
			ebbi_canvas_dash(canvas, row, area.column + i, INK_LINE);
	}
	for (unsigned i = 0; i < AXIS; i++)
		ebbi_canvas_print(canvas, row, i, INK_PLAIN, " ");
	ebbi_canvas_print_right(canvas, row, AXIS - 1, INK_LINE, "%.1f", mib(budget));
}

static void axis(struct canvas *canvas, const struct view *view, size_t first, const struct account_table *table,
		 unsigned row)
{
	unsigned width = canvas->columns - AXIS;
	size_t shown = view->point_count - first;
	double seconds =
		shown > 1 ? (double)(view->points[view->point_count - 1].at_ns - view->points[first].at_ns) / 1e9 : 0;
	unsigned column = AXIS;

	if (shown * 2 > width)
		column = ebbi_canvas_print(canvas, row, AXIS, INK_DIM, "-%.0f s", seconds) + 3;
	column = ebbi_canvas_print(canvas, row, column, INK_REST, "%s", canvas->blocks ? "" : "#");
	if (table->on_ebb) {
		ebbi_canvas_fill(canvas, row, column, INK_HELD, 8);
		column = ebbi_canvas_print(canvas, row, column + 1, INK_DIM, " held  ");
		ebbi_canvas_fill(canvas, row, column, INK_LIVE, 8);
		column = ebbi_canvas_print(canvas, row, column + 1, INK_DIM, " live  ");
	}
	ebbi_canvas_fill(canvas, row, column, INK_REST, 8);
	ebbi_canvas_print(canvas, row, column + 1, INK_DIM, table->on_ebb ? " the rest of RSS" : " RSS");
	ebbi_canvas_print_right(canvas, row, canvas->columns - 1, INK_DIM, "now");
}

void ebbi_view_graph(struct canvas *canvas, const struct view *view, const struct account_table *table, unsigned row,
		     unsigned height)
{
	struct area area = {row, AXIS, height, canvas->columns > AXIS + 1 ? canvas->columns - AXIS - 1 : 0};
	unsigned lower = height - height / 2; /* rows below the figure in the middle */
	uint64_t most;
	size_t first = first_point(view, area.columns, &most);
	double scale = (double)most * 1.1;

	/* The line is in the picture unless that would press the rest flat. */
	if (table->budget_bytes > 0 && (double)table->budget_bytes * 1.1 > scale && table->budget_bytes < 4 * most)
		scale = (double)table->budget_bytes * 1.1;
	for (size_t i = first; i < view->point_count; i++) {
		struct area at = area;

		at.column = AXIS + area.columns - (unsigned)(view->point_count - i);
		column_of(canvas, &view->points[i], at, scale);
	}
	ebbi_canvas_print_right(canvas, row, AXIS - 1, INK_DIM, "%.1f", scale / 1048576.0);
	ebbi_canvas_print_right(canvas, row + height / 2, AXIS - 1, INK_DIM, "%.1f",
				scale / 1048576.0 * lower / height);
	ebbi_canvas_print_right(canvas, row + height - 1, AXIS - 1, INK_DIM, "MiB  0");
	budget_line(canvas, table->budget_bytes, area, scale);
	axis(canvas, view, first, table, row + height);
}
