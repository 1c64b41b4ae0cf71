/*
 * ready.h: how one finds out that a server is ready.
 *
 * Owns: the helper process that asks. It is a process of its own because the name service and
 * libcurl bring megabytes of their own, and the launcher must stay small.
 * Never: sends more than a connect or a GET; follows a redirect; uses a proxy; checks a certificate.
 * Threading: one thread.
 * Errors: a message that names the thing and the remedy.
 */
#ifndef EBBI_LAB_READY_H
#define EBBI_LAB_READY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum ready_kind {
	READY_IDLE, /* nothing was said: taken from the CPU time */
	READY_TCP,  /* somebody accepts connections */
	READY_HTTP, /* a GET is answered with 200 to 399 */
	READY_LOG,  /* a text was seen on stdout or stderr */
};

struct ready {
	enum ready_kind kind;
	const char *target; /* as written by the user */
	char host[256];     /* of READY_TCP and READY_HTTP */
	char port[8];
};

/* Splits "HOST:PORT", "[::1]:PORT", ":PORT" or an URL. */
int ebbi_ready_parse(enum ready_kind kind, const char *target, struct ready *ret_ready, char *ret_message);

/* What a helper exits with. */
enum ready_answer {
	ANSWER_YES = 0,
	ANSWER_NO = 1,
	ANSWER_NO_HOST = 2, /* the name cannot be resolved */
	ANSWER_NO_CURL = 3, /* libcurl cannot be loaded */
};

/* Asks once, now: somebody who answers before the command was started is not the command. */
enum ready_answer ebbi_ready_ask(const struct ready *ready);

/* Starts the helper that asks until it gets a yes and then exits with ANSWER_YES. */
int ebbi_ready_start(const struct ready *ready, pid_t *ret_helper);

#endif
