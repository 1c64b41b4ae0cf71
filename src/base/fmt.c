#include "base/fmt.h"

void ebbi_fmt_char(struct ebbi_fmt *fmt, char c)
{
	if (fmt->length < fmt->capacity)
		fmt->text[fmt->length++] = c;
}

void ebbi_fmt_text(struct ebbi_fmt *fmt, const char *text)
{
	for (; *text != '\0'; text++)
		ebbi_fmt_char(fmt, *text);
}

void ebbi_fmt_foreign(struct ebbi_fmt *fmt, const char *text, size_t length)
{
	for (size_t i = 0; i < length && text[i] != '\0'; i++)
		ebbi_fmt_char(fmt, text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
}

static void fmt_number(struct ebbi_fmt *fmt, uint64_t value, unsigned base, unsigned width)
{
	char digits[20];
	unsigned count = 0;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	for (unsigned i = count; i < width; i++)
		ebbi_fmt_char(fmt, ' ');
	while (count > 0)
		ebbi_fmt_char(fmt, digits[--count]);
}

void ebbi_fmt_decimal(struct ebbi_fmt *fmt, uint64_t value)
{
	fmt_number(fmt, value, 10, 0);
}

void ebbi_fmt_decimal_wide(struct ebbi_fmt *fmt, uint64_t value, unsigned width)
{
	fmt_number(fmt, value, 10, width);
}

void ebbi_fmt_hex(struct ebbi_fmt *fmt, uint64_t value)
{
	ebbi_fmt_text(fmt, "0x");
	fmt_number(fmt, value, 16, 0);
}

void ebbi_fmt_mib(struct ebbi_fmt *fmt, uint64_t bytes)
{
	uint64_t hundredths = (bytes % (1u << 20)) * 100 >> 20;

	ebbi_fmt_decimal(fmt, bytes >> 20);
	ebbi_fmt_char(fmt, '.');
	ebbi_fmt_char(fmt, (char)('0' + hundredths / 10));
	ebbi_fmt_char(fmt, (char)('0' + hundredths % 10));
}

void ebbi_fmt_pad(struct ebbi_fmt *fmt, size_t start, size_t column)
{
	while (fmt->length < fmt->capacity && fmt->length - start < column)
		ebbi_fmt_char(fmt, ' ');
}
