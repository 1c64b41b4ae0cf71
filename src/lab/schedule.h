/*
 * schedule.h: when each request of a constant-rate load is to be sent, whatever became of those before it.
 *
 * Owns: nothing. Pure: the clock is passed in. Threading: any. Errors: none.
 * Invariants: request i (from 0) is due i / rate seconds after the start; due(now) is the number of all whose time is
 * not after now, and never more than `count`.
 */
#ifndef EBBI_LAB_SCHEDULE_H
#define EBBI_LAB_SCHEDULE_H

#include <stdint.h>

/* Within these no product below overflows 64 bits. */
#define SCHEDULE_RATE_MOST 1000000u
#define SCHEDULE_SECONDS_MOST 3600u

struct schedule {
	uint64_t start_ns;
	uint64_t rate; /* a second, 1 to SCHEDULE_RATE_MOST */
	uint64_t count;
};

static inline struct schedule ebbi_schedule(uint64_t rate, uint64_t duration_ns, uint64_t start_ns)
{
	uint64_t whole = duration_ns / 1000000000u * rate + duration_ns % 1000000000u * rate / 1000000000u;

	return (struct schedule){.start_ns = start_ns, .rate = rate, .count = whole > 0 ? whole : 1};
}

static inline uint64_t ebbi_schedule_time(const struct schedule *schedule, uint64_t i)
{
	return schedule->start_ns + i * 1000000000u / schedule->rate;
}

static inline uint64_t ebbi_schedule_due(const struct schedule *schedule, uint64_t now_ns)
{
	uint64_t elapsed_ns, due;

	if (now_ns < schedule->start_ns)
		return 0;
	elapsed_ns = now_ns - schedule->start_ns;
	/* All are due long before the product could overflow. */
	if (elapsed_ns >= (uint64_t)SCHEDULE_SECONDS_MOST * 1000000000u)
		return schedule->count;
	/* floor(i * 1e9 / rate) <= elapsed  <=>  i * 1e9 < (elapsed + 1) * rate */
	due = ((elapsed_ns + 1) * schedule->rate - 1) / 1000000000u + 1;
	return due < schedule->count ? due : schedule->count;
}

#endif
