/* Completions for bash, zsh and fish, from flags.def. */
#include <string.h>

#include "cli/cli.h"

/* What may stand for a value or an operand. */
enum complete {
	COMPLETE_NOTHING,
	COMPLETE_FILE,
	COMPLETE_DIRECTORY,
	COMPLETE_PROCESS,
	COMPLETE_ALLOCATOR,
	COMPLETE_COMMAND
};

static const char allocators[] =
#define EBB_ALLOCATOR(name, files, package, kind, variable, note) #name " "
#include "lab/allocators.def"
#undef EBB_ALLOCATOR
	;

/* The word that help has for it says what it is. */
static enum complete kind_of(const char *word)
{
	if (strstr(word, "COMMAND...") || strstr(word, "COMMAND ["))
		return COMPLETE_COMMAND;
	if (strstr(word, "FILE") || strstr(word, "RESULT") || strstr(word, ".yaml"))
		return COMPLETE_FILE;
	if (strncmp(word, "DIR", 3) == 0)
		return COMPLETE_DIRECTORY;
	return strncmp(word, "PID", 3) == 0 ? COMPLETE_PROCESS : COMPLETE_NOTHING;
}

static enum complete value_of(const struct flag *flag)
{
	if (strncmp(flag->name, "allocator", 9) == 0)
		return COMPLETE_ALLOCATOR;
	return flag->value ? kind_of(flag->value) : COMPLETE_NOTHING;
}

/* In single quotes, for a shell; with `also` given, each of its characters after a backslash. */
static void quoted(FILE *stream, const char *text, const char *also)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stream);
		else if (strchr(also, *text))
			fprintf(stream, "\\%c", *text);
		else
			fputc(*text, stream);
	}
}

/* --- bash -------------------------------------------------------------------------------- */

/* NAME=' --flag ... ': the flags with a value of that kind. */
static void bash_flags(FILE *stream, const struct verb *verb, const char *name, bool all, enum complete kind)
{
	fprintf(stream, "\t\t%s=' ", name);
	for (size_t i = 0; i < verb->flag_count; i++) {
		const struct flag *flag = &verb->flags[i];

		if (flag->value && (all || value_of(flag) == kind))
			fprintf(stream, "%s%s ", ebbi_flag_dashes(flag), flag->name);
	}
	fputs("'\n", stream);
}

static void bash_verb(FILE *stream, const struct verb *verb)
{
	enum complete operand = kind_of(verb->arguments);

	fprintf(stream, "\t%s)\n\t\tflags='--help", verb->name);
	for (size_t i = 0; i < verb->flag_count; i++)
		fprintf(stream, " %s%s", ebbi_flag_dashes(&verb->flags[i]), verb->flags[i].name);
	fputs("'\n", stream);
	bash_flags(stream, verb, "valued", /* all= */ true, COMPLETE_NOTHING);
	bash_flags(stream, verb, "files", /* all= */ false, COMPLETE_FILE);
	bash_flags(stream, verb, "directories", /* all= */ false, COMPLETE_DIRECTORY);
	bash_flags(stream, verb, "names", /* all= */ false, COMPLETE_ALLOCATOR);
	fprintf(stream, "\t\toperand='%s'\n\t\t;;\n",
		operand == COMPLETE_COMMAND   ? "command"
		: operand == COMPLETE_PROCESS ? "process"
		: operand == COMPLETE_FILE    ? "file"
					      : "nothing");
}

