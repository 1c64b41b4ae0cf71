#include "lab/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RETRY_NS 10000000u
#define RETRY_MOST_NS 1000000000u
/* Doubled so often it is there. */
#define RETRY_DOUBLINGS 7
#define CHUNK 16384

static void enter(struct connection *connection, enum connection_state state, uint64_t now_ns)
{
	connection->state = state;
	connection->since_ns = now_ns;
}

void ebbi_connection_close(struct connection *connection, uint64_t now_ns)
{
	uint64_t wait_ns = 0;

	if (connection->state != CONNECTION_CLOSED)
		close(connection->fd);
	connection->fd = -1;
	connection->failures = connection->served ? 0 : connection->failures + 1;
	if (connection->failures > 0) {
		unsigned doublings = connection->failures - 1;

		wait_ns = (uint64_t)RETRY_NS << (doublings < RETRY_DOUBLINGS ? doublings : RETRY_DOUBLINGS);
		if (wait_ns > RETRY_MOST_NS)
			wait_ns = RETRY_MOST_NS;
	}
	connection->retry_ns = now_ns + wait_ns;
	enter(connection, CONNECTION_CLOSED, now_ns);
}

static enum connection_event end(struct connection *connection, uint64_t now_ns, enum connection_event event)
{
	ebbi_connection_close(connection, now_ns);
	return event;
}

enum connection_event ebbi_connection_open(struct connection *connection, const struct connection_target *target,
					   uint32_t tag, uint64_t now_ns)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u32 = tag};
	int one = 1;
	int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	connection->served = false;
	if (fd < 0)
		return end(connection, now_ns, CONNECTION_REFUSED);
	connection->fd = fd;
	enter(connection, CONNECTION_CONNECTING, now_ns);
	/* Without it a request in two pieces would wait for an acknowledgement. It fails for what is no TCP. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (epoll_ctl(target->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return end(connection, now_ns, CONNECTION_REFUSED);
	if (connect(fd, (const struct sockaddr *)&target->address, target->address_length) == 0) {
		enter(connection, CONNECTION_IDLE, now_ns);
		return CONNECTION_OPENED;
	}
	return errno == EINPROGRESS ? CONNECTION_NOTHING : end(connection, now_ns, CONNECTION_REFUSED);
}

/* As much as the socket takes. A connection that ended may still hold an answer: reading finds out. */
static void push(struct connection *connection)
{
	while (connection->out_at < connection->out_length) {
		ssize_t put = send(connection->fd, connection->out + connection->out_at,
				   connection->out_length - connection->out_at, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return;
		connection->out_at += (size_t)put;
	}
}

enum connection_event ebbi_connection_send(struct connection *connection, size_t length, bool is_head,
					   uint64_t intended_ns, uint64_t now_ns)
{
	connection->out_length = length;
	connection->out_at = 0;
	connection->intended_ns = intended_ns;
	ebbi_response_start(&connection->response, is_head);
	enter(connection, CONNECTION_BUSY, now_ns);
	push(connection);
	/* Nothing went out for another reason than a full buffer: no event need come any more. */
	if (connection->out_at == 0 && errno != EAGAIN)
		return end(connection, now_ns, CONNECTION_ENDED);
	return CONNECTION_NOTHING;
}

/* The answer is complete. */
static enum connection_event answered(struct connection *connection, bool more, uint64_t now_ns)
{
	bool whole = connection->out_at == connection->out_length;

	connection->served = true;
	connection->unasked = more;
	if (whole && connection->response.keep && !more) {
		connection->failures = 0;
		enter(connection, CONNECTION_IDLE, now_ns);
	} else {
		ebbi_connection_close(connection, now_ns);
	}
	return CONNECTION_ANSWERED;
}

static enum connection_event digest(struct connection *connection, const char *bytes, size_t length, uint64_t now_ns)
{
	size_t used;

	switch (ebbi_response_feed(&connection->response, bytes, length, &used)) {
	case RESPONSE_DONE:
		return answered(connection, used < length, now_ns);
	case RESPONSE_BAD:
		return end(connection, now_ns, length == 0 ? CONNECTION_ENDED : CONNECTION_MALFORMED);
	case RESPONSE_MORE:
		break;
	}
	return CONNECTION_NOTHING;
}

/* Until the socket is empty, for the set tells each news once. `ended`: the last it will hold is its end. */
static enum connection_event pull(struct connection *connection, bool ended, uint64_t now_ns)
{
	char bytes[CHUNK];
	enum connection_event event = CONNECTION_NOTHING;

	for (;;) {
		ssize_t got = recv(connection->fd, bytes, sizeof(bytes), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return event;
		if (connection->state == CONNECTION_IDLE && event == CONNECTION_NOTHING)
			return end(connection, now_ns, got > 0 ? CONNECTION_UNASKED : CONNECTION_GONE);
		if (connection->state == CONNECTION_IDLE) {
			/* Right behind the answer came more, or the end. */
			connection->unasked = got > 0;
			return end(connection, now_ns, event);
		}
		if (got < 0)
			return end(connection, now_ns, CONNECTION_ENDED);
		event = digest(connection, bytes, (size_t)got, now_ns);
		if (connection->state == CONNECTION_CLOSED)
			return event;
		/* Fewer bytes than there was room for: it is empty, and whatever comes is news. */
		if (!ended && (size_t)got < sizeof(bytes))
			return event;
	}
}

enum connection_event ebbi_connection_handle(struct connection *connection, uint32_t events, uint64_t now_ns)
{
	bool ended = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	int error = 0;
	socklen_t size = sizeof(error);

	switch (connection->state) {
	case CONNECTION_CLOSED:
		break;
	case CONNECTION_CONNECTING:
		if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
			return end(connection, now_ns, CONNECTION_REFUSED);
		enter(connection, CONNECTION_IDLE, now_ns);
		return CONNECTION_OPENED;
	case CONNECTION_BUSY:
		push(connection);
		return pull(connection, ended, now_ns);
	case CONNECTION_IDLE:
		return pull(connection, ended, now_ns);
	}
	return CONNECTION_NOTHING;
}

enum connection_event ebbi_connection_check(struct connection *connection, uint64_t now_ns, uint64_t timeout_ns)
{
	if (now_ns - connection->since_ns < timeout_ns)
		return CONNECTION_NOTHING;
	if (connection->state == CONNECTION_BUSY)
		return end(connection, now_ns, CONNECTION_LATE);
	if (connection->state == CONNECTION_CONNECTING)
		return end(connection, now_ns, CONNECTION_REFUSED);
	return CONNECTION_NOTHING;
}
