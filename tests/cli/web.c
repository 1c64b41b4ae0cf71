/*
 * web: an HTTP/1.1 server on epoll with habits, for the tests of `ebb size`.
 *
 *   web PORT [option...]
 *     work=US      burns so much CPU at each request
 *     sleep=US     sleeps so long at each request: one request at a time, so it serves 1e6/US a second at most
 *     refuse=N     serves N requests a second and refuses the rest with 503 and Retry-After
 *     bare=N       the same, without the Retry-After
 *     stall=AT:MS  once, AT ms after the first request, does nothing for so long
 *     close=N      every Nth answer says Connection: close, and means it
 *     drop=N       closes the connection in place of every Nth answer
 *     keep=BYTES   keeps so much memory for each request, or what stands in the variable KEEP
 *     status=N     the status of all answers
 *     chunked early giant garbage dead until-close double interim
 *                  how it answers: in chunks; before the body was read, and closes; with an endless header; with what is no
 *                  HTTP; never; without a length; twice; with a 100 before the 200
 *     die=N        exits at the Nth request
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 12000
#define ROOM 8192

struct client {
	size_t length;    /* of a head that is not complete */
	size_t body_left; /* of the request whose head was read */
	bool in_body;
	char bytes[ROOM];
};

static struct client *clients[MOST];
static long work_us, sleep_us, refuse = -1, stall_at = -1, stall_ms, close_every, drop_every, keep, status = 200, die;
static bool bare;
static const char *habit = "";
static uint64_t requests, first_ns, second_ns, in_second;
static void **kept; /* what nobody frees */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_us(long us)
{
	struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	nanosleep(&pause, NULL);
}

static void option(const char *text)
{
	const char *equals = strchr(text, '=');
	long value = equals ? atol(equals + 1) : 0;

	if (strncmp(text, "work=", 5) == 0)
		work_us = value;
	else if (strncmp(text, "sleep=", 6) == 0)
		sleep_us = value;
	else if (strncmp(text, "refuse=", 7) == 0 || strncmp(text, "bare=", 5) == 0)
		refuse = value, bare = text[0] == 'b';
	else if (strncmp(text, "stall=", 6) == 0)
		stall_at = value, stall_ms = atol(strchr(text, ':') + 1);
	else if (strncmp(text, "close=", 6) == 0)
		close_every = value;
	else if (strncmp(text, "drop=", 5) == 0)
		drop_every = value;
	else if (strncmp(text, "keep=", 5) == 0)
		keep = value;
	else if (strncmp(text, "status=", 7) == 0)
		status = value;
	else if (strncmp(text, "die=", 4) == 0)
		die = value;
	else
		habit = text;
}

