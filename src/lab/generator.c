#include "lab/generator.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lab/connection.h"
#include "lab/schedule.h"
#include "lab/session.h"
#include "observe/procread.h"

#define MS 1000000ull
/* How often deadlines are looked at; also the longest sleep. */
#define LOOK_NS (5 * MS)
/* Before the first request all connections ought to be open. */
#define OPEN_WAIT_NS (2000 * MS)
#define EVENTS 256
#define ROOM 65536

struct generator {
	const struct generator_plan *plan;
	struct generator_result *result;
	struct address address;
	struct schedule schedule;
	struct connection *connections;
	/* Those who are idle, the longest first: all take part. A ring; who is no longer idle is stepped over. */
	uint32_t *queue;
	uint32_t queue_first;
	uint32_t queue_count;
	uint32_t open; /* connections that are */
	uint32_t busy;
	uint64_t next_look_ns;
	int epoll_fd;
	char room[ROOM];
};

static void queue_up(struct generator *generator, uint32_t index)
{
	struct connection *connection = &generator->connections[index];

	if (connection->queued)
		return;
	connection->queued = true;
	generator->queue[(generator->queue_first + generator->queue_count++) % generator->plan->connections] = index;
}

/* The connection that has been idle for longest; NULL: none is. It stays in the queue. */
static struct connection *first_idle(struct generator *generator)
{
	while (generator->queue_count > 0) {
		uint32_t index = generator->queue[generator->queue_first];

		if (generator->connections[index].state == CONNECTION_IDLE)
			return &generator->connections[index];
		generator->connections[index].queued = false;
		generator->queue_first = (generator->queue_first + 1) % generator->plan->connections;
		generator->queue_count--;
	}
	return NULL;
}

/* --- What happened ----------------------------------------------------------------------- */

static void count_answer(struct generator *generator, const struct connection *connection, uint64_t now_ns)
{
	struct generator_result *result = generator->result;
	unsigned status = connection->response.status;

	if (status >= 200 && status < 400) {
		result->served++;
		result->served_ns = now_ns - generator->schedule.start_ns;
		ebbi_latency_add(&result->latency, now_ns - connection->intended_ns);
	} else if (status == 503 && connection->response.retry_after) {
		result->refused++;
		ebbi_latency_add(&result->refusal, now_ns - connection->intended_ns);
	} else {
		result->errors[GENERATOR_STATUS]++;
		result->status[status < 1000 ? status : 0]++;
	}
}

static void note_problem(struct generator *generator, const char *problem)
{
	if (problem)
		snprintf(generator->result->problem, sizeof(generator->result->problem), "%s", problem);
}

static void open_connection(struct generator *generator, uint32_t index, uint64_t now_ns)
{
	struct connection *connection = &generator->connections[index];

	if (ebbi_connection_open(connection, &generator->address, now_ns) != CONNECTION_REFUSED)
		return;
	generator->result->not_opened++;
	generator->result->open_error = connection->error;
}

static void happened(struct generator *generator, uint32_t index, enum connection_event event, uint64_t now_ns)
{
	struct generator_result *result = generator->result;
	struct connection *connection = &generator->connections[index];

	switch (event) {
	case CONNECTION_NOTHING:
		return;
	case CONNECTION_OPENED:
		result->opened++;
		generator->open++;
		queue_up(generator, index);
		return;
	case CONNECTION_REFUSED:
		result->not_opened++;
		result->open_error = connection->error;
		return;
	case CONNECTION_LOST:
		note_problem(generator, connection->problem);
		break;
	case CONNECTION_ANSWERED:
		generator->busy--;
		count_answer(generator, connection, now_ns);
		break;
	case CONNECTION_BROKEN:
		generator->busy--;
		result->errors[GENERATOR_BROKEN]++;
		note_problem(generator, connection->problem);
		break;
	case CONNECTION_BAD:
		generator->busy--;
		result->errors[GENERATOR_BAD]++;
		note_problem(generator, connection->problem);
		break;
	}
	if (connection->state == CONNECTION_IDLE) {
		queue_up(generator, index);
		return;
	}
	generator->open--;
	if (now_ns >= connection->retry_ns)
		open_connection(generator, index, now_ns);
}