/* Which word it is, once the flags of the verb are known. */
static void bash_word(FILE *stream)
{
	fputs("\t*) return ;;\n\tesac\n"
	      "\t# What begins behind the flags, or behind --, is a command with words of its own.\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t--) break ;;\n"
	      "\t\t-*) [[ $valued != *\" ${COMP_WORDS[i]} \"* || ${COMP_WORDS[i + 1]} == = ]] || ((i++)) ;;\n"
	      "\t\t=) ((i++)) ;;\n"
	      "\t\t*) [ \"$operand\" != command ] || break ;;\n"
	      "\t\tesac\n"
	      "\tdone\n"
	      "\tif [ $i -lt \"$COMP_CWORD\" ]; then\n"
	      "\t\t[ \"${COMP_WORDS[i]}\" != -- ] || ((i++))\n"
	      "\t\tif [ $i -eq \"$COMP_CWORD\" ] && [ \"$operand\" = command ]; then\n"
	      "\t\t\t_ebb_words -c\n"
	      "\t\telif [ \"$operand\" = command ] && declare -F _command_offset >/dev/null; then\n"
	      "\t\t\t_command_offset $i\n"
	      "\t\telse\n"
	      "\t\t\t_ebb_words -f\n"
	      "\t\tfi\n"
	      "\telif [[ $names == *\" $previous \"* ]]; then\n"
	      "\t\t_ebb_words -W '",
	      stream);
	fputs(allocators, stream);
	fputs("' -f\n"
	      "\telif [[ $files == *\" $previous \"* ]]; then\n"
	      "\t\t_ebb_words -f\n"
	      "\telif [[ $directories == *\" $previous \"* ]]; then\n"
	      "\t\t_ebb_words -d\n"
	      "\telif [[ $valued == *\" $previous \"* ]]; then\n"
	      "\t\treturn\n"
	      "\telif [[ $current == -* ]]; then\n"
	      "\t\t_ebb_words -W \"$flags\"\n"
	      "\telse\n"
	      "\t\tcase $operand in\n"
	      "\t\tcommand) _ebb_words -c ;;\n"
	      "\t\tprocess) _ebb_words -W \"$(command ls /proc | command grep '^[0-9]')\" ;;\n"
	      "\t\tfile) _ebb_words -f ;;\n"
	      "\t\tesac\n\tfi\n}\n\ncomplete -F _ebb ebb\n",
	      stream);
}

static void bash(FILE *stream)
{
	fputs("# bash completion of ebb; made by \"ebb completion bash\".\n\n"
	      "_ebb_words()\n{\n"
	      "\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$current\")\n"
	      "\t[ \"${1#-[fd]}\" = \"$1\" ] || compopt -o filenames 2>/dev/null\n"
	      "}\n\n"
	      "_ebb()\n{\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i\n"
	      "\tlocal flags='' valued='' files='' directories='' names='' operand=''\n\n"
	      "\tCOMPREPLY=()\n"
	      "\t# --flag=value comes as three words.\n"
	      "\t[ \"$current\" != = ] || current=\n"
	      "\t[ \"$previous\" != = ] || previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$COMP_CWORD\" -eq 2 ] && [ \"${COMP_WORDS[1]}\" = help ]; }; then\n"
	      "\t\t_ebb_words -W '",
	      stream);
	for (size_t i = 0; i < ebbi_verb_count; i++)
		fprintf(stream, "%s ", ebbi_verbs[i].name);
	fputs("help --help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", stream);
	for (size_t i = 0; i < ebbi_verb_count; i++)
		bash_verb(stream, &ebbi_verbs[i]);
	bash_word(stream);
}

/* --- zsh --------------------------------------------------------------------------------- */

static const char *const zsh_actions[] = {
	[COMPLETE_NOTHING] = " ",
	[COMPLETE_FILE] = "_files",
	[COMPLETE_DIRECTORY] = "_files -/",
	[COMPLETE_PROCESS] = "_pids",
	[COMPLETE_COMMAND] = "_command_names -e",
};

static void zsh_flag(FILE *stream, const struct flag *flag)
{
	enum complete value = value_of(flag);

	fprintf(stream, "\t\t\t'%s%s%s%s[", flag->kind == FLAG_LIST ? "*" : "", ebbi_flag_dashes(flag), flag->name,
		!flag->value    ? ""
		: flag->name[1] ? "="
				: "+");
	quoted(stream, flag->help, "[]\\");
	fputc(']', stream);
	if (flag->value) {
		fputc(':', stream);
		quoted(stream, flag->value, ":\\");
		if (value == COMPLETE_ALLOCATOR)
			fprintf(stream, ":(%s)", allocators);
		else
			fprintf(stream, ":%s", zsh_actions[value]);
	}
	fputs("' \\\n", stream);
}

