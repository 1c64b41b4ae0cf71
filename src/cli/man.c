/* The man pages, in roff's man macros, from flags.def and pages.def. */
#include <ctype.h>
#include <string.h>

#include <ebb/ebb.h>

#include "cli/cli.h"

enum block { BLOCK_SECTION, BLOCK_TEXT, BLOCK_ITEM, BLOCK_EXAMPLE, BLOCK_OPTIONS };

struct page_block {
	enum block kind;
	const char *head; /* the section's name, the item's tag */
	const char *text;
};

static const struct page_block ebb_page[] = {
#define EBB_PAGE_ebb(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_ebb
};

static const struct page_block run_page[] = {
#define EBB_PAGE_run(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_run
};

static const struct page_block watch_page[] = {
#define EBB_PAGE_watch(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_watch
};

static const struct page_block doctor_page[] = {
#define EBB_PAGE_doctor(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_doctor
};

static const struct page_block profile_page[] = {
#define EBB_PAGE_profile(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_profile
};

static const struct page_block compare_page[] = {
#define EBB_PAGE_compare(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_compare
};

static const struct page_block size_page[] = {
#define EBB_PAGE_size(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_size
};

static const struct page_block check_page[] = {
#define EBB_PAGE_check(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_check
};

static const struct page_block report_page[] = {
#define EBB_PAGE_report(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_report
};

static const struct page_block env_page[] = {
#define EBB_PAGE_env(kind, head, text) {BLOCK_##kind, head, text},
#include "cli/pages.def"
#undef EBB_PAGE_env
};

/* When what the pages say changed last. */
#define PAGE_DATE "2026-12-01"
/* mandoc's lint asks for lines of at most 80 bytes. */
#define WRAP 72

/* Text as roff prints it: dashes as typed, no line that begins with a control character. */
static void roff(FILE *stream, const char *text)
{
	size_t column = 0;

	for (const char *at = text; *at; at++) {
		bool begins = column == 0;

		column = *at == '\n' ? 0 : column + 1;
		/* A new line where a word would go beyond the margin. */
		if (*at == ' ' && column + strcspn(at + 1, " \n") > WRAP && at[1] != ' ') {
			fputc('\n', stream);
			column = 0;
			continue;
		}
		if (begins && (*at == '.' || *at == '\''))
			fputs("\\&", stream);
		if (*at == '-')
			fputs("\\-", stream);
		else if (*at == '\\')
			fputs("\\e", stream);
		else
			fputc(*at, stream);
	}
}

static void print_block(FILE *stream, const struct page_block *block, bool after_section)
{
	switch (block->kind) {
	case BLOCK_SECTION:
		fprintf(stream, ".SH %s\n", block->head);
		return;
	case BLOCK_TEXT:
		if (!after_section)
			fputs(".PP\n", stream);
		break;
	case BLOCK_ITEM:
		fputs(".TP\n.B ", stream);
		roff(stream, block->head);
		fputc('\n', stream);
		break;
	case BLOCK_OPTIONS: /* not printed from here */
		return;
	case BLOCK_EXAMPLE:
		fputs(after_section ? ".nf\n.RS 4\n" : ".PP\n.nf\n.RS 4\n", stream);
		roff(stream, block->text);
		fputs("\n.RE\n.fi\n", stream);
		return;
	}
	roff(stream, block->text);
	fputc('\n', stream);
}

static void print_flags(FILE *stream, const struct verb *verb)
{
	fputs(".SH OPTIONS\n", stream);
	for (size_t i = 0; i < verb->flag_count; i++) {
		const struct flag *flag = &verb->flags[i];

		fputs(".TP\n.B ", stream);
		roff(stream, ebbi_flag_dashes(flag));
		roff(stream, flag->name);
		if (flag->value) {
			fputs(" \\fI", stream);
			roff(stream, flag->value);
			fputs("\\fR", stream);
		}
		fprintf(stream, "\n%c",
			flag->help[0] >= 'a' && flag->help[0] <= 'z' && strncmp(flag->help, "ebb", 3) != 0
				? flag->help[0] - 32
				: flag->help[0]);
		roff(stream, flag->help + 1);
		fputs(".", stream);
		if (flag->preset) {
			fputs("\nThe default is ", stream);
			roff(stream, flag->preset);
			fputs(".", stream);
		}
		fputc('\n', stream);
		if (flag->more[0]) {
			roff(stream, flag->more);
			fputc('\n', stream);
		}
	}
}

static void print_synopsis(FILE *stream, const struct verb *verb)
{
	fputs(".SH SYNOPSIS\n.B ebb", stream);
	if (verb) {
		fprintf(stream, " %s\n", verb->name);
		roff(stream, verb->arguments);
	} else {
		fputs("\n.I VERB\n[OPTION...] ...", stream);
	}
	fputc('\n', stream);
}

/* The blocks of a verb's page, or of the command's. */
static const struct page_block *page_of(const struct verb *verb, size_t *ret_count)
{
	static const struct {
		const char *name;
		const struct page_block *blocks;
		size_t count;
	} pages[] = {
#define EBB_VERB(name, arguments, summary) {#name, name##_page, sizeof(name##_page) / sizeof(name##_page[0])},
#include "cli/flags.def"
#undef EBB_VERB
	};

	for (size_t i = 0; verb && i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (strcmp(pages[i].name, verb->name) == 0) {
			*ret_count = pages[i].count;
			return pages[i].blocks;
		}
	}
	*ret_count = sizeof(ebb_page) / sizeof(ebb_page[0]);
	return ebb_page;
}

void ebbi_man(FILE *stream, const struct verb *verb)
{
	size_t count;
	const struct page_block *page = page_of(verb, &count);
	const char *name = verb ? verb->name : "";

	fputs(".\\\" Generated by \"ebb help --man\" from src/cli/*.def: change it there.\n", stream);
	fputs(".TH EBB", stream);
	for (const char *at = name; *at; at++)
		fprintf(stream, "%s%c", at == name ? "-" : "", toupper((unsigned char)*at));
	fprintf(stream, " 1 \"" PAGE_DATE "\" \"ebb %s\" \"Ebb\"\n.SH NAME\n", EBB_VERSION);
	fprintf(stream, "ebb%s%s \\- %s\n", verb ? "\\-" : "", name,
		verb ? verb->summary : "what a server's memory is, and who holds it");
	print_synopsis(stream, verb);
	for (size_t i = 0; i < count; i++) {
		if (verb && page[i].kind == BLOCK_OPTIONS)
			print_flags(stream, verb);
		else
			print_block(stream, &page[i], i > 0 && page[i - 1].kind == BLOCK_SECTION);
	}
}
