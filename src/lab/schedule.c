#include "lab/schedule.h"

#define SECOND 1000000000ull

void ebbi_schedule_start(struct schedule *schedule, uint64_t rate, uint64_t duration_ns, uint64_t start_ns)
{
	uint64_t total = rate * (duration_ns / SECOND) + rate * (duration_ns % SECOND) / SECOND;

	*schedule = (struct schedule){.start_ns = start_ns, .rate = rate, .total = total ? total : 1};
}

uint64_t ebbi_schedule_time(const struct schedule *schedule, uint64_t request)
{
	uint64_t rate = schedule->rate;

	return schedule->start_ns + request / rate * SECOND + request % rate * SECOND / rate;
}

uint64_t ebbi_schedule_due(const struct schedule *schedule, uint64_t now_ns)
{
	uint64_t past_ns, due;

	if (now_ns < schedule->start_ns)
		return 0;
	past_ns = now_ns - schedule->start_ns;
	/* Rounded down and put right, so that it agrees with ebbi_schedule_time to the nanosecond. */
	due = past_ns / SECOND * schedule->rate + past_ns % SECOND * schedule->rate / SECOND;
	while (due < schedule->total && ebbi_schedule_time(schedule, due) <= now_ns)
		due++;
	return due < schedule->total ? due : schedule->total;
}

bool ebbi_schedule_take(struct schedule *schedule, uint64_t now_ns, uint64_t *ret_request)
{
	if (ebbi_schedule_next(schedule) > now_ns)
		return false;
	*ret_request = schedule->next++;
	return true;
}

uint64_t ebbi_schedule_expire(struct schedule *schedule, uint64_t now_ns, uint64_t patience_ns)
{
	uint64_t before = schedule->next;

	if (now_ns < patience_ns)
		return 0;
	/* Those that were due before the patience began. */
	schedule->next = ebbi_schedule_due(schedule, now_ns - patience_ns);
	if (schedule->next < before)
		schedule->next = before;
	return schedule->next - before;
}

uint64_t ebbi_schedule_next(const struct schedule *schedule)
{
	if (schedule->next >= schedule->total)
		return SCHEDULE_NEVER;
	return ebbi_schedule_time(schedule, schedule->next);
}
