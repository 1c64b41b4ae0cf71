/*
 * assets.h: the files of src/report/html and the charting library, as they were when ebb was built.
 *
 * Owns: constants, of which nothing is read before a page is written. Pure. Errors: none.
 */
#ifndef EBBI_REPORT_ASSETS_H
#define EBBI_REPORT_ASSETS_H

#include <stddef.h>

/* Not ended by 0: as long as `end` says. */
struct asset {
	const char *bytes;
	const char *end;
};

/* "page.html", "page.css", "page.js", "chart.js", "licence.txt". NULL bytes: there is none of that name. */
struct asset ebbi_asset(const char *name);

#endif
