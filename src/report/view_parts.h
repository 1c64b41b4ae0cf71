/*
 * view_parts.h: the large parts of the screen of `ebb watch`. For view.c alone.
 *
 * Owns: nothing. Threading: one thread. Errors: none; they stay within their area.
 */
#ifndef EBBI_REPORT_VIEW_PARTS_H
#define EBBI_REPORT_VIEW_PARTS_H

#include "report/view.h"

struct area {
	unsigned row, column, rows, columns;
};

/* RSS over time, live and held in it, the budget across it; `height` rows and one for the axis. */
void ebbi_view_graph(struct canvas *canvas, const struct view *view, const struct account_table *table, unsigned row,
		     unsigned height);

void ebbi_view_table(struct canvas *canvas, struct view *view, const struct account_table *table, struct area area);

/* Held by kind, and what has grown most. */
void ebbi_view_side(struct canvas *canvas, const struct view *view, const struct sample *sample, struct area area);

#endif
