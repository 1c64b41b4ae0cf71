#include "report/sparkline.h"

#include <string.h>

/* Eight heights of block, U+2581 to U+2588. */
static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
				     "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};

void ebbi_sparkline(const struct timeline_point *points, size_t count, size_t columns, char *ret_text)
{
	uint64_t highest[SPARKLINE_MOST] = {0};
	uint64_t begin_ns, span_ns, most = 0;
	char *at = ret_text;

	*at = 0;
	if (columns > SPARKLINE_MOST)
		columns = SPARKLINE_MOST;
	if (count < 2 || columns == 0)
		return;
	begin_ns = points[0].at_ns;
	span_ns = points[count - 1].at_ns - begin_ns + 1;
	for (size_t i = 0; i < count; i++) {
		size_t column = (size_t)((double)(points[i].at_ns - begin_ns) / (double)span_ns * (double)columns);

		if (column >= columns)
			column = columns - 1;
		if (points[i].rss_bytes > highest[column])
			highest[column] = points[i].rss_bytes;
		if (points[i].rss_bytes > most)
			most = points[i].rss_bytes;
	}
	for (size_t i = 0; i < columns; i++) {
		/* A share of the time without a point (we were not scheduled): as before. */
		if (highest[i] == 0 && i > 0)
			highest[i] = highest[i - 1];
		memcpy(at, blocks[most ? highest[i] * 7 / most : 0], 3);
		at += 3;
	}
	*at = 0;
}
