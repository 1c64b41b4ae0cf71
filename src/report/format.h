/*
 * format.h: figures as people read them.
 *
 * Owns: nothing. Pure. Never: allocates, reads the locale. Threading: any.
 * Errors: none; a buffer of FORMAT_BYTES always suffices.
 */
#ifndef EBBI_REPORT_FORMAT_H
#define EBBI_REPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FORMAT_BYTES 48

/* "34.2 MiB"; exact: "35861504". Always MiB: figures of one table must compare at a glance. */
const char *ebbi_format_bytes(char *ret_text, uint64_t bytes, bool exact);
/* "81,234" */
const char *ebbi_format_count(char *ret_text, uint64_t count);
/* "0.81 s" */
const char *ebbi_format_seconds(char *ret_text, uint64_t ns);
/* "+4 %", "-41 %", "0 %"; "-" when `base` is 0. */
const char *ebbi_format_change(char *ret_text, double value, double base);

/* What a terminal is sent around a text; all empty when colour is off. */
struct style {
	const char *bold;
	const char *dim;
	const char *good;
	const char *warn;
	const char *off;
	bool blocks; /* block characters of UTF-8 may be drawn */
};

/* Colour when `fd` is a terminal that can show it and neither NO_COLOR nor TERM=dumb speaks against. */
struct style ebbi_style_for(int fd);

/*
 * Words in lines of at most `width` columns and a newline. `column` is where the first word comes; later lines begin at
 * `indent`.
 */
void ebbi_format_wrapped(FILE *stream, const char *text, size_t column, size_t indent, size_t width);

/* Escaped for XML and HTML, between tags and in attributes; control characters, which XML has none of, as '?'. */
void ebbi_format_xml(FILE *stream, const char *text);

/* Words with a blank between them, those with special characters in quotes; cut with "..." at `size`. */
void ebbi_format_command(char *const *argv, char *ret_text, size_t size);

#endif
