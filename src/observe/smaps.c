#include "observe/smaps.h"

#include <errno.h>
#include <string.h>

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
		{"AnonHugePages:", &now->huge_bytes},
		{"Shared_Dirty:", &now->dirty_bytes},
		{"Private_Dirty:", &now->dirty_bytes},
		{"Swap:", &now->swap_bytes},
	};

	if (is_head(line))
		return begin(parser, line);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && parser->open; i++) {
		struct text rest = *line;
		uint64_t kib;

		if (ebbi_text_skip(&rest, fields[i].name)) {
			if (ebbi_text_decimal(&rest, &kib) && kib < UINT64_MAX >> 10)
				*fields[i].bytes += kib << 10;
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

static int smaps_line(void *context, const struct text *line)
{
	return ebbi_smaps_line(context, line);
}

int ebbi_proc_smaps(pid_t pid, ebbi_smaps_fn *each, void *context)
{
	struct smaps_parser parser = {.each = each, .context = context};
	int result = ebbi_proc_lines(pid, "smaps", smaps_line, &parser);

	return result == 0 ? ebbi_smaps_end(&parser) : result;
}