static void wait_for_events(struct generator *generator, uint64_t until_ns)
{
	struct epoll_event events[EVENTS];
	struct pollfd wait_for = {.fd = generator->epoll_fd, .events = POLLIN};
	uint64_t now_ns = ebbi_lab_now();
	int count;

	/* epoll_wait alone sleeps in whole milliseconds, which is 20 requests at 20,000 a second. */
	if (until_ns > now_ns) {
		uint64_t sleep_ns = until_ns - now_ns;
		struct timespec sleep = {.tv_sec = (time_t)(sleep_ns / 1000000000u),
					 .tv_nsec = (long)(sleep_ns % 1000000000u)};

		if (ppoll(&wait_for, 1, &sleep, NULL) <= 0)
			return;
	}
	count = epoll_wait(generator->epoll_fd, events, EVENTS, 0);
	now_ns = ebbi_lab_now();
	for (int i = 0; i < count; i++) {
		uint32_t index = events[i].data.u32;

		happened(generator, index,
			 ebbi_connection_happened(&generator->connections[index], events[i].events, generator->room,
						  sizeof(generator->room), now_ns),
			 now_ns);
	}
}

/* --- What is to be done ------------------------------------------------------------------ */

static void send_one(struct generator *generator, struct connection *connection, uint64_t number, uint64_t now_ns)
{
	const struct generator_plan *plan = generator->plan;
	uint64_t intended_ns = ebbi_schedule_time(&generator->schedule, number);
	uint64_t free_ns = connection->since_ns > intended_ns ? connection->since_ns : intended_ns;

	if (ebbi_requests_render(plan->requests, number, plan->event_bytes, &connection->request) != 0) {
		generator->result->errors[GENERATOR_UNSENT]++;
		return;
	}
	ebbi_latency_add(&generator->result->own, now_ns > free_ns ? now_ns - free_ns : 0);
	connection->number = number;
	connection->intended_ns = intended_ns;
	generator->busy++;
	ebbi_connection_send(connection, ebbi_requests_template(plan->requests, number)->to_head, now_ns);
}

static void send_due(struct generator *generator)
{
	struct generator_result *result = generator->result;
	uint64_t now_ns = ebbi_lab_now();
	uint64_t number, backlog;
	struct connection *idle;

	while ((idle = first_idle(generator)) != NULL && ebbi_schedule_take(&generator->schedule, now_ns, &number)) {
		send_one(generator, idle, number, now_ns);
		now_ns = ebbi_lab_now();
	}
	backlog = ebbi_schedule_due(&generator->schedule, now_ns) - generator->schedule.next;
	if (backlog > result->backlog_most)
		result->backlog_most = backlog;
}

/* Deadlines, and connections that may be tried again. */
static void look(struct generator *generator, uint64_t now_ns)
{
	const struct generator_plan *plan = generator->plan;

	if (now_ns < generator->next_look_ns)
		return;
	generator->next_look_ns = now_ns + LOOK_NS;
	generator->result->errors[GENERATOR_UNSENT] +=
		ebbi_schedule_expire(&generator->schedule, now_ns, plan->patience_ns);
	for (uint32_t i = 0; i < plan->connections; i++) {
		struct connection *connection = &generator->connections[i];

		if (connection->state == CONNECTION_CLOSED && now_ns >= connection->retry_ns) {
			open_connection(generator, i, now_ns);
		} else if (connection->state == CONNECTION_BUSY &&
			   now_ns >= connection->intended_ns + plan->patience_ns) {
			generator->result->errors[GENERATOR_TIMEOUT]++;
			generator->busy--;
			generator->open--;
			ebbi_connection_close(connection, now_ns);
		} else if (connection->state == CONNECTION_OPENING &&
			   now_ns >= connection->since_ns + plan->patience_ns) {
			generator->result->not_opened++;
			generator->result->open_error = ETIMEDOUT;
			ebbi_connection_close(connection, now_ns);
		}
	}
}

static void run_load(struct generator *generator)
{
	while (generator->busy > 0 || ebbi_schedule_next(&generator->schedule) != SCHEDULE_NEVER) {
		uint64_t until_ns = generator->next_look_ns;
		uint64_t next_ns = ebbi_schedule_next(&generator->schedule);

		if (next_ns < until_ns && first_idle(generator))
			until_ns = next_ns;
		wait_for_events(generator, until_ns);
		send_due(generator);
		look(generator, ebbi_lab_now());
	}
}

/* --- Begin and end ----------------------------------------------------------------------- */

static int fail(struct generator *generator, const char *what, const char *why)
{
	snprintf(generator->result->message, LAB_MESSAGE, "%s:%s: %s: %s", generator->plan->host, generator->plan->port,
		 what, why);
	return 1;
}

