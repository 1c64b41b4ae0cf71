/*
 * ready.h: the --ready options of every verb that starts a command.
 *
 * Owns: nothing. Threading: one thread. Errors: -EINVAL and a line of LAB_MESSAGE bytes.
 */
#ifndef EBBI_CLI_READY_H
#define EBBI_CLI_READY_H

#include "lab/ready.h"

/* At most one of the three is given; none: READY_IDLE. */
int ebbi_cli_ready(const char *tcp, const char *http, const char *log, struct ready *ret_ready, char *ret_message);

#endif
