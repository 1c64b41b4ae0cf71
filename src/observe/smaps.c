#include "observe/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "observe/procread.h"

/* A head line begins with an address and a '-'; all others with a name and a ':'. */
static bool is_head(const struct text *line)
{
	const char *blank = memchr(line->at, ' ', ebbi_text_length(line));
	size_t length = blank ? (size_t)(blank - line->at) : ebbi_text_length(line);

	return memchr(line->at, '-', length) && !memchr(line->at, ':', length);
}

static int begin(struct smaps_parser *parser, const struct text *line)
{
	size_t length = ebbi_text_length(line);
	struct text head;
	int result = ebbi_smaps_end(parser);

	if (length > sizeof(parser->head))
		length = sizeof(parser->head);
	memcpy(parser->head, line->at, length);
	head = ebbi_text(parser->head, length);
	parser->now = (struct smaps_mapping){0};
	parser->open = ebbi_parse_map(&head, &parser->now.map) == 0;
	return result;
}

int ebbi_smaps_line(struct smaps_parser *parser, const struct text *line)
{
	struct smaps_mapping *now = &parser->now;
	const struct {
		const char *name;
		uint64_t *bytes;
	} fields[] = {
		{"Rss:", &now->rss_bytes},
		{"Anonymous:", &now->anonymous_bytes},
		{"LazyFree:", &now->lazyfree_bytes},
		{"Swap:", &now->swap_bytes},
	};

	if (is_head(line))
		return begin(parser, line);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && parser->open; i++) {
		struct text rest = *line;
		uint64_t kib;

		if (ebbi_text_skip(&rest, fields[i].name)) {
			if (ebbi_text_decimal(&rest, &kib) && kib < UINT64_MAX >> 10)
				*fields[i].bytes = kib << 10;
			break;
		}
	}
	return 0;
}

int ebbi_smaps_end(struct smaps_parser *parser)
{
	bool open = parser->open;

	parser->open = false;
	return open ? parser->each(parser->context, &parser->now) : 0;
}

/* Hands on the whole lines of the buffer and moves what is left to its front. */
static int lines(struct smaps_parser *parser, char *bytes, size_t *length)
{
	const char *last = memrchr(bytes, '\n', *length);
	struct text whole = {.at = bytes, .end = last ? last + 1 : bytes};
	struct text line;
	int result = 0;

	while (result == 0 && ebbi_text_line(&whole, &line))
		result = ebbi_smaps_line(parser, &line);
	if (last) {
		*length -= (size_t)(last + 1 - bytes);
		memmove(bytes, last + 1, *length);
	}
	return result;
}

int ebbi_proc_smaps(pid_t pid, ebbi_smaps_fn *each, void *context)
{
	struct smaps_parser parser = {.each = each, .context = context};
	char bytes[16384];
	size_t length = 0;
	ssize_t got = 0;
	bool any = false;
	int result = 0;
	int fd;

	snprintf(bytes, sizeof(bytes), "/proc/%d/smaps", (int)pid);
	fd = open(bytes, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (result == 0) {
		if (length == sizeof(bytes))
			length = 0; /* a line that does not fit: its tail is no known one */
		got = read(fd, bytes + length, sizeof(bytes) - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		any = true;
		length += (size_t)got;
		result = lines(&parser, bytes, &length);
	}
	if (got < 0)
		result = -errno;
	close(fd);
	if (result == 0)
		result = any ? ebbi_smaps_end(&parser) : -ESRCH;
	return result;
}
