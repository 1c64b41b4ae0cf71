/*
 * view.h: the screen of `ebb watch`: a graph over time, the account table, rates; drawn on a canvas.
 *
 * Owns: the course of the process so far (the last VIEW_POINTS samples). Never: touches a terminal or the process.
 * Threading: one thread. Errors: none; a screen too small shows what fits, down to a word.
 */
#ifndef EBBI_REPORT_VIEW_H
#define EBBI_REPORT_VIEW_H

#include "report/canvas.h"
#include "report/sample.h"

#define VIEW_POINTS 1024

enum view_sort { SORT_TABLE, SORT_SIZE, SORT_GROWTH, SORT_NAME, SORT_COUNT };

struct view_point {
	uint64_t at_ns;
	uint64_t rss_bytes;
	uint64_t live_bytes;
	uint64_t held_bytes;
};

struct view {
	enum view_sort sort;
	bool details; /* every row of every section */
	bool paused;
	bool help;
	unsigned scroll;
	double interval_s;
	char notice[160];
	size_t point_count;
	struct view_point points[VIEW_POINTS]; /* the oldest first */
	/* Tables of some time ago, for what has grown: `older` is compared with, `newer` takes its place. */
	struct account_table older, newer;
	uint64_t older_ns, newer_ns;
};

/* Takes note of a sample. */
void ebbi_view_add(struct view *view, const struct sample *sample);

void ebbi_view_draw(struct canvas *canvas, struct view *view, const struct sample *sample);

/* What a key does to the view; false when it is none of the view's. */
bool ebbi_view_key(struct view *view, int key);

enum { VIEW_KEY_UP = 0x1000, VIEW_KEY_DOWN, VIEW_KEY_PAGE_UP, VIEW_KEY_PAGE_DOWN };

#endif
