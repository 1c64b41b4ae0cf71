#include <string.h>

#include <ebb/ebb.h>

#include "cli/cli.h"

#define FLAG_WIDTH 23
#define SCREEN_WIDTH 80
/* So many flags in a row that ebb run has, too, are named and no more. */
#define SHARED_LEAST 4

void ebbi_help_all(FILE *stream)
{
	fprintf(stream, "ebb %s: what a server's memory is, and who holds it\n\n", EBB_VERSION);
	fputs("usage: ebb VERB [OPTION...] ...\n\n", stream);
	for (size_t i = 0; i < ebbi_verb_count; i++)
		fprintf(stream, "  %-10s %s\n", ebbi_verbs[i].name, ebbi_verbs[i].summary);
	fputs("  help       help VERB: the same as VERB --help\n\n", stream);
	fputs("  --help     this text\n", stream);
	fputs("  --version  the version\n\n", stream);
	fputs("try: ebb run -- ls\n", stream);
	fputs("     ebb run --ready-tcp :8080 --load 'curl -s localhost:8080' -- ./server\n", stream);
}

/* "  --name VALUE", and its width. */
static int print_name(FILE *stream, const struct flag *flag)
{
	return fprintf(stream, "  %s%s%s%s", ebbi_flag_dashes(flag), flag->name, flag->value ? " " : "",
		       flag->value ? flag->value : "");
}

static void print_flag(FILE *stream, const struct flag *flag)
{
	int width = print_name(stream, flag);
	int preset = flag->preset ? (int)strlen(flag->preset) + 3 : 0;

	/* What is longer than its column pushes the text on, and a line of its own is the last resort. */
	if (width >= FLAG_WIDTH + 2 && width + 2 + (int)strlen(flag->help) + preset <= SCREEN_WIDTH)
		width = FLAG_WIDTH;
	else if (width >= FLAG_WIDTH + 2)
		width = fprintf(stream, "\n") - 1;
	fprintf(stream, "%*s%s", FLAG_WIDTH + 2 - width, "", flag->help);
	if (flag->preset)
		fprintf(stream, " [%s]", flag->preset);
	fputc('\n', stream);
}

/* How many of the flags from `i` on are those of ebb run, word for word. */
static size_t shared(const struct verb *verb, size_t i)
{
	const struct verb *run = ebbi_verb_find("run");
	size_t count = 0;

	for (; verb != run && i < verb->flag_count; i++, count++) {
		bool same = false;

		for (size_t k = 0; k < run->flag_count && !same; k++)
			same = strcmp(run->flags[k].name, verb->flags[i].name) == 0 &&
			       strcmp(run->flags[k].help, verb->flags[i].help) == 0;
		if (!same)
			break;
	}
	return count;
}

/* Their names alone: what they do stands in ebb run --help, and a verb's own flags are to be seen on one screen. */
static void print_shared(FILE *stream, const struct flag *flags, size_t count)
{
	int column = 0;

	for (size_t i = 0; i < count; i++) {
		int width = (int)strlen(flags[i].name) + 4;

		if (column > 0 && column + width > SCREEN_WIDTH - 4)
			column = fprintf(stream, "\n") - 1;
		column +=
			fprintf(stream, column == 0 ? "  --%s%s" : " --%s%s", flags[i].name, i + 1 < count ? "," : "");
	}
	if (column >= FLAG_WIDTH + 2)
		column = fprintf(stream, "\n") - 1;
	fprintf(stream, "%*sas in ebb run\n", FLAG_WIDTH + 2 - column, "");
}

void ebbi_help_verb(FILE *stream, const struct verb *verb)
{
	fprintf(stream, "usage: ebb %s %s\n", verb->name, verb->arguments);
	fprintf(stream, "%s\n\n", verb->summary);
	for (size_t i = 0; i < verb->flag_count;) {
		size_t count = shared(verb, i);

		if (count >= SHARED_LEAST) {
			print_shared(stream, &verb->flags[i], count);
			i += count;
		} else {
			print_flag(stream, &verb->flags[i++]);
		}
	}
	fprintf(stream, "\nmore: man ebb-%s\n", verb->name);
}