static void zsh(FILE *stream)
{
	fputs("#compdef ebb\n# zsh completion of ebb; made by \"ebb completion zsh\".\n\n"
	      "_ebb() {\n\tlocal curcontext=$curcontext state line\n\tlocal -a verbs\n\ttypeset -A opt_args\n\n\tverbs=(\n",
	      stream);
	for (size_t i = 0; i < ebbi_verb_count; i++) {
		fprintf(stream, "\t\t'%s:", ebbi_verbs[i].name);
		quoted(stream, ebbi_verbs[i].summary, ":\\");
		fputs("'\n", stream);
	}
	fputs("\t\t'help:the help of a verb'\n\t)\n"
	      "\t_arguments -C '(- *)'--help'[show help]' '(- *)'--version'[show the version]' '1: :->verb' '*:: :->rest' && return\n"
	      "\tif [[ $state == verb ]]; then\n\t\t_describe -t verbs verb verbs\n\t\treturn\n\tfi\n"
	      "\tcurcontext=\"${curcontext%:*}-$words[1]:\"\n"
	      "\tcase $words[1] in\n",
	      stream);
	for (size_t i = 0; i < ebbi_verb_count; i++) {
		const struct verb *verb = &ebbi_verbs[i];
		enum complete operand = kind_of(verb->arguments);

		fprintf(stream, "\t%s)\n\t\t_arguments%s \\\n", verb->name, operand == COMPLETE_COMMAND ? " -S" : "");
		for (size_t k = 0; k < verb->flag_count; k++)
			zsh_flag(stream, &verb->flags[k]);
		fputs("\t\t\t'(- *)--help[show help]' \\\n", stream);
		if (operand == COMPLETE_COMMAND)
			fputs("\t\t\t'(-):command:_command_names -e' \\\n\t\t\t'*::arguments: _normal'\n", stream);
		else
			fprintf(stream, "\t\t\t'*: :%s'\n", zsh_actions[operand]);
		fputs("\t\t;;\n", stream);
	}
	fputs("\thelp)\n\t\t_describe -t verbs verb verbs\n\t\t;;\n\tesac\n}\n\n_ebb \"$@\"\n", stream);
}

/* --- fish -------------------------------------------------------------------------------- */

static void fish_value(FILE *stream, enum complete value)
{
	static const char *const actions[] = {
		[COMPLETE_NOTHING] = " -x",
		[COMPLETE_FILE] = " -r -F",
		[COMPLETE_DIRECTORY] = " -x -a '(__fish_complete_directories)'",
		[COMPLETE_PROCESS] = " -x -a '(__fish_complete_pids)'",
		[COMPLETE_COMMAND] = " -x -a '(__fish_complete_command)'",
	};

	if (value == COMPLETE_ALLOCATOR)
		fprintf(stream, " -x -a '%s'", allocators);
	else
		fputs(actions[value], stream);
}

static void fish_verb(FILE *stream, const struct verb *verb)
{
	static const char *const operands[] = {
		[COMPLETE_NOTHING] = "",
		[COMPLETE_FILE] = " -F",
		[COMPLETE_DIRECTORY] = " -a '(__fish_complete_directories)'",
		[COMPLETE_PROCESS] = " -a '(__fish_complete_pids)'",
		[COMPLETE_COMMAND] = " -a '(__fish_complete_subcommand --fcs-skip=2)'",
	};
	enum complete operand = kind_of(verb->arguments);

	for (size_t i = 0; i < verb->flag_count; i++) {
		const struct flag *flag = &verb->flags[i];

		fprintf(stream, "complete -c ebb -n '__fish_seen_subcommand_from %s' -%c %s", verb->name,
			flag->name[1] ? 'l' : 's', flag->name);
		if (flag->value)
			fish_value(stream, value_of(flag));
		fputs(" -d '", stream);
		quoted(stream, flag->help, "\\");
		fputs("'\n", stream);
	}
	fprintf(stream, "complete -c ebb -n '__fish_seen_subcommand_from %s'%s\n", verb->name, operands[operand]);
}

static void fish(FILE *stream)
{
	fputs("# fish completion of ebb; made by \"ebb completion fish\".\n\ncomplete -c ebb -f\n", stream);
	for (size_t i = 0; i < ebbi_verb_count; i++) {
		fprintf(stream, "complete -c ebb -n __fish_use_subcommand -a %s -d '", ebbi_verbs[i].name);
		quoted(stream, ebbi_verbs[i].summary, "\\");
		fputs("'\n", stream);
	}
	fputs("complete -c ebb -n __fish_use_subcommand -a help -d 'the help of a verb'\n", stream);
	fputs("complete -c ebb -n '__fish_seen_subcommand_from help' -a '", stream);
	for (size_t i = 0; i < ebbi_verb_count; i++)
		fprintf(stream, "%s ", ebbi_verbs[i].name);
	fputs("'\ncomplete -c ebb -l help -d 'show help'\n", stream);
	for (size_t i = 0; i < ebbi_verb_count; i++)
		fish_verb(stream, &ebbi_verbs[i]);
}

int ebbi_cli_completion(char **argv)
{
	const char *shell = argv[1] ? argv[1] : "";

	if (strcmp(shell, "bash") == 0) {
		bash(stdout);
	} else if (strcmp(shell, "zsh") == 0) {
		zsh(stdout);
	} else if (strcmp(shell, "fish") == 0) {
		fish(stdout);
	} else {
		ebbi_cli_complain("ebb completion bash, zsh or fish");
		return EXIT_USAGE;
	}
	return ebbi_cli_flush();
}