static void send_text(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* True when it is refused. */
static bool refuse_now(uint64_t now)
{
	if (refuse < 0)
		return false;
	if (now - second_ns >= 1000000000u) {
		second_ns = now;
		in_second = 0;
	}
	return in_second++ >= (uint64_t)refuse;
}

static void do_work(uint64_t now)
{
	if (keep > 0) {
		void **block = malloc((size_t)keep + sizeof(*block));

		memset(block, 0x5a, (size_t)keep + sizeof(*block));
		*block = kept;
		kept = block;
	}
	if (stall_at >= 0 && now - first_ns >= (uint64_t)stall_at * 1000000u) {
		stall_at = -1;
		pause_us(stall_ms * 1000);
	}
	if (sleep_us > 0)
		pause_us(sleep_us);
	while (work_us > 0 && now_ns() - now < (uint64_t)work_us * 1000u)
		;
}

static void answer_usually(int fd, bool last)
{
	char text[256];

	snprintf(text, sizeof(text), "HTTP/1.1 %ld Status\r\nContent-Length: 2\r\n%s\r\nok", status,
		 last ? "Connection: close\r\n" : "");
	send_text(fd, text);
}

/* False when the connection is to be closed. */
static bool answer(int fd)
{
	uint64_t now = now_ns();
	bool last;

	if (++requests == 1)
		first_ns = second_ns = now;
	if (die > 0 && requests >= (uint64_t)die)
		exit(7);
	if (refuse_now(now)) {
		send_text(fd, bare ? "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
				   : "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
		return true;
	}
	do_work(now);
	if (drop_every > 0 && requests % (uint64_t)drop_every == 0)
		return false;
	last = close_every > 0 && requests % (uint64_t)close_every == 0;
	if (strcmp(habit, "chunked") == 0)
		send_text(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
	else if (strcmp(habit, "garbage") == 0)
		send_text(fd, "SMTP/9 hello\r\n\r\n");
	else if (strcmp(habit, "double") == 0)
		send_text(fd, "HTTP/1.1 204 None\r\n\r\nHTTP/1.1 204 None\r\n\r\n");
	else if (strcmp(habit, "interim") == 0)
		send_text(fd, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	else if (strcmp(habit, "until-close") == 0)
		return send_text(fd, "HTTP/1.1 200 OK\r\n\r\nall that comes"), false;
	else if (strcmp(habit, "giant") == 0) {
		send_text(fd, "HTTP/1.1 200 OK\r\nX-Giant: ");
		for (int i = 0; i < 2000; i++)
			send_text(fd, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	} else if (strcmp(habit, "dead") != 0)
		answer_usually(fd, last);
	return !last;
}

/* All requests that are complete in it. False when the connection is over. */
static bool digest(int fd, struct client *client)
{
	size_t at = 0;

	for (;;) {
		char *end;
		const char *length;
		size_t left = client->length - at;

		if (client->in_body) {
			size_t part = left < client->body_left ? left : client->body_left;

			at += part;
			client->body_left -= part;
			if (client->body_left > 0)
				break;
			client->in_body = false;
			if (!answer(fd))
				return false;
			continue;
		}
		end = memmem(client->bytes + at, left, "\r\n\r\n", 4);
		if (!end)
			break;
		*end = 0;
		length = strcasestr(client->bytes + at, "\r\ncontent-length:");
		client->body_left = length ? strtoul(length + 17, NULL, 10) : 0;
		client->in_body = true;
		at = (size_t)(end + 4 - client->bytes);
		if (strcmp(habit, "early") == 0) {
			send_text(
				fd,
				"HTTP/1.1 503 Full\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
			shutdown(fd, SHUT_WR);
			return false;
		}
	}
	memmove(client->bytes, client->bytes + at, client->length - at);
	client->length -= at;
	return client->length < ROOM - 1;
}

static void end_client(int fd)
{
	free(clients[fd]);
	clients[fd] = NULL;
	close(fd);
}

static void serve(int fd)
{
	struct client *client = clients[fd];
	ssize_t got = recv(fd, client->bytes + client->length, ROOM - 1 - client->length, 0);

	if (got <= 0) {
		end_client(fd);
		return;
	}
	client->length += (size_t)got;
	client->bytes[client->length] = 0;
	if (!digest(fd, client))
		end_client(fd);
}

static void welcome(int listener, int set)
{
	struct epoll_event event = {.events = EPOLLIN};
	int one = 1;
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 || fd >= MOST) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	clients[fd] = calloc(1, sizeof(struct client));
	event.data.fd = fd;
	epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

static int open_listener(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 1024) != 0)
		exit(98);
	return fd;
}

int main(int argc, char **argv)
{
	struct epoll_event events[256];
	struct epoll_event event = {.events = EPOLLIN};
	int set = epoll_create1(0);
	int listener;

	if (argc < 2)
		return 2;
	if (getenv("KEEP"))
		keep = atol(getenv("KEEP"));
	for (int i = 2; i < argc; i++)
		option(argv[i]);
	signal(SIGPIPE, SIG_IGN);
	listener = open_listener(atoi(argv[1]));
	event.data.fd = listener;
	epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		int count = epoll_wait(set, events, 256, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == listener)
				welcome(listener, set);
			else if (clients[events[i].data.fd])
				serve(events[i].data.fd);
		}
	}
}
