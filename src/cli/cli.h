/*
 * cli.h: what the files of the command share.
 *
 * Owns: nothing. Threading: the process has one thread. Errors: every verb returns the exit code
 * of the process and has said why on stderr, in one line, when that is not 0.
 */
#ifndef EBBI_CLI_CLI_H
#define EBBI_CLI_CLI_H

#include <jansson.h>
#include <stdio.h>

#include "cli/options.h"

#define EXIT_USAGE 2
#define EXIT_NOT_MEASURED 3
#define EXIT_NOT_COMPARABLE 4

/* "ebb: ...": one line on stderr. Control characters in it are shown as '?'. */
__attribute__((format(printf, 1, 2))) void ebbi_cli_complain(const char *format, ...);

/*
 * The document, which goes (NULL: there was no memory for it): to stdout with `print`, and into the file `save` unless
 * that is NULL. 0 or EXIT_NOT_MEASURED after a line.
 */
int ebbi_cli_deliver_json(json_t *document, bool print, const char *save);

/* 0, or EXIT_NOT_MEASURED after a line when stdout could not be written. */
int ebbi_cli_flush(void);

int ebbi_cli_run(char **argv);
int ebbi_cli_watch(char **argv);
int ebbi_cli_compare(char **argv);
int ebbi_cli_doctor(char **argv);
int ebbi_cli_profile(char **argv);
int ebbi_cli_size(char **argv);
int ebbi_cli_check(char **argv);
int ebbi_cli_report(char **argv);

/* completion bash|zsh|fish: no verb of flags.def, but something for `make install`. */
int ebbi_cli_completion(char **argv);
int ebbi_cli_env(char **argv);

/* --help of the command, of a verb, and the man page of either (verb NULL: ebb.1). */
void ebbi_help_all(FILE *stream);
void ebbi_help_verb(FILE *stream, const struct verb *verb);
void ebbi_man(FILE *stream, const struct verb *verb);

#endif
