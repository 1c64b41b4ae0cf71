#include "report/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512

int ebbi_canvas_resize(struct canvas *canvas, unsigned columns, unsigned rows)
{
	struct cell *cells = calloc((size_t)columns * rows + 1, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	free(canvas->cells);
	canvas->cells = cells;
	canvas->columns = columns;
	canvas->rows = rows;
	ebbi_canvas_clear(canvas);
	return 0;
}

void ebbi_canvas_free(struct canvas *canvas)
{
	free(canvas->cells);
	canvas->cells = NULL;
}

void ebbi_canvas_clear(struct canvas *canvas)
{
	for (size_t i = 0; i < (size_t)canvas->columns * canvas->rows; i++)
		canvas->cells[i] = (struct cell){.text = " ", .ink = INK_PLAIN};
}

static void put(struct canvas *canvas, unsigned row, unsigned column, enum ink ink, const char *character)
{
	struct cell *cell;

	if (row >= canvas->rows || column >= canvas->columns)
		return;
	cell = &canvas->cells[(size_t)row * canvas->columns + column];
	snprintf(cell->text, sizeof(cell->text), "%s", character);
	cell->ink = (unsigned char)ink;
}

static unsigned write_text(struct canvas *canvas, unsigned row, unsigned column, enum ink ink, const char *text)
{
	for (; *text; text++, column++) {
		char one[2] = {*text, 0};

		/* Of a character of several bytes the first stands for all. */
		if (((unsigned char)*text & 0xc0) == 0x80) {
			column--;
			continue;
		}
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			one[0] = '?';
		put(canvas, row, column, ink, one);
	}
	return column;
}

unsigned ebbi_canvas_print(struct canvas *canvas, unsigned row, unsigned column, enum ink ink, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	return write_text(canvas, row, column, ink, line);
}

void ebbi_canvas_print_right(struct canvas *canvas, unsigned row, unsigned column, enum ink ink, const char *format,
			     ...)
{
	char line[LINE_BYTES];
	va_list arguments;
	unsigned length;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	length = (unsigned)strlen(line);
	(void)write_text(canvas, row, column > length ? column - length : 0, ink, line);
}

/* U+2581 to U+2588 rise, U+258F to U+2588 lengthen. */
void ebbi_canvas_fill(struct canvas *canvas, unsigned row, unsigned column, enum ink ink, unsigned eighths)
{
	char block[4] = "\xe2\x96\x80";

	if (eighths == 0)
		return;
	block[2] = (char)(0x80 + (eighths < 8 ? eighths : 8));
	if (canvas->blocks)
		put(canvas, row, column, ink, block);
	else if (eighths >= 4)
		put(canvas, row, column, ink, "#");
}

void ebbi_canvas_bar(struct canvas *canvas, unsigned row, unsigned column, unsigned width, double share, enum ink ink)
{
	unsigned eighths = share > 0 ? (unsigned)(share * width * 8 + 0.5) : 0;
	char block[4] = "\xe2\x96\x88";

	if (eighths > width * 8)
		eighths = width * 8;
	for (; eighths >= 8; eighths -= 8)
		put(canvas, row, column++, ink, canvas->blocks ? block : "#");
	block[2] = (char)(0x90 - eighths);
	if (eighths > 0 && canvas->blocks)
		put(canvas, row, column, ink, block);
}

void ebbi_canvas_dash(struct canvas *canvas, unsigned row, unsigned column, enum ink ink)
{
	put(canvas, row, column, ink, canvas->blocks ? "\xe2\x94\x80" : "-");
}
