#include <string.h>

#include <ebb/ebb.h>

#include "cli/cli.h"

#define FLAG_WIDTH 23

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

void ebbi_help_verb(FILE *stream, const struct verb *verb)
{
	fprintf(stream, "usage: ebb %s %s\n", verb->name, verb->arguments);
	fprintf(stream, "%s\n\n", verb->summary);
	for (size_t i = 0; i < verb->flag_count; i++) {
		const struct flag *flag = &verb->flags[i];
		int width = fprintf(stream, "  %s%s%s%s", ebbi_flag_dashes(flag), flag->name, flag->value ? " " : "",
				    flag->value ? flag->value : "");

		if (width >= FLAG_WIDTH + 2)
			width = fprintf(stream, "\n") - 1;
		fprintf(stream, "%*s%s", FLAG_WIDTH + 2 - width, "", flag->help);
		if (flag->preset)
			fprintf(stream, " [%s]", flag->preset);
		fputc('\n', stream);
	}
	fprintf(stream, "\nmore: man ebb-%s\n", verb->name);
}
