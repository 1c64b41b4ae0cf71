/*
 * lines.h: a text file of the kernel's, line by line.
 *
 * Owns: struct ebbi_lines, some 2 KiB, the caller's. Never: allocates, touches errno. Threading: one reader, one thread.
 * Errors: what cannot be read has no lines.
 */
#ifndef EBBI_PLATFORM_LINES_H
#define EBBI_PLATFORM_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define EBBI_LINE_MOST 2048u

struct ebbi_lines {
	long fd;
	size_t start;
	size_t end;
	bool at_end;
	char text[EBBI_LINE_MOST];
};

/* False: there is no such file for us, and nothing to close. */
bool ebbi_lines_open(struct ebbi_lines *ret_lines, const char *path);

/* The next line, without its newline and cut where it is too long; NULL at the end. The caller may write into it; valid until the next call. */
char *ebbi_lines_next(struct ebbi_lines *lines);

void ebbi_lines_close(struct ebbi_lines *lines);

#endif
