/*
 * response.h: what a server answered, read by http_parser as the bytes come in.
 *
 * Owns: the library, loaded at the first ebbi_response_load so that it costs only those who send a load; the state of one
 * answer. Never: keeps a body; sends or reads anything itself.
 * Threading: one thread. Errors: ebbi_response_load says what is missing and how to get it. What comes in is judged
 * by ebbi_response_feed; after RESPONSE_BAD the connection cannot be used any more.
 */
#ifndef EBBI_LAB_RESPONSE_H
#define EBBI_LAB_RESPONSE_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>

enum response_state {
	RESPONSE_MORE,  /* not complete yet */
	RESPONSE_WHOLE, /* complete, and nothing is left over */
	RESPONSE_BAD,   /* no HTTP, more than one answer, or a head without end: `problem` says which */
};

struct response {
	struct http_parser parser;
	bool to_head; /* the request was a HEAD: no body comes, whatever the head says */
	bool started; /* a byte has come */
	bool complete;
	bool interim; /* 1xx: the answer itself is still to come */
	bool keep_alive;
	bool retry_after;
	unsigned status;
	size_t name_matched; /* of the header's name, as far as it is Retry-After; SIZE_MAX: it is another */
	bool in_value;
	const char *problem; /* a constant */
};

/* 0, or -ENOENT and a line. */
int ebbi_response_load(char *ret_message);

void ebbi_response_start(struct response *response, bool to_head);

enum response_state ebbi_response_feed(struct response *response, const char *bytes, size_t length);

/* The server closed the connection: RESPONSE_WHOLE when that was the end of the body, else RESPONSE_BAD. */
enum response_state ebbi_response_end(struct response *response);

#endif
