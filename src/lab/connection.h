/*
 * connection.h: one connection of a load: one request at a time, kept alive in between.
 *
 *	CLOSED --open--> OPENING --> IDLE --send--> BUSY --whole answer--> IDLE
 *	   ^                |          |              |---- answer that says close, early answer ----> CLOSED
 *	   '--- back off ---'----------'---- lost ----'
 *
 * Owns: its descriptor and the bytes of its request. Never: decides when to send, counts anything.
 * Threading: one thread, non-blocking. Errors: as events, each with a constant that says what went wrong.
 * Invariants: a CLOSED connection has no descriptor, and none before retry_ns; a BUSY one has a request; after any event but
 * CONNECTION_NOTHING and CONNECTION_OPENED there is no request.
 */
#ifndef EBBI_LAB_CONNECTION_H
#define EBBI_LAB_CONNECTION_H

#include <stdint.h>
#include <sys/socket.h>

#include "lab/requests.h"
#include "lab/response.h"

enum connection_state { CONNECTION_CLOSED, CONNECTION_OPENING, CONNECTION_IDLE, CONNECTION_BUSY };

enum connection_event {
	CONNECTION_NOTHING,
	CONNECTION_OPENED,
	CONNECTION_REFUSED,  /* could not be opened: `error` says why */
	CONNECTION_LOST,     /* the server closed it while it was idle, which it may */
	CONNECTION_ANSWERED, /* see `response` */
	CONNECTION_BROKEN,   /* closed before its answer was complete: see `problem` */
	CONNECTION_BAD,      /* the answer cannot be used: see `problem` */
};

struct address {
	struct sockaddr_storage bytes;
	socklen_t length;
};

struct connection {
	enum connection_state state;
	int fd;
	int epoll_fd;   /* the user's: tells of this connection ... */
	uint32_t token; /* ... by this number */
	int error;      /* errno of the last refusal */
	const char *problem;
	struct response response;
	struct request_bytes request;
	size_t sent;
	bool queued;          /* the user's: stands in the queue of those who are idle */
	bool used;            /* has served since it was opened */
	bool wants_write;     /* epoll tells when there is room */
	uint64_t number;      /* of the request */
	uint64_t intended_ns; /* when it ought to have been sent */
	uint64_t since_ns;    /* in this state */
	uint64_t retry_ns;    /* not to be opened before */
	uint64_t back_off_ns; /* before the next try, if this one fails as well */
};

/* CONNECTION_NOTHING while it opens, or CONNECTION_REFUSED. */
enum connection_event ebbi_connection_open(struct connection *connection, const struct address *address,
					   uint64_t now_ns);

/* Sends connection->request; it was IDLE. */
enum connection_event ebbi_connection_send(struct connection *connection, bool to_head, uint64_t now_ns);

/* Something happened to its descriptor. `room` is for what is read. */
enum connection_event ebbi_connection_happened(struct connection *connection, uint32_t events, char *room, size_t size,
					       uint64_t now_ns);

void ebbi_connection_close(struct connection *connection, uint64_t now_ns);

#endif
