#include "observe/text.h"

#include <string.h>

bool ebbi_text_line(struct text *text, struct text *ret_line)
{
	const char *newline;

	if (text->at == text->end)
		return false;
	newline = memchr(text->at, '\n', ebbi_text_length(text));
	ret_line->at = text->at;
	ret_line->end = newline ? newline : text->end;
	text->at = newline ? newline + 1 : text->end;
	return true;
}

bool ebbi_text_skip(struct text *text, const char *word)
{
	size_t length = strlen(word);

	if (ebbi_text_length(text) < length || memcmp(text->at, word, length) != 0)
		return false;
	text->at += length;
	return true;
}

void ebbi_text_blanks(struct text *text)
{
	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static bool number(struct text *text, unsigned base, uint64_t *ret_value)
{
	struct text at = *text;
	uint64_t value = 0;
	bool any = false;

	ebbi_text_blanks(&at);
	while (at.at < at.end) {
		unsigned digit = (unsigned)digit_of(*at.at);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
			return false;
		any = true;
		at.at++;
	}
	if (!any)
		return false;
	*text = at;
	*ret_value = value;
	return true;
}

bool ebbi_text_decimal(struct text *text, uint64_t *ret_value)
{
	return number(text, 10, ret_value);
}

bool ebbi_text_hex(struct text *text, uint64_t *ret_value)
{
	return number(text, 16, ret_value);
}

bool ebbi_text_word(struct text *text, struct text *ret_word)
{
	struct text at = *text;

	ebbi_text_blanks(&at);
	ret_word->at = at.at;
	while (at.at < at.end && *at.at != ' ' && *at.at != '\t')
		at.at++;
	ret_word->end = at.at;
	if (ret_word->at == ret_word->end)
		return false;
	*text = at;
	return true;
}

void ebbi_text_copy(const struct text *text, char *ret_copy, size_t size)
{
	size_t length = ebbi_text_length(text);

	if (length > size - 1)
		length = size - 1;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text->at[i];

		ret_copy[i] = c < ' ' || c == 127 ? '?' : (char)c;
	}
	ret_copy[length] = 0;
}

/* Bytes of the character of UTF-8 that begins here; 0 when none does. NUL is no part of any. */
static size_t character(const unsigned char *at)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = at[0] < 0x80   ? 1
			: at[0] < 0xc2 ? 0
			: at[0] < 0xe0 ? 2
			: at[0] < 0xf0 ? 3
			: at[0] < 0xf5 ? 4
				       : 0;
	uint32_t value = length > 1 ? at[0] & (0xffu >> (length + 1)) : at[0];

	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3f);
	}
	return length > 1 && (value < least[length] || value > 0x10ffff || value >> 11 == 0x1b) ? 0 : length;
}

void ebbi_text_clean(char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length = 1;

	while (*at && (length = character(at)) > 0)
		at += length;
	for (char *each = text; *each; each++) {
		/* 0x80 to 0x9f after 0xc2 are controls of their own, which a terminal may obey. */
		if ((unsigned char)*each < ' ' || *each == 127 || (length == 0 && (unsigned char)*each >= 0x80))
			*each = '?';
		else if ((unsigned char)each[0] == 0xc2 && (unsigned char)each[1] < 0xa0)
			each[0] = each[1] = '?';
	}
}
