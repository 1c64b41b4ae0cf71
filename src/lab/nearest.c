#include "lab/nearest.h"

#include <stddef.h>
#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Levenshtein's distance, for words of up to 31 letters. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[32];
	size_t length = strlen(b);

	if (length > 31 || strlen(a) > 31)
		return 32;
	for (size_t j = 0; j <= length; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; a[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < length; j++) {
			unsigned above = row[j + 1];

			row[j + 1] = min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[length];
}

void ebbi_nearest_try(struct nearest *nearest, const char *candidate)
{
	unsigned d = distance(nearest->wanted, candidate);

	/* The next one must be nearer still. */
	if (d > nearest->most || (nearest->found && d == nearest->most))
		return;
	nearest->most = d;
	nearest->found = candidate;
}
