#include "platform/smaps.h"

#include <stddef.h>
#include <string.h>

#include "platform/lines.h"

enum mapping { MAPPING_OTHER, MAPPING_FILE, MAPPING_STACK };

/* A hexadecimal number; *at moves behind it and the character that ends it. */
static uintptr_t hex(const char **at)
{
	uintptr_t value = 0;

	for (;; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (uintptr_t)(c - 'a' + 10);
		else
			break;
	}
	*at += **at != '\0';
	return value;
}

/* "7f0c-7f0d rw-p 00000000 fe:01 1234   /lib/libc.so.6": a mapping's first line, and nothing else, has a '-' in its first word. */
static bool is_head(const char *line)
{
	size_t word = strcspn(line, " ");

	return memchr(line, '-', word) != NULL && memchr(line, ':', word) == NULL;
}

static enum mapping kind_of(const char *line, bool (*is_stack)(uintptr_t start, uintptr_t end))
{
	const char *path = strchr(line, '/');
	const char *at = line;
	uintptr_t start = hex(&at);
	uintptr_t end = hex(&at);

	if (path != NULL)
		return MAPPING_FILE;
	return strstr(line, "[stack]") != NULL || is_stack(start, end) ? MAPPING_STACK : MAPPING_OTHER;
}

static uint64_t kib_in(const char *line)
{
	uint64_t value = 0;

	for (line += strcspn(line, "0123456789"); *line >= '0' && *line <= '9'; line++)
		value = value * 10 + (uint64_t)(*line - '0');
	return value;
}

bool ebbi_smaps_read(bool (*is_stack)(uintptr_t start, uintptr_t end), struct ebbi_smaps *ret_smaps)
{
	enum mapping kind = MAPPING_OTHER;
	struct ebbi_lines lines;
	const char *line;

	if (!ebbi_lines_open(&lines, "/proc/self/smaps"))
		return false;
	*ret_smaps = (struct ebbi_smaps){0};
	while ((line = ebbi_lines_next(&lines)) != NULL) {
		if (is_head(line)) {
			kind = kind_of(line, is_stack);
		} else if (strncmp(line, "Rss:", 4) == 0) {
			ret_smaps->file_bytes += kind == MAPPING_FILE ? kib_in(line) << 10 : 0;
			ret_smaps->stack_bytes += kind == MAPPING_STACK ? kib_in(line) << 10 : 0;
		}
	}
	ebbi_lines_close(&lines);
	return true;
}
