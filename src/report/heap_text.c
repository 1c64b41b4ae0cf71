/* The profile as two tables: by library, by function. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "report/heap.h"

/* So that all of it fits a terminal of 24 lines. */
#define LIBRARY_ROWS 5
#define FUNCTION_ROWS 11
/* Of a library's name beside a function's, the rest is for the latter. */
#define LIBRARY_WIDTH 18

struct table {
	FILE *stream;
	const struct heap *heap;
	const struct heap_text *text;
};

/* "libfoo" of "libfoo.so.1", "_json" of "_json.cpython-311-x86_64-linux-gnu.so"; at most NAME_MAX bytes. */
static const char *shown_library(const char *library, char *ret_name)
{
	static const char *const endings[] = {".cpython-", ".abi3.so", ".so"};
	size_t length = strlen(library);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *end = library[0] != '[' ? strstr(library, endings[i]) : NULL;

		if (end && (size_t)(end - library) < length)
			length = (size_t)(end - library);
	}
	snprintf(ret_name, NAME_MAX + 1, "%.*s", length < NAME_MAX ? (int)length : NAME_MAX, library);
	return ret_name;
}

static const char *figure(const struct table *table, char *buffer, double bytes)
{
	snprintf(buffer, FORMAT_BYTES, table->text->bytes ? "%.0f" : "%.1f",
		 table->text->bytes ? bytes : bytes / 1048576.0);
	return buffer;
}

/* The figures that begin a line, and their width; cum NULL: there is none. */
static int print_figures(const struct table *table, const struct heap_sum *flat, const struct heap_sum *cum)
{
	char bytes[FORMAT_BYTES], error[FORMAT_BYTES], below[FORMAT_BYTES];
	int width = table->text->bytes ? 12 : 9;
	double whole = table->heap->sum.bytes;

	return fprintf(table->stream, "%*s %*s %4.0f %% %*s  ", width, figure(table, bytes, flat->bytes), width,
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
	char library[NAME_MAX + 1];
	int width = print_figures(table, &row->flat, &row->cum);

	print_name(table, shown_library(ebbi_stacks_library(table->heap->stacks, row->index), library),
		   table->text->columns - width);
	fputc('\n', table->stream);
}

static void print_function(const struct table *table, const struct heap_row *row)
{
	const struct stack_function *function = &table->heap->stacks->functions[row->index];
	char library[NAME_MAX + 1];
	int room = table->text->columns - print_figures(table, &row->flat, &row->cum);
	int length;

	if (!function->known) {
		print_name(table, function->name, room);
		fputc('\n', table->stream);
		return;
	}
	length = (int)strlen(shown_library(ebbi_heap_library(table->heap, row->index), library));
	if (length > LIBRARY_WIDTH)
		length = LIBRARY_WIDTH;
	print_name(table, function->name, room - length - 3);
	fprintf(table->stream, " %s(", table->text->style.dim);
	print_name(table, library, LIBRARY_WIDTH);
	fprintf(table->stream, ")%s\n", table->text->style.off);
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
	char bytes[FORMAT_BYTES], error[FORMAT_BYTES], count[FORMAT_BYTES];

	fprintf(table->stream, "%s%s (process %d): %s %s %s%s", style->bold, heap->about.command, (int)heap->about.pid,
		figure(table, bytes, heap->sum.bytes), table->text->bytes ? "bytes" : "MiB",
		heap->about.total ? "allocated since its start" : "live", style->off);
	if (!heap->about.total) {
		ebbi_format_count(count, heap->sum.samples < 1e18 ? (uint64_t)(heap->sum.samples + 0.5) : UINT64_MAX);
		fprintf(table->stream, ", standard error %s\nsome %s samples, ",
			figure(table, error, sqrt(heap->sum.variance)), count);
	} else {
		fputc('\n', table->stream);
	}
	fprintf(table->stream, "one every %.0f KiB in the mean; cum: with all that was called\n",
		(double)heap->stacks->profile.interval_bytes / 1024);
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
