/*
 * canvas.h: a screen of characters to draw on, before it goes to a terminal or into a test.
 *
 * Owns: its cells. Never: touches a terminal. Threading: one thread.
 * Errors: -ENOMEM on resize, which leaves the canvas as it was; what lies outside is not drawn.
 * Invariant: a cell holds one character of one column's width; foreign bytes beyond ASCII become '?'.
 */
#ifndef EBBI_REPORT_CANVAS_H
#define EBBI_REPORT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

enum ink { INK_PLAIN, INK_DIM, INK_BOLD, INK_LIVE, INK_HELD, INK_REST, INK_LINE, INK_BAD, INK_TITLE, INK_COUNT };

struct cell {
	char text[4]; /* UTF-8 with a NUL; our own characters have three bytes at most */
	unsigned char ink;
};

struct canvas {
	unsigned columns;
	unsigned rows;
	bool blocks; /* block characters of UTF-8 may be drawn; else '#' */
	struct cell *cells;
};

int ebbi_canvas_resize(struct canvas *canvas, unsigned columns, unsigned rows);
void ebbi_canvas_free(struct canvas *canvas);
void ebbi_canvas_clear(struct canvas *canvas);

/* printf at a place; returns the column behind it. */
__attribute__((format(printf, 5, 6))) unsigned ebbi_canvas_print(struct canvas *canvas, unsigned row, unsigned column,
								 enum ink ink, const char *format, ...);

/* The same with its end at `column` (exclusive). */
__attribute__((format(printf, 5, 6))) void ebbi_canvas_print_right(struct canvas *canvas, unsigned row, unsigned column,
								   enum ink ink, const char *format, ...);

/* A cell filled from below by so many eighths. */
void ebbi_canvas_fill(struct canvas *canvas, unsigned row, unsigned column, enum ink ink, unsigned eighths);

/* A bar to the right, `share` (0 to 1) of `width` columns long. */
void ebbi_canvas_bar(struct canvas *canvas, unsigned row, unsigned column, unsigned width, double share, enum ink ink);

/* A piece of a horizontal line. */
void ebbi_canvas_dash(struct canvas *canvas, unsigned row, unsigned column, enum ink ink);

#endif
