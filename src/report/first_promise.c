#include "report/first_promise.h"

#include <errno.h>
#include <string.h>

#include "report/kept.h"

#define MIB 1048576.0
/* Of the highest figure: what a new compiler or libc may change without anybody being to blame. */
#define ROOM_SHARE 0.10
/* Three runs show some two thirds of the distance that thirty show; so three times that distance is beyond them. */
#define ROOM_SPREADS 3
#define ROOM_LEAST (1 * MIB)

/* ceil, of what is not negative and below 2^64, without libm. */
static double whole_above(double value)
{
	double whole = (double)(uint64_t)value;

	return whole < value ? whole + 1 : whole;
}

/* Quoted unless it is a plain word that YAML takes for nothing else. */
static void text(FILE *stream, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=-";

	if (value[0] && !strchr("-=", value[0]) && strspn(value, plain) == strlen(value)) {
		fputs(value, stream);
		return;
	}
	fputc('"', stream);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fprintf(stream, "\\%c", *value);
		else if ((unsigned char)*value < ' ' || *value == 127)
			fprintf(stream, "\\x%02X", (unsigned char)*value);
		else
			fputc(*value, stream);
	}
	fputc('"', stream);
}

static void key(FILE *stream, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(stream, "%s: ", name);
	text(stream, value);
	fputc('\n', stream);
}

static bool is_utf8(const char *value)
{
	json_t *string = value ? json_string(value) : json_null();
	bool valid = string != NULL;

	json_decref(string);
	return valid;
}

static void head(FILE *stream, const struct first_promise *first)
{
	const json_t *run = json_array_get(first->runs, 0);
	const json_t *machine = json_object_get(run, "machine");
	const char *date = json_string_value(json_object_get(run, "started_at"));
	const char *kernel = json_string_value(json_object_get(machine, "kernel"));

	fprintf(stream, "# Written by ebb check --init on %.10s from %zu runs on Linux %s with %d CPUs.\n",
		date ? date : "?", json_array_size(first->runs), kernel ? kernel : "?",
		(int)json_integer_value(json_object_get(machine, "cpus")));
	fputs("#\n"
	      "# Each limit is the highest figure of these runs (which stands behind it) and room above that: 10 %, three\n"
	      "# times the distance between the runs, or 1 MiB, whichever is most. Lower what you want to defend.\n"
	      "# docs/promise-format.md explains every key.\n",
	      stream);
}

static void command(FILE *stream, const struct first_promise *first)
{
	fputs("command: [", stream);
	for (size_t i = 0; first->command[i]; i++) {
		fputs(i ? ", " : "", stream);
		text(stream, first->command[i]);
	}
	fputs("]\n", stream);
	key(stream, "directory", first->directory);
	key(stream, "allocator", first->allocator);
	key(stream, "budget", first->budget);
	if (first->ready->kind != READY_IDLE) {
		static const char *const kinds[] = {
			[READY_TCP] = "  tcp", [READY_HTTP] = "  http", [READY_LOG] = "  log"};

		fputs("ready:\n", stream);
		key(stream, kinds[first->ready->kind], first->ready->target);
	}
	key(stream, "load", first->load);
	if (first->load)
		fprintf(stream, "rest: %gs\n", (double)first->rest_ns / 1e9);
	fprintf(stream, "runs: %zu\n", json_array_size(first->runs));
}

struct range {
	double lowest;
	double highest;
	double upper; /* the highest of the figures' upper bounds */
};

/* False when a run does not have the figure. */
static bool find_range(const struct first_promise *first, enum promised figure, struct range *range)
{
	size_t count = json_array_size(first->runs);

	*range = (struct range){0};
	for (size_t i = 0; i < count; i++) {
		struct measured measured;

		ebbi_kept_measure(json_array_get(first->runs, i), figure, NULL, &measured);
		if (!measured.known)
			return false;
		range->lowest = i == 0 || measured.value < range->lowest ? measured.value : range->lowest;
		range->highest = ebbi_larger(range->highest, measured.value);
		range->upper = ebbi_larger(range->upper, measured.high);
	}
	return count > 0;
}

/* Up to whole MiB; above 256 up to fours, which nobody will miss. */
static unsigned limit_mib(const struct range *range)
{
	double spread = range->highest - range->lowest;
	double room = ebbi_larger(ebbi_larger(ROOM_SHARE * range->highest, ROOM_SPREADS * spread), ROOM_LEAST);
	double mib = whole_above(ebbi_larger(range->highest + room, range->upper + ROOM_LEAST) / MIB);

	return (unsigned)(mib > 256 ? whole_above(mib / 4) * 4 : mib);
}

static void limit(FILE *stream, const struct first_promise *first, enum promised figure)
{
	struct range range;
	char least[FORMAT_BYTES], most[FORMAT_BYTES];
	bool time = figure == PROMISED_CPU;
	int width;

	if (!find_range(first, figure, &range))
		return;
	/* Time depends on the machine more than on the program: whoever wants it takes the sign away. */
	if (time)
		width = fprintf(stream, "  # cpu: %.1fs", whole_above(20 * range.highest) / 10);
	else
		width = fprintf(stream, "  %s: %uM", ebbi_promised_word(figure), limit_mib(&range));
	fprintf(stream, "%*s# ", width < 18 ? 18 - width : 2, "");
	if (time)
		fprintf(stream, "%.2f to %.2f s here; another machine takes another time\n", range.lowest,
			range.highest);
	else
		fprintf(stream, "%s to %s\n", ebbi_format_bytes(least, (uint64_t)range.lowest, false),
			ebbi_format_bytes(most, (uint64_t)range.highest, false));
}

int ebbi_first_promise_write(FILE *stream, const struct first_promise *first)
{
	bool valid = is_utf8(first->directory) && is_utf8(first->load) && is_utf8(first->ready->target) &&
		     is_utf8(first->budget) && is_utf8(first->allocator);

	for (size_t i = 0; first->command[i] && valid; i++)
		valid = is_utf8(first->command[i]);
	if (!valid)
		return -EILSEQ;
	head(stream, first);
	command(stream, first);
	fputs("limits:\n", stream);
	limit(stream, first, PROMISED_BOOT);
	limit(stream, first, PROMISED_PEAK);
	limit(stream, first, PROMISED_RESTING);
	limit(stream, first, PROMISED_HELD);
	limit(stream, first, PROMISED_CPU);
	return 0;
}
