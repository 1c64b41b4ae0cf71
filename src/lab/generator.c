#include "lab/generator.h"

#include <errno.h>
#include <netdb.h>
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

#define MS 1000000u
/* How often timeouts and connections to be opened are looked for. */
#define SCAN_NS (10 * MS)
/* How long the connections may take to be there before the first request is due. */
#define CONNECT_NS (1000 * MS)
/* After the last was due, those that still wait may go out for so long. */
#define DRAIN_NS (1000 * MS)
/* The kernel may let us sleep so much longer than asked: a wakeup for each request would cost more. */
#define SLACK_NS 10000
#define EVENTS 128

struct generator {
	const struct generator_plan *plan;
	struct load_tally *tally;
	struct connection_target target;
	struct connection *connections;
	char *buffers;
	/* Idle connections, the one that has been so longest first: all of them are used. */
	uint32_t *idle;
	bool *queued;
	unsigned idle_first, idle_count;
	unsigned busy;
	struct schedule schedule;
	uint64_t sent; /* the next request */
	uint64_t end_ns;
	uint64_t next_scan_ns;
};

static bool fail(struct generator *generator, const char *what, const char *why)
{
	snprintf(generator->tally->problem, sizeof(generator->tally->problem), "%s: %s", what, why);
	return false;
}

/* --- Idle connections -------------------------------------------------------------------- */

static void put_idle(struct generator *generator, uint32_t index)
{
	unsigned most = generator->plan->connections;

	if (generator->queued[index])
		return;
	generator->queued[index] = true;
	generator->idle[(generator->idle_first + generator->idle_count++) % most] = index;
}

/* Skips those that have ended since they were put there. */
static struct connection *take_idle(struct generator *generator)
{
	while (generator->idle_count > 0) {
		uint32_t index = generator->idle[generator->idle_first];

		generator->idle_first = (generator->idle_first + 1) % generator->plan->connections;
		generator->idle_count--;
		generator->queued[index] = false;
		if (generator->connections[index].state == CONNECTION_IDLE)
			return &generator->connections[index];
	}
	return NULL;
}

/* --- What became of a request ------------------------------------------------------------ */

static void count_answer(struct load_tally *tally, const struct connection *connection, uint64_t now_ns)
{
	unsigned status = connection->response.status;

	if (status >= 200 && status < 400) {
		tally->served++;
		ebbi_latency_add(&tally->latency, now_ns - connection->intended_ns);
	} else if (status == 503 && connection->response.retry_after) {
		tally->refused++;
	} else {
		if (tally->failed_status++ == 0)
			tally->first_failed_status = status;
	}
	if (connection->unasked)
		tally->unasked++;
}

static void note(struct generator *generator, struct connection *connection, enum connection_event event,
		 uint64_t now_ns)
{
	struct load_tally *tally = generator->tally;

	switch (event) {
	case CONNECTION_NOTHING:
	case CONNECTION_GONE:
		return;
	case CONNECTION_UNASKED:
		tally->unasked++;
		return;
	case CONNECTION_OPENED:
		tally->opened++;
		put_idle(generator, (uint32_t)(connection - generator->connections));
		return;
	case CONNECTION_REFUSED:
		tally->not_opened++;
		return;
	case CONNECTION_ANSWERED:
		count_answer(tally, connection, now_ns);
		if (connection->state == CONNECTION_IDLE)
			put_idle(generator, (uint32_t)(connection - generator->connections));
		break;
	case CONNECTION_ENDED:
		tally->ended++;
		break;
	case CONNECTION_MALFORMED:
		tally->malformed++;
		break;
	case CONNECTION_LATE:
		tally->late++;
		ebbi_latency_add(&tally->latency, now_ns - connection->intended_ns);
		break;
	}
	generator->busy--;
}

/* --- Sending ----------------------------------------------------------------------------- */

static void give_up(struct generator *generator, uint64_t now_ns)
{
	generator->tally->unsent++;
	ebbi_latency_add(&generator->tally->latency,
			 now_ns - ebbi_schedule_time(&generator->schedule, generator->sent++));
}

static void send_next(struct generator *generator, struct connection *connection, uint64_t now_ns)
{
	uint64_t intended_ns = ebbi_schedule_time(&generator->schedule, generator->sent);
	uint64_t could_ns = connection->since_ns > intended_ns ? connection->since_ns : intended_ns;
	bool is_head;
	size_t length = ebbi_requests_write(generator->plan->requests, generator->sent++, connection->out, &is_head);

	ebbi_latency_add(&generator->tally->lag, now_ns > could_ns ? now_ns - could_ns : 0);
	generator->busy++;
	note(generator, connection, ebbi_connection_send(connection, length, is_head, intended_ns, now_ns), now_ns);
}

/* Sends what is due, as far as there are connections. */
static void dispatch(struct generator *generator, uint64_t now_ns)
{
	uint64_t due = ebbi_schedule_due(&generator->schedule, now_ns);

	generator->tally->offered = due;
	while (generator->sent < due) {
		uint64_t waited_ns = now_ns - ebbi_schedule_time(&generator->schedule, generator->sent);
		struct connection *connection = NULL;

		if (waited_ns <= GENERATOR_TIMEOUT_NS && now_ns <= generator->end_ns + DRAIN_NS) {
			connection = take_idle(generator);
			if (!connection)
				return;
			send_next(generator, connection, now_ns);
		} else {
			give_up(generator, now_ns);
		}
	}
}

/* --- The loop ---------------------------------------------------------------------------- */

