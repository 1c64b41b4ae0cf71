#include "lab/ladder.h"

/* Nearer than this part of the rate the two are the same to anybody. */
#define NEAR 25

void ebbi_ladder_start(struct ladder *ladder, const uint64_t *rates, size_t count, unsigned steps)
{
	*ladder = (struct ladder){.steps = steps};
	for (size_t i = 0; i < count && ladder->count < LADDER_RATES; i++) {
		size_t at = ladder->count;

		while (at > 0 && ladder->rates[at - 1] > rates[i])
			at--;
		if (at > 0 && ladder->rates[at - 1] == rates[i])
			continue;
		for (size_t k = ladder->count++; k > at; k--)
			ladder->rates[k] = ladder->rates[k - 1];
		ladder->rates[at] = rates[i];
	}
}

/* Two digits that count: 17,342 is a number that nobody asked for. */
static uint64_t rounded(uint64_t rate)
{
	uint64_t unit = 1;

	while (rate / unit >= 100)
		unit *= 10;
	return rate / unit * unit;
}

bool ebbi_ladder_next(struct ladder *ladder, uint64_t *ret_rate)
{
	uint64_t rate;

	if (ladder->bad == 0) {
		if (ladder->next == ladder->count)
			return false;
		*ret_rate = ladder->rates[ladder->next++];
		return true;
	}
	if (ladder->steps == 0 || ladder->bad - ladder->good <= ladder->bad / NEAR)
		return false;
	rate = rounded(ladder->good + (ladder->bad - ladder->good) / 2);
	if (rate <= ladder->good || rate >= ladder->bad)
		return false;
	ladder->steps--;
	*ret_rate = rate;
	return true;
}

void ebbi_ladder_tell(struct ladder *ladder, uint64_t rate, bool good)
{
	if (good && rate > ladder->good)
		ladder->good = rate;
	if (!good && (ladder->bad == 0 || rate < ladder->bad))
		ladder->bad = rate;
}
