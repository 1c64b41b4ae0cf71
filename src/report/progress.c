#include "report/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
/* To the first column, and nothing behind it. */
#define ERASE "\r\033[K"

static uint64_t monotonic_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void ebbi_progress_open(struct progress *progress, int fd, const char *title, unsigned runs)
{
	const char *kind = getenv("TERM");

	*progress = (struct progress){.fd = fd, .title = title, .runs = runs, .now = monotonic_now};
	progress->on = isatty(fd) && kind && kind[0] && strcmp(kind, "dumb") != 0;
}

/* --- The line ---------------------------------------------------------------------------- */

bool ebbi_progress_left(const struct progress *progress, uint64_t now_ns, uint64_t *ret_left_ns)
{
	uint64_t mean_ns, in_run_ns;

	if (progress->complete == 0 || progress->run == 0 || progress->runs < progress->run)
		return false;
	mean_ns = progress->complete_ns / progress->complete;
	in_run_ns = now_ns - progress->run_started_ns;
	*ret_left_ns = mean_ns * (progress->runs - progress->run);
	if (in_run_ns < mean_ns)
		*ret_left_ns += mean_ns - in_run_ns;
	return true;
}

__attribute__((format(printf, 3, 4))) static void append(char *line, size_t size, const char *format, ...)
{
	size_t length = strlen(line);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + length, size - length, format, arguments);
	va_end(arguments);
}

/* As people say it: no more than two units, and seconds only where they count. */
static void append_time(char *line, size_t size, uint64_t ns)
{
	unsigned long long seconds = (ns + SECOND / 2) / SECOND, minutes = (seconds + 30) / 60;

	if (seconds < 60)
		append(line, size, "%llu s", seconds);
	else if (seconds < 600)
		append(line, size, "%llu min %llu s", seconds / 60, seconds % 60);
	else if (minutes < 60)
		append(line, size, "%llu min", minutes);
	else
		append(line, size, "%llu h %llu min", minutes / 60, minutes % 60);
}

void ebbi_progress_line(const struct progress *progress, uint64_t now_ns, char *ret_line, size_t size)
{
	const char *between = ": ";
	uint64_t left_ns;

	snprintf(ret_line, size, "%s", progress->title);
	if (progress->run > 0 && progress->runs > 0)
		append(ret_line, size, "%srun %u of %u", between, progress->run, progress->runs);
	else if (progress->run > 0)
		append(ret_line, size, "%srun %u", between, progress->run);
	between = progress->run > 0 ? ", " : between;
	if (progress->name[0]) {
		append(ret_line, size, "%s%s", between, progress->name);
		between = ", ";
	}
	if (progress->phase[0]) {
		append(ret_line, size, "%s%s", between, progress->phase);
		between = ", ";
	}
	if (ebbi_progress_left(progress, now_ns, &left_ns)) {
		append(ret_line, size, "%sabout ", between);
		append_time(ret_line, size, left_ns);
		append(ret_line, size, " left");
	}
}

/* --- The terminal ------------------------------------------------------------------------ */

/* Cut to `columns` characters, the last byte of one never without its first. */
static void cut(char *line, unsigned columns)
{
	unsigned column = 0;

	for (char *at = line; *at; at++) {
		bool continues = ((unsigned char)*at & 0xc0) == 0x80;

		if (!continues && column++ == columns) {
			*at = 0;
			return;
		}
	}
}

static void put(const struct progress *progress, const char *text)
{
	ssize_t ignored = write(progress->fd, text, strlen(text));

	(void)ignored;
}

static void draw(struct progress *progress)
{
	char line[PROGRESS_LINE], whole[PROGRESS_LINE + sizeof(ERASE)];
	struct winsize window;

	if (!progress->on)
		return;
	if (ioctl(progress->fd, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
		window.ws_col = 80;
	ebbi_progress_line(progress, progress->now(), line, sizeof(line));
	/* The last column stays free: some terminals go to the next line after it. */
	cut(line, window.ws_col - 1u);
	if (progress->shown && strcmp(line, progress->drawn) == 0)
		return;
	snprintf(whole, sizeof(whole), ERASE "%s", line);
	put(progress, whole);
	memcpy(progress->drawn, line, sizeof(line));
	progress->shown = true;
}

/* --- What happened ----------------------------------------------------------------------- */

static void keep(char *ret_text, size_t size, const char *text)
{
	snprintf(ret_text, size, "%s", text ? text : "");
	for (char *at = ret_text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?';
	}
}

void ebbi_progress_run(struct progress *progress, unsigned run, const char *name)
{
	uint64_t now_ns = progress->now();

	if (progress->run > 0) {
		progress->complete_ns += now_ns - progress->run_started_ns;
		progress->complete++;
	}
	progress->run = run;
	progress->run_started_ns = now_ns;
	progress->phase[0] = 0;
	keep(progress->name, sizeof(progress->name), name);
	draw(progress);
}

void ebbi_progress_phase(void *context, const char *phase)
{
	struct progress *progress = context;

	keep(progress->phase, sizeof(progress->phase), phase);
	draw(progress);
}

void ebbi_progress_tick(void *context)
{
	draw(context);
}

void ebbi_progress_clear(struct progress *progress)
{
	if (!progress->on || !progress->shown)
		return;
	put(progress, ERASE);
	progress->shown = false;
}
