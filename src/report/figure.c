#include "report/figure.h"

#include <math.h>
#include <stdio.h>

#include "report/format.h"
#include "report/series.h"

#define MIB 1048576.0
#define MILLISECONDS_BELOW 0.1
/* Two counts from here on have no room in a range. */
#define MILLIONS_FROM 1e6

const struct figure_kind ebbi_figures[FIGURE_COUNT] = {
#define EBB_FIGURE(id, key, word, phase, unit) \
	[FIGURE_##id] = {#key, word, FIGURE_PHASE_##phase, FIGURE_UNIT_##unit, \
			 FIGURE_##id == FIGURE_WORK || FIGURE_##id == FIGURE_RATE},
#include "report/figures.def"
#undef EBB_FIGURE
};

/* A number of anything; small ones with a digit behind the point. */
static void count_text(char *ret_text, double value, bool exact)
{
	if (value < 100 && value != (double)(uint64_t)value)
		snprintf(ret_text, FORMAT_BYTES, "%.2f", value);
	else if (value < MILLIONS_FROM || exact)
		ebbi_format_count(ret_text, (uint64_t)ebbi_smaller(value + 0.5, 1e18));
	else
		snprintf(ret_text, FORMAT_BYTES, "%.4gM", value / 1e6);
}

const char *ebbi_figure_format(char *ret_text, enum figure figure, double value, bool exact_bytes)
{
	switch (ebbi_figures[figure].unit) {
	case FIGURE_UNIT_BYTES:
		if (exact_bytes)
			snprintf(ret_text, FORMAT_BYTES, "%.0f", value);
		else
			snprintf(ret_text, FORMAT_BYTES, "%.1f MiB", value / MIB);
		break;
	case FIGURE_UNIT_SECONDS:
		if (value < MILLISECONDS_BELOW)
			snprintf(ret_text, FORMAT_BYTES, "%.1f ms", value * 1e3);
		else
			snprintf(ret_text, FORMAT_BYTES, "%.2f s", value);
		break;
	case FIGURE_UNIT_COUNT:
		count_text(ret_text, value, exact_bytes);
		break;
	}
	return ret_text;
}

const char *ebbi_figure_range(char *ret_text, enum figure figure, double median, double least, double most,
			      bool exact_bytes)
{
	char from[FORMAT_BYTES], to[FORMAT_BYTES];
	bool seconds = ebbi_figures[figure].unit == FIGURE_UNIT_SECONDS;
	double unit = ebbi_figures[figure].unit == FIGURE_UNIT_BYTES && !exact_bytes ? MIB
		      : seconds && median < MILLISECONDS_BELOW                       ? 1e-3
										     : 1;

	if (ebbi_figures[figure].unit == FIGURE_UNIT_COUNT) {
		count_text(from, least, exact_bytes);
		count_text(to, most, exact_bytes);
	} else {
		int digits = seconds && unit == 1 ? 2 : exact_bytes && !seconds ? 0 : 1;

		snprintf(from, sizeof(from), "%.*f", digits, least / unit);
		snprintf(to, sizeof(to), "%.*f", digits, most / unit);
	}
	snprintf(ret_text, FORMAT_BYTES, "%.20s .. %.20s", from, to);
	return ret_text;
}

const char *ebbi_figure_shift(char *ret_text, enum figure figure, double shift, bool exact_bytes)
{
	char size[FORMAT_BYTES];

	ebbi_figure_format(size, figure, fabs(shift), exact_bytes);
	snprintf(ret_text, FORMAT_BYTES, "%s%.40s", shift < 0 ? "-" : shift > 0 ? "+" : "", size);
	return ret_text;
}