static void open_closed(struct generator *generator, unsigned i, uint64_t now_ns)
{
	struct connection *connection = &generator->connections[i];

	if (connection->state == CONNECTION_CLOSED && connection->retry_ns <= now_ns)
		note(generator, connection, ebbi_connection_open(connection, &generator->target, i, now_ns), now_ns);
}

static void scan(struct generator *generator, uint64_t now_ns)
{
	if (now_ns < generator->next_scan_ns)
		return;
	generator->next_scan_ns = now_ns + SCAN_NS;
	for (unsigned i = 0; i < generator->plan->connections; i++) {
		struct connection *connection = &generator->connections[i];
		enum connection_event event = ebbi_connection_check(connection, now_ns, GENERATOR_TIMEOUT_NS);

		note(generator, connection, event, now_ns);
		open_closed(generator, i, now_ns);
	}
}

static void wait_until(struct generator *generator, uint64_t until_ns)
{
	struct epoll_event events[EVENTS];
	uint64_t now_ns = ebbi_lab_now();
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
				      .tv_nsec = (long)(left_ns % 1000000000u)};
	int count = epoll_pwait2(generator->target.epoll_fd, events, EVENTS, &left, NULL);

	if (count < 0 && errno == ENOSYS) /* before Linux 5.11: whole milliseconds */
		count = epoll_wait(generator->target.epoll_fd, events, EVENTS, (int)((left_ns + MS - 1) / MS));
	for (int i = 0; i < count; i++) {
		uint32_t index = events[i].data.u32;
		struct connection *connection = &generator->connections[index];

		now_ns = ebbi_lab_now();
		note(generator, connection, ebbi_connection_handle(connection, events[i].events, now_ns), now_ns);
		open_closed(generator, index, now_ns);
	}
}

/* Until all connections are there, or it takes too long: a server that accepts slowly is measured like that. */
static void connect_all(struct generator *generator)
{
	uint64_t until_ns = ebbi_lab_now() + CONNECT_NS;
	uint64_t now_ns;

	while ((now_ns = ebbi_lab_now()) < until_ns && generator->idle_count < generator->plan->connections) {
		scan(generator, now_ns);
		wait_until(generator, generator->next_scan_ns);
	}
}

static void run(struct generator *generator)
{
	uint64_t now_ns;

	for (;;) {
		uint64_t until_ns;

		now_ns = ebbi_lab_now();
		scan(generator, now_ns);
		dispatch(generator, now_ns);
		if (generator->sent == generator->schedule.count && generator->busy == 0)
			break;
		until_ns = generator->next_scan_ns;
		if (generator->idle_count > 0 && generator->sent < generator->schedule.count) {
			uint64_t due_ns = ebbi_schedule_time(&generator->schedule, generator->sent);

			until_ns = due_ns < until_ns ? due_ns : until_ns;
		}
		wait_until(generator, until_ns);
	}
	generator->tally->wall_ns = now_ns - generator->schedule.start_ns;
}

/* --- Begin and end ----------------------------------------------------------------------- */

static bool resolve(struct generator *generator)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	int error = getaddrinfo(generator->plan->host, generator->plan->port, &hints, &list);
	bool found = false;

	if (error != 0)
		return fail(generator, generator->plan->host, gai_strerror(error));
	/* The first that answers: localhost is often two addresses, of which a server has one. */
	for (struct addrinfo *at = list; at && !found; at = at->ai_next) {
		int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		found = fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0;
		if (fd >= 0)
			close(fd);
		memcpy(&generator->target.address, at->ai_addr, at->ai_addrlen);
		generator->target.address_length = at->ai_addrlen;
	}
	freeaddrinfo(list);
	return found || fail(generator, generator->plan->host, "nobody accepts a connection there");
}

static bool prepare(struct generator *generator)
{
	const struct generator_plan *plan = generator->plan;
	struct rlimit files;
	size_t most = plan->requests->most_bytes;

	if (!ebbi_response_load())
		return fail(generator, "libhttp_parser.so.2.9",
			    "not installed; on Debian: apt-get install libhttp-parser2.9");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	generator->target.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	generator->connections = calloc(plan->connections, sizeof(*generator->connections));
	generator->idle = calloc(plan->connections, sizeof(*generator->idle));
	generator->queued = calloc(plan->connections, sizeof(*generator->queued));
	generator->buffers = malloc(plan->connections * most);
	if (generator->target.epoll_fd < 0 || !generator->connections || !generator->idle || !generator->queued ||
	    !generator->buffers)
		return fail(generator, "the load", "out of memory");
	for (unsigned i = 0; i < plan->connections; i++) {
		generator->connections[i].fd = -1;
		generator->connections[i].out = generator->buffers + i * most;
	}
	return resolve(generator);
}

static uint64_t cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

int ebbi_generator_run(void *context)
{
	const struct generator_plan *plan = context;
	struct generator generator = {.plan = plan, .tally = plan->tally, .target.epoll_fd = -1};
	bool able = prepare(&generator);
	uint64_t before_ns = cpu_ns();

	if (able) {
		connect_all(&generator);
		generator.schedule = ebbi_schedule(plan->rate, plan->duration_ns, ebbi_lab_now());
		generator.end_ns = generator.schedule.start_ns + plan->duration_ns;
		run(&generator);
		plan->tally->cpu_ns = cpu_ns() - before_ns;
		plan->tally->done = true;
		for (unsigned i = 0; i < plan->connections; i++)
			ebbi_connection_close(&generator.connections[i], 0);
	}
	free(generator.buffers);
	free(generator.queued);
	free(generator.idle);
	free(generator.connections);
	if (generator.target.epoll_fd >= 0)
		close(generator.target.epoll_fd);
	return able ? 0 : 1;
}
