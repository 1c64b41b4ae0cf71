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
