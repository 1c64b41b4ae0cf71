/* The profile as two tables: by library, by function. */
#include <math.h>
#include <string.h>

#include "report/heap.h"

/* So that all of it fits a terminal of 24 lines. */
#define LIBRARY_ROWS 5
#define FUNCTION_ROWS 11
#define NAME_BYTES 1024
#define FIGURES_WIDTH 37 /* before the name, with --bytes 6 more */

struct table {
	FILE *stream;
	const struct heap *heap;
	const struct heap_text *text;
};

/* "libfoo" of "libfoo.so.1". */
static int shown_length(const char *library)
{
	const char *end = strstr(library, ".so");

	return (int)(end && library[0] != '[' ? end - library : (ptrdiff_t)strlen(library));
}

static const char *figure(const struct table *table, char *buffer, double bytes)
{
	snprintf(buffer, FORMAT_BYTES, table->text->bytes ? "%.0f" : "%.1f",
		 table->text->bytes ? bytes : bytes / 1048576.0);
	return buffer;
}

/* One line of figures; cum NULL: there is none. */
static void print_figures(const struct table *table, const struct heap_sum *flat, const struct heap_sum *cum)
{
	char bytes[FORMAT_BYTES], error[FORMAT_BYTES], below[FORMAT_BYTES];
	int width = table->text->bytes ? 12 : 9;
	double whole = table->heap->sum.bytes;

	fprintf(table->stream, "%*s %*s %4.0f %% %*s  ", width, figure(table, bytes, flat->bytes), width,
		table->heap->about.total ? "-" : figure(table, error, sqrt(flat->variance)),
		whole > 0 ? flat->bytes / whole * 100 : 0, width, cum ? figure(table, below, cum->bytes) : "");
}

static void print_head(const struct table *table, const char *what)
{
	const struct style *style = &table->text->style;
	int width = table->text->bytes ? 12 : 9;

	fprintf(table->stream, "\n%s%*s %*s %6s %*s  %s%s\n", style->dim, width,
		table->text->bytes ? "flat" : "flat MiB", width, "error", "", width, "cum", what, style->off);
}

/* At most `room` columns, the middle left out; multi-byte characters count for more than they take, which is no harm. */
static void print_name(const struct table *table, const char *name, int room)
{
	int length = (int)strlen(name);
	int tail;

	if (table->text->columns == 0 || length <= room || room < 8) {
		fputs(name, table->stream);
		return;
	}
	tail = (room - 3) * 2 / 3;
	/* Not in the middle of a character. */
	while (tail > 0 && ((unsigned char)name[length - tail] & 0xc0) == 0x80)
		tail--;
	room -= 3 + tail;
	while (room > 0 && ((unsigned char)name[room] & 0xc0) == 0x80)
		room--;
	fprintf(table->stream, "%.*s...%s", room, name, name + length - tail);
}

static void print_library(const struct table *table, const struct heap_row *row)
{
	const char *library = ebbi_stacks_library(table->heap->stacks, row->index);

	print_figures(table, &row->flat, &row->cum);
	fprintf(table->stream, "%.*s\n", shown_length(library), library);
}

static void print_function(const struct table *table, const struct heap_row *row)
{
	const struct stack_function *function = &table->heap->stacks->functions[row->index];
	const char *library = ebbi_heap_library(table->heap, row->index);
	int room = table->text->columns - FIGURES_WIDTH - (table->text->bytes ? 9 : 0);

	print_figures(table, &row->flat, &row->cum);
	if (function->known)
		room -= shown_length(library) + 3;
	print_name(table, function->name, room);
	if (function->known)
		fprintf(table->stream, " %s(%.*s)%s", table->text->style.dim, shown_length(library), library,
			table->text->style.off);
	fputc('\n', table->stream);
}

static void print_rows(const struct table *table, const char *what, const struct heap_row *rows, size_t count,
		       size_t most, void (*print)(const struct table *, const struct heap_row *))
{
	struct heap_sum others = {0};
	size_t more = 0;

	print_head(table, what);
	for (size_t i = 0; i < count; i++) {
		if (table->text->all || (i < most && rows[i].flat.bytes > 0)) {
			print(table, &rows[i]);
			continue;
		}
		others.bytes += rows[i].flat.bytes;
		others.variance += rows[i].flat.variance;
		more += rows[i].flat.bytes > 0;
	}
	if (more > 0) {
		print_figures(table, &others, NULL);
		fprintf(table->stream, "%zu other%s\n", more, more == 1 ? "" : "s");
	}
}

static void print_title(const struct table *table)
{
	const struct heap *heap = table->heap;
	const struct style *style = &table->text->style;
	const char *exact = table->text->bytes ? "" : " MiB";
	char bytes[FORMAT_BYTES], error[FORMAT_BYTES], interval[FORMAT_BYTES], count[FORMAT_BYTES];

	fprintf(table->stream, "%s%s (process %d): %s%s %s%s", style->bold, heap->about.command, (int)heap->about.pid,
		figure(table, bytes, heap->sum.bytes), exact, heap->about.total ? "allocated since its start" : "live",
		style->off);
	if (!heap->about.total)
		fprintf(table->stream, ", standard error %s, from some %s samples",
			figure(table, error, sqrt(heap->sum.variance)),
			ebbi_format_count(count,
					  heap->sum.samples < 1e18 ? (uint64_t)(heap->sum.samples + 0.5) : UINT64_MAX));
	snprintf(interval, sizeof(interval), "%.0f KiB", (double)heap->stacks->profile.interval_bytes / 1024);
	fprintf(table->stream, "\none sample every %s in the mean; cum: with all that was called\n", interval);
}

void ebbi_heap_text(FILE *stream, const struct heap *heap, const struct heap_text *text)
{
	struct table table = {stream, heap, text};

	print_title(&table);
	if (heap->path_count == 0)
		return;
	print_rows(&table, "library", heap->libraries, heap->library_count, LIBRARY_ROWS, print_library);
	print_rows(&table, "function", heap->functions, heap->function_count, FUNCTION_ROWS, print_function);
}
