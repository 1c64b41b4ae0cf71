#include "lab/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MS 1000000ull
#define BACK_OFF_FIRST_NS (10 * MS)
#define BACK_OFF_MOST_NS (1000 * MS)

static void enter(struct connection *connection, enum connection_state state, uint64_t now_ns)
{
	connection->state = state;
	connection->since_ns = now_ns;
}

void ebbi_connection_close(struct connection *connection, uint64_t now_ns)
{
	if (connection->state == CONNECTION_CLOSED)
		return;
	close(connection->fd);
	connection->fd = -1;
	enter(connection, CONNECTION_CLOSED, now_ns);
}

static enum connection_event close_as(struct connection *connection, enum connection_event event, uint64_t now_ns)
{
	ebbi_connection_close(connection, now_ns);
	return event;
}

/* A server that does not accept is asked again later and later. */
static void back_off(struct connection *connection, uint64_t now_ns)
{
	uint64_t wait_ns = connection->back_off_ns ? connection->back_off_ns : BACK_OFF_FIRST_NS;

	connection->retry_ns = now_ns + wait_ns;
	connection->back_off_ns = 2 * wait_ns < BACK_OFF_MOST_NS ? 2 * wait_ns : BACK_OFF_MOST_NS;
}

static enum connection_event refused(struct connection *connection, int error, uint64_t now_ns)
{
	connection->error = error;
	back_off(connection, now_ns);
	return close_as(connection, CONNECTION_REFUSED, now_ns);
}

/* One that was closed before it ever served was not really accepted. */
static enum connection_event lost(struct connection *connection, uint64_t now_ns)
{
	if (!connection->used)
		back_off(connection, now_ns);
	return close_as(connection, CONNECTION_LOST, now_ns);
}

static void watch(struct connection *connection, int operation, bool for_write)
{
	struct epoll_event event = {.events = EPOLLIN | (for_write ? EPOLLOUT : 0u), .data.u32 = connection->token};

	epoll_ctl(connection->epoll_fd, operation, connection->fd, &event);
	connection->wants_write = for_write;
}

enum connection_event ebbi_connection_open(struct connection *connection, const struct address *address,
					   uint64_t now_ns)
{
	int one = 1;

	connection->used = false;
	connection->fd = socket(address->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connection->fd < 0)
		return refused(connection, errno, now_ns);
	enter(connection, CONNECTION_OPENING, now_ns);
	setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(connection->fd, (const struct sockaddr *)&address->bytes, address->length) != 0 &&
	    errno != EINPROGRESS)
		return refused(connection, errno, now_ns);
	watch(connection, EPOLL_CTL_ADD, /* for_write= */ true);
	return CONNECTION_NOTHING;
}

static enum connection_event opened(struct connection *connection, uint64_t now_ns)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error != 0)
		return refused(connection, error, now_ns);
	watch(connection, EPOLL_CTL_MOD, /* for_write= */ false);
	enter(connection, CONNECTION_IDLE, now_ns);
	return CONNECTION_OPENED;
}

/* --- A request --------------------------------------------------------------------------- */

static void send_more(struct connection *connection)
{
	size_t left = connection->request.length - connection->sent;
	ssize_t put = send(connection->fd, connection->request.bytes + connection->sent, left, MSG_NOSIGNAL);

	if (put > 0)
		connection->sent += (size_t)put;
	/* When it was closed at the other end, what may have been answered before is still to be read. */
	if (put < 0 && errno != EAGAIN && errno != EINTR)
		left = 0;
	else
		left = connection->request.length - connection->sent;
	if ((left > 0) != connection->wants_write)
		watch(connection, EPOLL_CTL_MOD, left > 0);
}

enum connection_event ebbi_connection_send(struct connection *connection, bool to_head, uint64_t now_ns)
{
	ebbi_response_start(&connection->response, to_head);
	connection->sent = 0;
	connection->problem = NULL;
	enter(connection, CONNECTION_BUSY, now_ns);
	send_more(connection);
	return CONNECTION_NOTHING;
}

static enum connection_event answered(struct connection *connection, uint64_t now_ns)
{
	/* It works: the next trouble is a new one. */
	connection->used = true;
	connection->back_off_ns = 0;
	/* The rest of a request that was answered early would be taken for another one. */
	if (!connection->response.keep_alive || connection->sent < connection->request.length)
		return close_as(connection, CONNECTION_ANSWERED, now_ns);
	enter(connection, CONNECTION_IDLE, now_ns);
	return CONNECTION_ANSWERED;
}

/* The other end is gone. */
static enum connection_event ended(struct connection *connection, uint64_t now_ns)
{
	if (connection->state == CONNECTION_IDLE)
		return lost(connection, now_ns);
	if (ebbi_response_end(&connection->response) == RESPONSE_WHOLE)
		return answered(connection, now_ns);
	connection->problem = connection->response.problem;
	return close_as(connection, CONNECTION_BROKEN, now_ns);
}

static enum connection_event digest(struct connection *connection, const char *bytes, size_t length, uint64_t now_ns)
{
	if (connection->state == CONNECTION_IDLE) {
		connection->problem = "bytes came that no request had asked for";
		return lost(connection, now_ns);
	}
	switch (ebbi_response_feed(&connection->response, bytes, length)) {
	case RESPONSE_MORE:
		break;
	case RESPONSE_WHOLE:
		return answered(connection, now_ns);
	case RESPONSE_BAD:
		connection->problem = connection->response.problem;
		return close_as(connection, CONNECTION_BAD, now_ns);
	}
	return CONNECTION_NOTHING;
}

enum connection_event ebbi_connection_happened(struct connection *connection, uint32_t events, char *room, size_t size,
					       uint64_t now_ns)
{
	ssize_t got;

	if (connection->state == CONNECTION_OPENING)
		return opened(connection, now_ns);
	if (connection->state == CONNECTION_BUSY && (events & EPOLLOUT) != 0)
		send_more(connection);
	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0)
		return CONNECTION_NOTHING;
	got = recv(connection->fd, room, size, 0);
	if (got > 0)
		return digest(connection, room, (size_t)got, now_ns);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return CONNECTION_NOTHING;
	return ended(connection, now_ns);
}
