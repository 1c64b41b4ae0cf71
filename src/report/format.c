#include "report/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *ebbi_format_bytes(char *ret_text, uint64_t bytes, bool exact)
{
	if (exact)
		snprintf(ret_text, FORMAT_BYTES, "%" PRIu64, bytes);
	else
		snprintf(ret_text, FORMAT_BYTES, "%.1f MiB", (double)bytes / 1048576.0);
	return ret_text;
}

const char *ebbi_format_count(char *ret_text, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	int at = 0;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			ret_text[at++] = ',';
		ret_text[at++] = digits[i];
	}
	ret_text[at] = 0;
	return ret_text;
}

const char *ebbi_format_seconds(char *ret_text, uint64_t ns)
{
	snprintf(ret_text, FORMAT_BYTES, "%.2f s", (double)ns / 1e9);
	return ret_text;
}

const char *ebbi_format_change(char *ret_text, double value, double base)
{
	double percent = base > 0 ? (value - base) / base * 100.0 : 0.0;

	if (base <= 0)
		snprintf(ret_text, FORMAT_BYTES, "-");
	else if (percent > -0.5 && percent < 0.5)
		snprintf(ret_text, FORMAT_BYTES, "0 %%");
	else
		snprintf(ret_text, FORMAT_BYTES, "%+.0f %%", percent);
	return ret_text;
}

/* By the environment, as setlocale(3) would look it up: the locale itself is not needed here. */
static bool speaks_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && value[0])
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

struct style ebbi_style_for(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");
	bool colour =
		isatty(fd) && !(no_color && no_color[0]) && terminal && terminal[0] && strcmp(terminal, "dumb") != 0;

	struct style style = {"", "", "", "", "", isatty(fd) && speaks_utf8()};

	if (colour)
		style = (struct style){"\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[0m", style.blocks};
	return style;
}

/* Appends; false when it did not fit. */
static bool append(char *text, size_t size, size_t *length, const char *more, size_t count)
{
	if (*length + count >= size)
		return false;
	memcpy(text + *length, more, count);
	*length += count;
	text[*length] = 0;
	return true;
}

static bool append_word(char *text, size_t size, size_t *length, const char *word)
{
	bool plain = word[0] != 0 && !strpbrk(word, " \t\n\"'\\$`;&|<>(){}*?[]#~!");
	bool fits = plain || append(text, size, length, "'", 1);

	for (const char *at = word; *at && fits; at++) {
		unsigned char c = (unsigned char)*at;
		char shown = c < ' ' || c == 127 ? '?' : *at;

		if (c == '\'')
			fits = append(text, size, length, "'\\''", 4);
		else
			fits = append(text, size, length, &shown, 1);
	}
	return fits && (plain || append(text, size, length, "'", 1));
}

void ebbi_format_command(char *const *argv, char *ret_text, size_t size)
{
	size_t length = 0;
	bool fits = true;

	ret_text[0] = 0;
	for (size_t i = 0; argv[i] && fits; i++) {
		if (i > 0)
			fits = append(ret_text, size - 3, &length, " ", 1);
		fits = fits && append_word(ret_text, size - 3, &length, argv[i]);
	}
	if (!fits)
		strcpy(ret_text + length, "...");
}

void ebbi_format_xml(FILE *stream, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", stream);
			break;
		case '>':
			fputs("&gt;", stream);
			break;
		case '&':
			fputs("&amp;", stream);
			break;
		case '"':
			fputs("&quot;", stream);
			break;
		default:
			fputc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, stream);
		}
	}
}

void ebbi_format_wrapped(FILE *stream, const char *text, size_t column, size_t indent, size_t width)
{
	bool first = true;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (!first && column + 1 + length > width) {
			fprintf(stream, "\n%*s", (int)indent, "");
			column = indent;
			first = true;
		}
		fprintf(stream, "%s%.*s", first ? "" : " ", (int)length, text);
		column += length + !first;
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', stream);
}
