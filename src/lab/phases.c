#include "lab/phases.h"

/*
 * What still counts as "no work": one clock tick of CPU time plus 2 %. Ticks are what the kernel
 * counts in (10 ms), and a server's timers wake it now and then.
 */
#define IDLE_TICK_NS 10000000u
#define IDLE_SHARE 50u
/* How long killed processes may take to go before we stop waiting for them. */
#define KILL_WAIT_NS 5000000000u

void ebbi_phases_start(struct phases *phases, const struct phases_plan *plan, uint64_t now_ns)
{
	*phases = (struct phases){
		.plan = *plan,
		.phase = PHASE_BOOT,
		.started_ns = now_ns,
		.since_ns = now_ns,
		.idle_since_ns = now_ns,
		.last_marked_ns = now_ns,
	};
}

void ebbi_phases_ready(struct phases *phases)
{
	phases->ready = true;
}

void ebbi_phases_load_ended(struct phases *phases, bool failed)
{
	phases->load_ended = true;
	phases->load_failed = failed;
}

void ebbi_phases_main_ended(struct phases *phases)
{
	phases->main_ended = true;
}

void ebbi_phases_all_ended(struct phases *phases)
{
	phases->all_ended = true;
}

void ebbi_phases_cpu(struct phases *phases, uint64_t now_ns, uint64_t cpu_ns, bool running)
{
	uint64_t idle_ns = now_ns - phases->idle_since_ns;
	uint64_t used_ns = cpu_ns - phases->idle_cpu_ns;

	/* CPU time falls when a child dies that nobody waited for: that was work, too. */
	if (!running && cpu_ns >= phases->idle_cpu_ns && used_ns <= IDLE_TICK_NS + idle_ns / IDLE_SHARE)
		return;
	phases->idle_since_ns = now_ns;
	phases->idle_cpu_ns = cpu_ns;
	if (phases->phase == PHASE_SERVE)
		phases->next_rest = 0;
}

void ebbi_phases_stop(struct phases *phases, bool term_sent)
{
	phases->hurry = phases->stop_asked;
	phases->stop_asked = true;
	phases->term_sent = phases->term_sent || term_sent;
}

static void enter(struct phases *phases, enum lab_phase phase, uint64_t now_ns)
{
	phases->phase = phase;
	phases->since_ns = now_ns;
}

static enum lab_action stop_with(struct phases *phases, enum lab_outcome outcome, uint64_t now_ns)
{
	phases->outcome = outcome;
	enter(phases, PHASE_STOP, now_ns);
	return ebbi_phases_next(phases, now_ns);
}

static enum lab_action boot_over(struct phases *phases, enum boot_by by, uint64_t now_ns)
{
	phases->boot_by = by;
	enter(phases, phases->plan.has_load ? PHASE_LOAD : PHASE_SERVE, now_ns);
	/* The load's own start is an action: see next_load. */
	phases->next_rest = 0;
	return LAB_MARK_BOOT;
}

static enum lab_action next_boot(struct phases *phases, uint64_t now_ns)
{
	const struct phases_plan *plan = &phases->plan;

	if (phases->stop_asked)
		return stop_with(phases, plan->has_load || plan->has_ready ? OUTCOME_INTERRUPTED : OUTCOME_ENDED,
				 now_ns);
	if (phases->main_ended)
		return stop_with(phases, plan->has_load || plan->has_ready ? OUTCOME_DIED_EARLY : OUTCOME_ENDED,
				 now_ns);
	if (plan->has_ready) {
		if (phases->ready)
			return boot_over(phases, BOOT_BY_READY, now_ns);
		if (now_ns - phases->since_ns >= plan->ready_timeout_ns)
			return stop_with(phases, OUTCOME_NOT_READY, now_ns);
		return LAB_WAIT;
	}
	if (now_ns - phases->idle_since_ns >= plan->idle_ns)
		return boot_over(phases, BOOT_BY_IDLE, now_ns);
	if (now_ns - phases->since_ns >= plan->idle_limit_ns)
		return boot_over(phases, BOOT_BY_TIME, now_ns);
	return LAB_WAIT;
}

