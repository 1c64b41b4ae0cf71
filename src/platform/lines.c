#include "platform/lines.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "platform/syscall.h"

bool ebbi_lines_open(struct ebbi_lines *ret_lines, const char *path)
{
	ret_lines->fd = ebbi_syscall4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	ret_lines->start = ret_lines->end = 0;
	ret_lines->at_end = false;
	return ret_lines->fd >= 0;
}

void ebbi_lines_close(struct ebbi_lines *lines)
{
	(void)ebbi_syscall1(SYS_close, lines->fd);
}

/* Move what is left to the front and read behind it. */
static void fill(struct ebbi_lines *lines)
{
	long got;

	memmove(lines->text, lines->text + lines->start, lines->end - lines->start);
	lines->end -= lines->start;
	lines->start = 0;
	got = ebbi_syscall3(SYS_read, lines->fd, (long)(lines->text + lines->end),
			    (long)(EBBI_LINE_MOST - 1 - lines->end));
	lines->at_end = got <= 0;
	lines->end += got > 0 ? (size_t)got : 0;
}

char *ebbi_lines_next(struct ebbi_lines *lines)
{
	char *line = lines->text + lines->start;
	char *newline = memchr(line, '\n', lines->end - lines->start);

	while (newline == NULL && !lines->at_end && lines->end - lines->start < EBBI_LINE_MOST - 1) {
		fill(lines);
		line = lines->text;
		newline = memchr(line, '\n', lines->end);
	}
	if (newline == NULL && lines->start == lines->end)
		return NULL;
	if (newline == NULL) {
		/* The last line, or one that is longer than the buffer: its rest is the next line. */
		lines->text[lines->end] = '\0';
		lines->start = lines->end;
	} else {
		*newline = '\0';
		lines->start = (size_t)(newline - lines->text) + 1;
	}
	return line;
}
