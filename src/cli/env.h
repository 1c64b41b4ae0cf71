/*
 * env.h: what env.c and env_check.c share.
 *
 * Owns: nothing. Never: changes a process or a unit. Threading: one thread. Errors: exit codes, after a line on stderr.
 */
#ifndef EBBI_CLI_ENV_H
#define EBBI_CLI_ENV_H

#include "cli/options.h"

/* Whether the process, or the unit's, really is under Ebb: 0 yes, 1 no, EXIT_NOT_MEASURED when it cannot be told. */
int ebbi_env_check(const struct env_options *options);

#endif
