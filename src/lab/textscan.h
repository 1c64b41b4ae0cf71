/*
 * textscan.h: finds a text in a stream that comes in pieces.
 *
 * Owns: a window with the end of what came before. Pure. Threading: one thread a stream.
 * Errors: none. Invariant: tail_length < needle_length.
 */
#ifndef EBBI_LAB_TEXTSCAN_H
#define EBBI_LAB_TEXTSCAN_H

#include <stdbool.h>
#include <stddef.h>

#define TEXTSCAN_MAX 1024

struct textscan {
	const char *needle;
	size_t needle_length;
	size_t tail_length;
	char window[2 * TEXTSCAN_MAX];
};

/* `needle` has 1 to TEXTSCAN_MAX bytes and outlives the scan. */
void ebbi_textscan_start(struct textscan *scan, const char *needle);

/* True when the text ends, or lies, in this piece. */
bool ebbi_textscan_feed(struct textscan *scan, const char *bytes, size_t length);

#endif
