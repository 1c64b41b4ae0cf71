/*
 * sparkline.h: a course of memory over time in one line of text.
 *
 * Owns: nothing. Pure. Threading: any. Errors: none; nothing to show gives "".
 */
#ifndef EBBI_REPORT_SPARKLINE_H
#define EBBI_REPORT_SPARKLINE_H

#include <stddef.h>

#include "lab/result.h"

#define SPARKLINE_MOST 64
/* Each column is three bytes of UTF-8. */
#define SPARKLINE_BYTES (3 * SPARKLINE_MOST + 1)

/* At most `columns` blocks, each as high as the highest point of its share of the time; from 0. */
void ebbi_sparkline(const struct timeline_point *points, size_t count, size_t columns, char *ret_text);

#endif
