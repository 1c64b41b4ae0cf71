/*
 * generator.h: a constant-rate load over HTTP/1.1: requests go out when they are due, not when the one before was
 * answered, and their latency counts from when they were due.
 *
 * Owns: while it runs, its sockets. It is an experiment_plan.load_function: it runs in a process of its own.
 * Never: opens more than `connections`; sends a request before it is due; hides one: each is in exactly one of served,
 * refused, failed_status, ended, malformed, late and unsent, and those that were given up count in the latencies with the time
 * they had waited.
 * Threading: one thread, with epoll. Errors: what is wrong with the load itself (no library, no such host) in
 * `problem`, and an exit code of 1. What the server does wrong is counted.
 */
#ifndef EBBI_LAB_GENERATOR_H
#define EBBI_LAB_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/latency.h"
#include "lab/requests.h"

#define GENERATOR_CONNECTIONS_MOST 10000
/* A server that takes longer has not served. */
#define GENERATOR_TIMEOUT_NS 5000000000u

/* What became of the load; in memory that both processes share. */
struct load_tally {
	uint64_t offered;       /* were due */
	uint64_t served;        /* 200 to 399 */
	uint64_t refused;       /* 503 with Retry-After */
	uint64_t failed_status; /* any other status */
	uint64_t ended;         /* the connection, before there was an answer */
	uint64_t malformed;
	uint64_t late;   /* no answer in GENERATOR_TIMEOUT_NS */
	uint64_t unsent; /* no connection was free in time */
	unsigned first_failed_status;
	/* Connections. */
	uint64_t opened, not_opened, unasked;
	struct latency latency; /* of those served, late and unsent */
	struct latency lag;     /* how late a request went out that had a connection: the generator's own fault */
	uint64_t wall_ns;       /* from the first request to the end of the last */
	uint64_t cpu_ns;        /* of the generator */
	bool done;
	char problem[256]; /* "": none */
};

struct generator_plan {
	const char *host;
	const char *port;
	const struct requests *requests;
	unsigned connections;
	uint64_t rate; /* a second */
	uint64_t duration_ns;
	struct load_tally *tally;
};

/* `context` is a struct generator_plan. */
int ebbi_generator_run(void *context);

/* All that went wrong but for refusals. */
static inline uint64_t ebbi_tally_errors(const struct load_tally *tally)
{
	return tally->failed_status + tally->ended + tally->malformed + tally->late + tally->unsent;
}

#endif
