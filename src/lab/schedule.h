/*
 * schedule.h: when each request of a constant-rate load is meant to be sent.
 *
 *	request     0        1        2        3        4  ...  total - 1
 *	intended    |--------|--------|--------|--------|
 *	sent           s0 s1                s2            <- all connections were busy: late, and their latency is
 *	                                                     counted from the line above, not from here
 *
 * The time of a request follows from its number alone, so a server that stalls delays no request that comes after: there is
 * no coordinated omission. What waits is a range of numbers, [next, due): it costs no memory.
 *
 * Owns: the numbers. Pure: the clock is passed in. Threading: one thread. Errors: none.
 * Invariants: next <= due(now) <= total; times are taken from the start, so that rounding never adds up.
 */
#ifndef EBBI_LAB_SCHEDULE_H
#define EBBI_LAB_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_RATE_MOST 1000000u
#define SCHEDULE_NEVER UINT64_MAX

struct schedule {
	uint64_t start_ns;
	uint64_t rate;  /* requests a second, 1 to SCHEDULE_RATE_MOST */
	uint64_t total; /* how many there will be */
	uint64_t next;  /* the first that was neither taken nor given up */
};

/* `rate` requests a second for so long, the first at start_ns; at least one. */
void ebbi_schedule_start(struct schedule *schedule, uint64_t rate, uint64_t duration_ns, uint64_t start_ns);

uint64_t ebbi_schedule_time(const struct schedule *schedule, uint64_t request);

/* How many requests ought to have been sent by then. */
uint64_t ebbi_schedule_due(const struct schedule *schedule, uint64_t now_ns);

/* The next request, if one is due. */
bool ebbi_schedule_take(struct schedule *schedule, uint64_t now_ns, uint64_t *ret_request);

/* Gives up those that have waited for longer than that; returns how many. */
uint64_t ebbi_schedule_expire(struct schedule *schedule, uint64_t now_ns, uint64_t patience_ns);

/* When the next one is due, also when that is over; SCHEDULE_NEVER: all are taken. */
uint64_t ebbi_schedule_next(const struct schedule *schedule);

#endif
