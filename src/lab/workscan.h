/*
 * workscan.h: finds the work that a load says it did in what it prints.
 *
 * Owns: the compiled expression and the line that has not ended yet; ebbi_workscan_end releases them.
 * The expression is POSIX extended; its first group is a number (digits with a fraction or an exponent; commas
 * between digits are stepped over). It is held against each line, of which the first WORKSCAN_LINE bytes count,
 * and the last line that matches is the one that counts: loads print their sum at the end.
 * Threading: one thread a scan. Errors: -EINVAL with one line that names the expression and the remedy.
 */
#ifndef EBBI_LAB_WORKSCAN_H
#define EBBI_LAB_WORKSCAN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#define WORKSCAN_LINE 4096

struct workscan {
	regex_t expression;
	size_t length;
	char line[WORKSCAN_LINE];
	bool found;
	double work;
};

/* Whether the expression can be used; *ret_message has room for LAB_MESSAGE bytes (lab/allocator.h). */
int ebbi_workscan_check(const char *expression, char *ret_message);

int ebbi_workscan_start(struct workscan *scan, const char *expression);
void ebbi_workscan_feed(struct workscan *scan, const char *bytes, size_t length);
/* The last line may have had no newline. */
void ebbi_workscan_end(struct workscan *scan);

#endif
