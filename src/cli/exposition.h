/*
 * exposition.h: the last sample, served over HTTP for Prometheus to fetch.
 *
 * Owns: the listening socket and libmicrohttpd, which is loaded for it.
 * Never: starts a thread: requests are served while ebbi_exposition_serve waits.
 * Threading: one thread; one server. Errors: negative errno, with a line that says why.
 */
#ifndef EBBI_CLI_EXPOSITION_H
#define EBBI_CLI_EXPOSITION_H

#include <stddef.h>
#include <stdint.h>

#define EXPOSITION_MESSAGE 512

/* `address`: PORT, HOST:PORT or [HOST]:PORT; without a host 127.0.0.1. *ret_where is the URL. */
int ebbi_exposition_open(const char *address, char *ret_where, size_t size, char *ret_message);
void ebbi_exposition_close(void);

/* What /metrics answers from now on; the text is copied. */
void ebbi_exposition_set(const char *text, size_t length);

/* Serves for at most so long. */
void ebbi_exposition_serve(int timeout_ms);

#endif
