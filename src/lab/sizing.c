#include "lab/sizing.h"

enum sizing_verdict ebbi_sizing_judge(const struct sizing_facts *facts, uint64_t base_p99_ns)
{
	bool behind = (double)facts->served < SIZING_SERVED_SHARE * (double)facts->offered || facts->offered == 0;
	bool slow = facts->p99_ns > SIZING_TOO_SLOW_NS ||
		    (base_p99_ns > 0 && facts->p99_ns > SIZING_SLOW_NS && facts->p99_ns > SIZING_SLOWER * base_p99_ns);

	if (facts->died)
		return SIZING_DIED;
	if (!behind && !slow)
		return SIZING_KEPT_UP;
	if (facts->generator_cores > SIZING_CORE || facts->lag_p99_ns > SIZING_LAG_NS)
		return SIZING_MACHINE;
	return behind ? SIZING_BEHIND : SIZING_SLOW;
}

void ebbi_sizing_start(struct sizing *sizing, const uint64_t *rates, size_t count)
{
	*sizing = (struct sizing){.rates = rates, .count = count};
}

/* Two figures; the third would be a claim. */
static uint64_t rounded(uint64_t rate)
{
	uint64_t unit = 1;

	while (rate / unit >= 100)
		unit *= 10;
	return rate / unit * unit;
}

uint64_t ebbi_sizing_next(const struct sizing *sizing)
{
	uint64_t middle;

	if (sizing->knee == 0)
		return sizing->next < sizing->count ? sizing->rates[sizing->next] : 0;
	if (sizing->steps == SIZING_STEPS)
		return 0;
	middle = rounded((sizing->best + sizing->knee) / 2);
	/* A twentieth is near enough. */
	if (middle <= sizing->best + sizing->best / 20 || middle >= sizing->knee)
		return 0;
	return middle;
}

void ebbi_sizing_tell(struct sizing *sizing, uint64_t rate, enum sizing_verdict verdict)
{
	bool between = sizing->knee > 0;

	if (verdict == SIZING_KEPT_UP)
		sizing->best = rate;
	else
		sizing->knee = rate;
	if (between)
		sizing->steps++;
	else
		sizing->next++;
}
