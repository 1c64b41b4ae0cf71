#include "lab/workscan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/allocator.h"

#define NUMBER_BYTES 64

int ebbi_workscan_check(const char *expression, char *ret_message)
{
	regex_t compiled;
	char reason[256];
	int error = regcomp(&compiled, expression, REG_EXTENDED);

	if (error != 0) {
		regerror(error, &compiled, reason, sizeof(reason));
		snprintf(ret_message, LAB_MESSAGE, "--work '%.300s': %s", expression, reason);
		return -EINVAL;
	}
	error = compiled.re_nsub == 0 ? -EINVAL : 0;
	regfree(&compiled);
	if (error != 0)
		snprintf(ret_message, LAB_MESSAGE,
			 "--work '%.300s': has no group: put the number in parentheses, such as 'served ([0-9]+)'",
			 expression);
	return error;
}

int ebbi_workscan_start(struct workscan *scan, const char *expression)
{
	scan->length = 0;
	scan->found = false;
	scan->work = 0;
	return regcomp(&scan->expression, expression, REG_EXTENDED) != 0 ? -EINVAL : 0;
}

/* The group as a number; false when it is none, or none that work can be. */
static bool number_of(const char *text, size_t length, double *ret_number)
{
	char digits[NUMBER_BYTES];
	size_t count = 0;
	char *end;
	double number;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == ',')
			continue;
		if (count == sizeof(digits) - 1 || !strchr("0123456789.eE+-", text[i]))
			return false;
		digits[count++] = text[i];
	}
	digits[count] = 0;
	number = strtod(digits, &end);
	if (count == 0 || *end || !isfinite(number) || number < 0)
		return false;
	*ret_number = number;
	return true;
}

static void line_ended(struct workscan *scan)
{
	regmatch_t groups[2];

	scan->line[scan->length] = 0;
	if (scan->length > 0 && regexec(&scan->expression, scan->line, 2, groups, 0) == 0 && groups[1].rm_so >= 0 &&
	    number_of(scan->line + groups[1].rm_so, (size_t)(groups[1].rm_eo - groups[1].rm_so), &scan->work))
		scan->found = true;
	scan->length = 0;
}

void ebbi_workscan_feed(struct workscan *scan, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			line_ended(scan);
		else if (scan->length < WORKSCAN_LINE - 1 && bytes[i] != 0)
			scan->line[scan->length++] = bytes[i];
	}
}

void ebbi_workscan_end(struct workscan *scan)
{
	line_ended(scan);
	regfree(&scan->expression);
}
