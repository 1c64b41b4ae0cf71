/*
 * generator.h: a load of so many requests a second over so many connections, from one thread, as an open loop.
 *
 * Each request has a time at which it is meant to be sent (schedule.h). When all connections are busy it waits and is sent
 * late, and its latency counts from the time that was meant, so that nothing that a slow server keeps from us goes missing. What
 * has found no answer within the patience is an error; so a load ends at its duration and the patience at the latest.
 *
 * Owns: its connections while ebbi_generator_run runs; results lie in the caller's memory, which may be shared with
 * another process. Never: writes to stdout or stderr; follows a redirect; sends a second request before the answer.
 * Threading: one thread. Errors: a load that could not begin has `message`; everything later is counted.
 * Invariant: offered = served + refused + the sum of errors, once `done`; of a load that was cut off some have no end.
 */
#ifndef EBBI_LAB_GENERATOR_H
#define EBBI_LAB_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/allocator.h"
#include "lab/latency.h"
#include "lab/requests.h"

#define GENERATOR_CONNECTIONS_MOST 20000u

/* What a request can end as, other than served or refused: id, key in JSON, words for "12 ..." requests. */
#define GENERATOR_ERRORS(ERROR) \
	ERROR(STATUS, status, "answered with an error status") \
	ERROR(BROKEN, broken, "cut off before an answer") \
	ERROR(BAD, malformed, "with a malformed answer") \
	ERROR(TIMEOUT, timeout, "not answered in time") \
	ERROR(UNSENT, unsent, "not sent in time: all connections were busy or closed")

enum generator_error {
#define ENUM(id, key, words) GENERATOR_##id,
	GENERATOR_ERRORS(ENUM)
#undef ENUM
		GENERATOR_ERROR_COUNT
};

struct generator_plan {
	char host[256];
	char port[8];
	const struct requests *requests;
	uint64_t rate;
	uint64_t duration_ns;
	uint64_t patience_ns;
	uint64_t event_bytes; /* of bodies with a fill; 0: as the templates have it */
	uint32_t connections;
};

struct generator_result {
	bool done;
	char message[LAB_MESSAGE]; /* why there was no load; "" otherwise */
	uint64_t offered;
	uint64_t served;  /* 2xx and 3xx */
	uint64_t refused; /* 503 with Retry-After */
	uint64_t errors[GENERATOR_ERROR_COUNT];
	uint64_t status[1000];  /* answers with an error status, by status; [0]: out of range */
	uint64_t opened;        /* connections, in all */
	uint64_t not_opened;    /* tries that failed */
	int open_error;         /* errno of one of them */
	char problem[96];       /* of one of the malformed answers or broken connections */
	uint32_t connections;   /* open at the start */
	uint64_t backlog_most;  /* requests that waited for a connection at one time */
	struct latency latency; /* of those served, from when they were meant to be sent */
	struct latency refusal; /* of those refused */
	struct latency own;     /* our own delay: from when a request was due and a connection free, to its send */
	uint64_t served_ns;     /* from the start to the last answer that served */
	uint64_t wall_ns;
	uint64_t cpu_ns;    /* ours */
	uint64_t waited_ns; /* we were ready to run and got no CPU */
};

/* Served a second, over the duration or until the last answer, if that came later. Pure. */
double ebbi_generator_throughput(const struct generator_result *result, uint64_t duration_ns);

/* Fills *ret_result while it runs. 0, or 1 with a message when no load was possible. */
int ebbi_generator_run(const struct generator_plan *plan, struct generator_result *ret_result);

#endif