static int resolve(struct generator *generator)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int error = getaddrinfo(generator->plan->host, generator->plan->port, &hints, &found);

	if (error != 0)
		return fail(generator, "no such host", gai_strerror(error));
	/* A name such as localhost may have several; the one that accepts a connection is taken. */
	for (struct addrinfo *each = found; each; each = each->ai_next) {
		const struct timeval limit = {.tv_sec = 2};
		int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool accepted = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
				connect(fd, each->ai_addr, each->ai_addrlen) == 0;

		error = errno;
		if (fd >= 0)
			close(fd);
		if (!accepted)
			continue;
		memcpy(&generator->address.bytes, each->ai_addr, each->ai_addrlen);
		generator->address.length = each->ai_addrlen;
		error = 0;
		break;
	}
	freeaddrinfo(found);
	return error ? fail(generator, "cannot connect", strerror(error)) : 0;
}

static int make_room(struct generator *generator)
{
	uint32_t count = generator->plan->connections;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < count + 64) {
		files.rlim_cur = count + 64 < files.rlim_max ? count + 64 : files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
		if (files.rlim_cur < count + 16)
			return fail(generator, "too many connections for this user's open files", "see ulimit -n");
	}
	generator->connections = calloc(count, sizeof(*generator->connections));
	generator->queue = calloc(count, sizeof(*generator->queue));
	generator->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!generator->connections || !generator->queue || generator->epoll_fd < 0)
		return fail(generator, "no memory for so many connections", strerror(errno));
	for (uint32_t i = 0; i < count; i++) {
		generator->connections[i].epoll_fd = generator->epoll_fd;
		generator->connections[i].token = i;
	}
	return 0;
}

static int open_all(struct generator *generator)
{
	uint64_t end_ns = ebbi_lab_now() + OPEN_WAIT_NS;

	for (uint32_t i = 0; i < generator->plan->connections; i++)
		open_connection(generator, i, ebbi_lab_now());
	while (generator->open < generator->plan->connections && ebbi_lab_now() < end_ns) {
		wait_for_events(generator, ebbi_lab_now() + LOOK_NS);
		look(generator, ebbi_lab_now());
	}
	generator->result->connections = generator->open;
	if (generator->open > 0)
		return 0;
	return fail(generator, "cannot connect", strerror(generator->result->open_error));
}

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How long we have been waiting for a CPU; 0 where the kernel does not say. */
static uint64_t waited_now(void)
{
	char bytes[128];
	ssize_t length = ebbi_read_file("/proc/self/schedstat", bytes, sizeof(bytes));
	struct text text = ebbi_text(bytes, length > 0 ? (size_t)length : 0);
	uint64_t ran_ns, waited_ns;

	return ebbi_text_decimal(&text, &ran_ns) && ebbi_text_decimal(&text, &waited_ns) ? waited_ns : 0;
}

static void measured(struct generator *generator)
{
	struct generator_result *result = generator->result;
	uint64_t cpu_ns = cpu_now(), waited_ns = waited_now(), start_ns = ebbi_lab_now();

	ebbi_schedule_start(&generator->schedule, generator->plan->rate, generator->plan->duration_ns, start_ns + MS);
	result->offered = generator->schedule.total;
	run_load(generator);
	result->wall_ns = ebbi_lab_now() - start_ns;
	result->cpu_ns = cpu_now() - cpu_ns;
	result->waited_ns = waited_now() - waited_ns;
	result->done = true;
}

double ebbi_generator_throughput(const struct generator_result *result, uint64_t duration_ns)
{
	uint64_t over_ns = result->served_ns > duration_ns ? result->served_ns : duration_ns;

	return over_ns ? (double)result->served * 1e9 / (double)over_ns : 0;
}

int ebbi_generator_run(const struct generator_plan *plan, struct generator_result *ret_result)
{
	static struct generator generator;
	int code;

	generator = (struct generator){.plan = plan, .result = ret_result, .epoll_fd = -1};
	*ret_result = (struct generator_result){0};
	signal(SIGPIPE, SIG_IGN);
	/* Sleeps are to end when they were meant to; 50 us of slack are as long as a request apart. */
	prctl(PR_SET_TIMERSLACK, 1000);
	if (ebbi_response_load(ret_result->message) != 0)
		return 1;
	code = resolve(&generator);
	if (code == 0)
		code = make_room(&generator);
	if (code == 0)
		code = open_all(&generator);
	if (code == 0)
		measured(&generator);
	for (uint32_t i = 0; generator.connections && i < plan->connections; i++) {
		ebbi_connection_close(&generator.connections[i], 0);
		free(generator.connections[i].request.bytes);
	}
	free(generator.connections);
	free(generator.queue);
	if (generator.epoll_fd >= 0)
		close(generator.epoll_fd);
	return code;
}
