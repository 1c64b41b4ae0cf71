/*
 * response.h: reads one HTTP/1.x answer at a time out of the bytes of a connection, by Debian's http-parser.
 *
 * Owns: the state of one answer, in place; nothing is allocated and no body kept.
 * Never: reads beyond the end of the answer; interim answers (1xx) are stepped over.
 * Threading: one thread an answer. Errors: RESPONSE_BAD for everything that is no HTTP/1.x, also a head of more than
 * 80 KiB.
 * The library is loaded at run time, by the process that makes the load: ebbi_response_load comes first.
 */
#ifndef EBBI_LAB_RESPONSE_H
#define EBBI_LAB_RESPONSE_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>

enum response_state { RESPONSE_MORE, RESPONSE_DONE, RESPONSE_BAD };

struct response {
	struct http_parser parser;
	bool no_body; /* the request was a HEAD */
	bool done;
	unsigned status;
	bool retry_after; /* it has that header */
	bool keep;        /* the connection may be used again */
	/* The header field that is being read. */
	bool in_value;
	size_t field_length;
	char field[16];
};

/* False when the library is not installed. */
bool ebbi_response_load(void);

void ebbi_response_start(struct response *response, bool no_body);

/* *ret_used: how many bytes belonged to the answer. `length` 0: the connection has ended. */
enum response_state ebbi_response_feed(struct response *response, const char *bytes, size_t length, size_t *ret_used);

#endif
