/*
 * fmt.h: text into a caller's buffer, for places where printf may not be called.
 *
 * Owns: nothing; the buffer is the caller's. Never: allocates, takes a lock, reads the locale.
 * Threading: one buffer, one thread. Errors: text that does not fit is cut and `length` stops at
 * the capacity. Invariant: length <= capacity; the text is not NUL-terminated.
 */
#ifndef EBBI_BASE_FMT_H
#define EBBI_BASE_FMT_H

#include <stddef.h>
#include <stdint.h>

struct ebbi_fmt {
	char *text;
	size_t capacity;
	size_t length;
};

static inline struct ebbi_fmt ebbi_fmt_into(char *text, size_t capacity)
{
	return (struct ebbi_fmt){.text = text, .capacity = capacity, .length = 0};
}

void ebbi_fmt_char(struct ebbi_fmt *fmt, char c);
void ebbi_fmt_text(struct ebbi_fmt *fmt, const char *text);
/* At most `length` bytes, bytes outside printable ASCII as '?': for text that came from outside. */
void ebbi_fmt_foreign(struct ebbi_fmt *fmt, const char *text, size_t length);
void ebbi_fmt_decimal(struct ebbi_fmt *fmt, uint64_t value);
/* Right-aligned in `width` columns, filled with blanks on the left. */
void ebbi_fmt_decimal_wide(struct ebbi_fmt *fmt, uint64_t value, unsigned width);
void ebbi_fmt_hex(struct ebbi_fmt *fmt, uint64_t value);
/* Bytes as MiB with two decimals, rounded down. */
void ebbi_fmt_mib(struct ebbi_fmt *fmt, uint64_t bytes);
/* Blanks until the text is `column` characters long since `start`. */
void ebbi_fmt_pad(struct ebbi_fmt *fmt, size_t start, size_t column);

#endif
