/*
 * service_lines.h: the lines that put a service under Ebb: for a shell, a unit of systemd, a Dockerfile.
 *
 * Owns: nothing. Never: looks at a file, changes anything.
 * Threading: one thread. Errors: the caller checks ferror.
 * Invariant: library and conf hold no character that a shell, systemd or Docker would read as its own
 * (ebbi_service_plain); so no form needs quotes.
 */
#ifndef EBBI_REPORT_SERVICE_LINES_H
#define EBBI_REPORT_SERVICE_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "observe/libc_of.h"

struct service {
	const char *library; /* the path of libebb.so on this machine */
	enum libc_kind libc; /* which it is for */
	const char *conf;    /* of EBB_CONF, or NULL */
	const char *unit;    /* "redis.service", or NULL */
	size_t note_count;
	const char *notes[8]; /* what speaks against it in this unit */
};

/* Whether `text` may stand in all of these files as it is. */
bool ebbi_service_plain(const char *text);

void ebbi_service_shell(FILE *stream, const struct service *service);
void ebbi_service_systemd(FILE *stream, const struct service *service);
void ebbi_service_docker(FILE *stream, const struct service *service);

#endif
