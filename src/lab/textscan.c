#include "lab/textscan.h"

#include <string.h>

void ebbi_textscan_start(struct textscan *scan, const char *needle)
{
	scan->needle = needle;
	scan->needle_length = strlen(needle);
	scan->tail_length = 0;
}

bool ebbi_textscan_feed(struct textscan *scan, const char *bytes, size_t length)
{
	size_t keep = scan->needle_length - 1;
	size_t head = length < keep ? length : keep;

	/* Across the seam: the kept end and as much of the new as the text may reach into. */
	memcpy(scan->window + scan->tail_length, bytes, head);
	if (memmem(scan->window, scan->tail_length + head, scan->needle, scan->needle_length) ||
	    memmem(bytes, length, scan->needle, scan->needle_length))
		return true;
	if (length >= keep) {
		memcpy(scan->window, bytes + length - keep, keep);
		scan->tail_length = keep;
		return false;
	}
	scan->tail_length += head;
	if (scan->tail_length > keep) {
		memmove(scan->window, scan->window + scan->tail_length - keep, keep);
		scan->tail_length = keep;
	}
	return false;
}