static enum lab_action next_load(struct phases *phases, uint64_t now_ns)
{
	if (phases->stop_asked)
		return stop_with(phases, OUTCOME_INTERRUPTED, now_ns);
	if (phases->main_ended)
		return stop_with(phases, OUTCOME_DIED_LOADED, now_ns);
	if (!phases->load_started) {
		phases->load_started = true;
		return LAB_START_LOAD;
	}
	if (!phases->load_ended)
		return LAB_WAIT;
	if (!phases->load_end_marked) {
		phases->load_end_marked = true;
		return LAB_MARK_LOAD_END;
	}
	if (phases->load_failed)
		return stop_with(phases, OUTCOME_LOAD_FAILED, now_ns);
	enter(phases, PHASE_REST, now_ns);
	phases->next_rest = 0;
	return ebbi_phases_next(phases, now_ns);
}

static enum lab_action next_rest(struct phases *phases, uint64_t now_ns)
{
	const struct phases_plan *plan = &phases->plan;

	if (phases->stop_asked)
		return stop_with(phases, OUTCOME_INTERRUPTED, now_ns);
	if (phases->main_ended)
		return stop_with(phases, OUTCOME_DIED_LOADED, now_ns);
	if (phases->next_rest == plan->rest_count)
		return stop_with(phases, OUTCOME_COMPLETE, now_ns);
	if (now_ns - phases->since_ns < plan->rest_ns[phases->next_rest])
		return LAB_WAIT;
	phases->next_rest++;
	return LAB_MARK_REST;
}

static enum lab_action next_serve(struct phases *phases, uint64_t now_ns)
{
	const struct phases_plan *plan = &phases->plan;

	if (phases->main_ended || phases->stop_asked)
		return stop_with(phases, OUTCOME_ENDED, now_ns);
	if (phases->next_rest < plan->rest_count &&
	    now_ns - phases->idle_since_ns >= plan->rest_ns[phases->next_rest]) {
		phases->next_rest++;
		return LAB_MARK_REST;
	}
	if (now_ns - phases->last_marked_ns >= plan->last_every_ns) {
		phases->last_marked_ns = now_ns;
		return LAB_MARK_LAST;
	}
	return LAB_WAIT;
}

static enum lab_action next_stop(struct phases *phases, uint64_t now_ns)
{
	uint64_t waited_ns = now_ns - phases->since_ns;

	if (phases->all_ended || (phases->kill_sent && waited_ns >= phases->plan.grace_ns + KILL_WAIT_NS)) {
		phases->phase = PHASE_OVER;
		return LAB_FINISH;
	}
	if (!phases->term_sent) {
		phases->term_sent = true;
		return LAB_SEND_TERM;
	}
	if (!phases->kill_sent && (phases->hurry || waited_ns >= phases->plan.grace_ns)) {
		phases->kill_sent = true;
		return LAB_SEND_KILL;
	}
	return LAB_WAIT;
}

enum lab_action ebbi_phases_next(struct phases *phases, uint64_t now_ns)
{
	switch (phases->phase) {
	case PHASE_BOOT:
		return next_boot(phases, now_ns);
	case PHASE_LOAD:
		return next_load(phases, now_ns);
	case PHASE_REST:
		return next_rest(phases, now_ns);
	case PHASE_SERVE:
		return next_serve(phases, now_ns);
	case PHASE_STOP:
		return next_stop(phases, now_ns);
	case PHASE_OVER:
		break;
	}
	return LAB_WAIT;
}

size_t ebbi_phases_rest_index(const struct phases *phases)
{
	return phases->next_rest - 1;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t ebbi_phases_deadline(const struct phases *phases)
{
	const struct phases_plan *plan = &phases->plan;
	uint64_t deadline = LAB_NEVER;

	switch (phases->phase) {
	case PHASE_BOOT:
		if (plan->has_ready)
			return phases->since_ns + plan->ready_timeout_ns;
		return earlier(phases->idle_since_ns + plan->idle_ns, phases->since_ns + plan->idle_limit_ns);
	case PHASE_REST:
		if (phases->next_rest < plan->rest_count)
			deadline = phases->since_ns + plan->rest_ns[phases->next_rest];
		return deadline;
	case PHASE_SERVE:
		deadline = phases->last_marked_ns + plan->last_every_ns;
		if (phases->next_rest < plan->rest_count)
			deadline = earlier(deadline, phases->idle_since_ns + plan->rest_ns[phases->next_rest]);
		return deadline;
	case PHASE_STOP:
		return phases->since_ns + plan->grace_ns + (phases->kill_sent ? KILL_WAIT_NS : 0);
	case PHASE_LOAD:
	case PHASE_OVER:
		break;
	}
	return deadline;
}

bool ebbi_phases_wants_cpu(const struct phases *phases)
{
	return (phases->phase == PHASE_BOOT && !phases->plan.has_ready) || phases->phase == PHASE_SERVE;
}
