/* The profile as a graph to look into with a browser. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/heap.h"
#include "report/heap_svg_script.h"

#define WIDTH 1200.0
#define MARGIN 10.0
#define ROW 17.0
#define TOP 86.0
#define LETTER 6.6 /* width of one at 11 px in the fonts asked for */
/* Narrower than this, a frame cannot be seen, and zooming in shows it not much better. */
#define LEAST 0.05
#define LEGEND_ROWS 6

struct drawing {
	FILE *stream;
	const struct heap *heap;
	double scale; /* pixels a byte */
	uint32_t depth;
};

/* The beginning of a name, in so many letters. */
static void put_short(FILE *stream, const char *name, size_t letters)
{
	char text[256];
	size_t length = strlen(name);

	if (letters >= sizeof(text))
		letters = sizeof(text) - 1;
	if (letters < 3)
		return;
	if (length > letters) {
		length = letters - 2;
		while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
			length--;
		snprintf(text, sizeof(text), "%.*s..", (int)length, name);
	} else {
		snprintf(text, sizeof(text), "%s", name);
	}
	ebbi_format_xml(stream, text);
}

/* --- Colour: a hue for each library, light enough for dark letters ------------------------ */

static unsigned hash(const char *text)
{
	unsigned value = 2166136261u;

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 16777619u;
	return value;
}

static void put_colour(FILE *stream, const char *library, const char *name)
{
	if (library[0] == '[')
		fputs("#d5d5d5", stream);
	else
		fprintf(stream, "hsl(%u,62%%,%u%%)", hash(library) * 137u % 360u, 70 + hash(name) % 12u);
}

/* --- Frames ------------------------------------------------------------------------------ */

static void put_frame(const struct drawing *drawing, uint32_t function, uint32_t depth, double from,
		      const struct heap_sum *sum)
{
	FILE *stream = drawing->stream;
	const char *name = drawing->heap->stacks->functions[function].name;
	const char *library = ebbi_heap_library(drawing->heap, function);
	double x = MARGIN + from * drawing->scale, width = sum->bytes * drawing->scale;
	double y = TOP + depth * ROW;

	fprintf(stream, "<g class=\"f\" data-x=\"%.3f\" data-w=\"%.3f\" data-d=\"%u\"><title>", x, width, depth);
	ebbi_format_xml(stream, name);
	fputs("\n", stream);
	ebbi_format_xml(stream, library);
	fprintf(stream, "\n%.2f MiB, %.1f %%", sum->bytes / 1048576.0, sum->bytes / drawing->heap->sum.bytes * 100);
	if (!drawing->heap->about.total)
		fprintf(stream, ", standard error %.2f MiB, some %.0f samples", sqrt(sum->variance) / 1048576.0,
			sum->samples);
	fprintf(stream, "</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"", x, y, width,
		ROW - 1);
	put_colour(stream, library, name);
	fprintf(stream, "\"/><text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 12);
	put_short(stream, name, width > 6 ? (size_t)((width - 6) / LETTER) : 0);
	fputs("</text></g>\n", stream);
}

/* Paths first..end agree up to `depth`: one frame for each function there, and what lies below it. */
static void put_frames(struct drawing *drawing, size_t first, size_t end, uint32_t depth, double from)
{
	const struct heap_path *paths = drawing->heap->paths;

	while (first < end) {
		struct heap_sum sum = {0};
		size_t next = first;

		if (paths[first].count <= depth) {
			from += paths[first++].sum.bytes;
			continue;
		}
		while (next < end && paths[next].count > depth &&
		       paths[next].functions[depth] == paths[first].functions[depth]) {
			sum.bytes += paths[next].sum.bytes;
			sum.variance += paths[next].sum.variance;
			sum.samples += paths[next].sum.samples;
			next++;
		}
		if (sum.bytes * drawing->scale >= LEAST) {
			if (drawing->stream)
				put_frame(drawing, paths[first].functions[depth], depth, from, &sum);
			if (depth + 1 > drawing->depth)
				drawing->depth = depth + 1;
			put_frames(drawing, first, next, depth + 1, from);
		}
		from += sum.bytes;
		first = next;
	}
}

/* --- The rest of the picture -------------------------------------------------------------- */

static void put_legend(const struct drawing *drawing)
{
	double x = MARGIN;

	for (size_t i = 0; i < drawing->heap->library_count && i < LEGEND_ROWS; i++) {
		const struct heap_row *row = &drawing->heap->libraries[i];
		const char *library = ebbi_stacks_library(drawing->heap->stacks, row->index);
		char label[96];

		if (row->flat.bytes <= 0)
			break;
		snprintf(label, sizeof(label), "%.60s %.1f MiB", library, row->flat.bytes / 1048576.0);
		if (x + 24 + (double)strlen(label) * LETTER > WIDTH - MARGIN)
			break;
		fprintf(drawing->stream, "<rect x=\"%.0f\" y=\"56\" width=\"12\" height=\"12\" fill=\"", x);
		put_colour(drawing->stream, library, library);
		fprintf(drawing->stream, "\"/><text x=\"%.0f\" y=\"66\">", x + 17);
		ebbi_format_xml(drawing->stream, label);
		fputs("</text>\n", drawing->stream);
		x += 34 + (double)strlen(label) * LETTER;
	}
}

static void put_head(const struct drawing *drawing)
{
	const struct heap *heap = drawing->heap;
	FILE *stream = drawing->stream;
	double height = TOP + drawing->depth * ROW + 30;

	fprintf(stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
		WIDTH, height, WIDTH, height);
	fputs("<style>" HEAP_SVG_STYLE "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", stream);
	fprintf(stream, "<text class=\"t\" x=\"%.0f\" y=\"24\">", MARGIN);
	ebbi_format_xml(stream, heap->about.command);
	fprintf(stream, " (process %d): %.1f MiB %s</text>\n", (int)heap->about.pid, heap->sum.bytes / 1048576.0,
		heap->about.total ? "allocated since its start" : "live");
	fprintf(stream, "<text x=\"%.0f\" y=\"43\">", MARGIN);
	if (!heap->about.total)
		fprintf(stream, "standard error %.1f MiB, some %.0f samples, ", sqrt(heap->sum.variance) / 1048576.0,
			heap->sum.samples);
	fprintf(stream,
		"one every %.0f KiB. Callers lie above what they call; width is memory, colour is the library. "
		"Click to zoom.</text>\n",
		(double)heap->stacks->profile.interval_bytes / 1024);
	fprintf(stream, "<text id=\"d\" x=\"%.0f\" y=\"%.0f\"> </text>\n", MARGIN, height - 10);
	fputs(HEAP_SVG_CONTROLS, stream);
	put_legend(drawing);
}

void ebbi_heap_svg(FILE *stream, const struct heap *heap)
{
	struct drawing drawing = {.heap = heap};

	drawing.scale = heap->sum.bytes > 0 ? (WIDTH - 2 * MARGIN) / heap->sum.bytes : 0;
	/* Once without a stream, for the height. */
	put_frames(&drawing, 0, heap->path_count, 0, 0);
	drawing.stream = stream;
	put_head(&drawing);
	put_frames(&drawing, 0, heap->path_count, 0, 0);
	fputs("<script><![CDATA[" HEAP_SVG_SCRIPT "]]></script>\n</svg>\n", stream);
}
