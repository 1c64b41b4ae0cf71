/*
 * units.h: times, sizes and counts as people write them.
 *
 * Owns: nothing. Pure. Threading: any. Errors: false, with the result untouched.
 */
#ifndef EBBI_LAB_UNITS_H
#define EBBI_LAB_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* "500ms", "5s", "2m"; a bare number means seconds. */
bool ebbi_parse_time(const char *text, uint64_t *ret_ns);

/* "40M", "1.5G", "65536": binary units K, M, G, T, also as KiB or KB; a bare number means bytes. Up to 256 TiB. */
bool ebbi_parse_size(const char *text, uint64_t *ret_bytes);

/* A decimal number of `least` to `most`. */
bool ebbi_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *ret_count);

#endif
