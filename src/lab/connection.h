/*
 * connection.h: one HTTP/1.1 connection of a load: at most one request at a time, opened again when it has ended.
 *
 *	closed --retry time--> connecting --> idle --send--> busy --answer--> idle
 *	   ^-----failed, ended, too late, no HTTP, "Connection: close"-----------'
 *
 * Owns: its socket, which is in the epoll set it was opened with (edge-triggered), until ebbi_connection_close; the
 * buffer `out` is the caller's.
 * Never: blocks; waits for the answer to begin before it has sent all; reads the clock.
 * Threading: one thread. Errors: are events; after each the connection is closed and knows when it may be opened again:
 * at once after it has served, later and later (10 ms to 1 s) while it fails.
 */
#ifndef EBBI_LAB_CONNECTION_H
#define EBBI_LAB_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lab/response.h"

enum connection_state { CONNECTION_CLOSED, CONNECTION_CONNECTING, CONNECTION_IDLE, CONNECTION_BUSY };

enum connection_event {
	CONNECTION_NOTHING,
	CONNECTION_OPENED,
	CONNECTION_ANSWERED, /* response.status, response.retry_after */
	CONNECTION_REFUSED,  /* could not be opened */
	CONNECTION_ENDED,    /* before there was an answer */
	CONNECTION_MALFORMED,
	CONNECTION_LATE,    /* no answer in time */
	CONNECTION_GONE,    /* ended while nothing was asked */
	CONNECTION_UNASKED, /* more came than was asked for */
};

struct connection {
	enum connection_state state;
	int fd;
	uint64_t since_ns;    /* of the state */
	uint64_t retry_ns;    /* CLOSED: not before then */
	unsigned failures;    /* in a row */
	bool served;          /* since it was opened */
	bool unasked;         /* its last answer was followed by more */
	uint64_t intended_ns; /* BUSY: when the request was due */
	char *out;
	size_t out_length, out_at;
	struct response response;
};

struct connection_target {
	int epoll_fd;
	struct sockaddr_storage address;
	socklen_t address_length;
};

/* A closed one is opened; the set's event carries `tag`. CONNECTION_NOTHING (on its way), OPENED or REFUSED. */
enum connection_event ebbi_connection_open(struct connection *connection, const struct connection_target *target,
					   uint32_t tag, uint64_t now_ns);

/* An idle one sends what lies in `out`. CONNECTION_NOTHING or ENDED. */
enum connection_event ebbi_connection_send(struct connection *connection, size_t length, bool is_head,
					   uint64_t intended_ns, uint64_t now_ns);

/* What epoll has told of it (`events`). `now_ns` is the time of that. */
enum connection_event ebbi_connection_handle(struct connection *connection, uint32_t events, uint64_t now_ns);

/* LATE or REFUSED when its time is up. */
enum connection_event ebbi_connection_check(struct connection *connection, uint64_t now_ns, uint64_t timeout_ns);

void ebbi_connection_close(struct connection *connection, uint64_t now_ns);

#endif
