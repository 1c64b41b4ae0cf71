#include "lab/sizing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* A generator that used more of a CPU, or waited longer for one, than this is not to be believed about a server. */
#define OWN_CPU 0.9
#define OWN_WAIT 0.2

struct load_call {
	struct generator_plan plan;
	struct generator_result *result;
};

static int run_generator(void *context)
{
	const struct load_call *call = context;

	return ebbi_generator_run(&call->plan, call->result);
}

/* Answers came, in time, and were wrong: no machine that is short of CPU makes these. */
static bool wrong_answers(const struct generator_result *load)
{
	uint64_t wrong = load->errors[GENERATOR_STATUS] + load->errors[GENERATOR_BROKEN] + load->errors[GENERATOR_BAD];
	double offered = (double)load->offered;

	return (double)wrong > (1 - SIZING_SERVED) * offered &&
	       (double)(load->served + load->refused + wrong) >= SIZING_SERVED * offered;
}

enum row_verdict ebbi_sizing_judge(const struct generator_result *load, bool died, uint64_t late_ns)
{
	double offered = (double)load->offered;
	uint64_t p99_ns = ebbi_latency_quantile(&load->latency, 0.99);
	bool late = p99_ns > late_ns;
	bool served = (double)load->served >= SIZING_SERVED * offered;

	if (died)
		return ROW_DIED;
	if (!load->done || load->offered == 0)
		return ROW_NO_LOAD;
	if (served && !late)
		return ROW_SERVED;
	if (!late && wrong_answers(load))
		return ROW_NOT_SERVED;
	if ((double)load->cpu_ns > OWN_CPU * (double)load->wall_ns ||
	    (double)load->waited_ns > OWN_WAIT * (double)load->wall_ns ||
	    (late && ebbi_latency_quantile(&load->own, 0.99) > late_ns / 2))
		return ROW_MACHINE;
	if (served)
		return ROW_LATE;
	return (double)(load->served + load->refused) >= SIZING_SERVED * offered ? ROW_REFUSED : ROW_NOT_SERVED;
}

uint64_t ebbi_sizing_peak(const struct run_result *result)
{
	const struct peak *peak = &result->peak;

	return peak->bytes ? peak->upper_bytes + peak->bound_bytes : 0;
}

size_t ebbi_sizing_box(const struct sizing *sizing, const struct sizing_row *row)
{
	uint64_t peak = row->trial ? ebbi_sizing_peak(&row->trial->result) : 0;
	size_t box = 0;

	if (row->verdict != ROW_SERVED || peak == 0)
		return sizing->box_count;
	while (box < sizing->box_count && (double)peak > sizing->share * (double)sizing->boxes[box])
		box++;
	return box;
}

int ebbi_sizing_row(struct sizing *sizing, struct trials *trials, const struct sizing_row *wanted, char *ret_message,
		    int *ret_exit)
{
	struct sizing_row *row = &sizing->rows[sizing->count];
	struct experiment_plan plan = sizing->plan;
	struct load_call call = {.plan = sizing->load};
	int error;

	*row = *wanted;
	row->load = mmap(NULL, sizeof(*row->load), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (row->load == MAP_FAILED) {
		*ret_exit = EXIT_SELF;
		snprintf(ret_message, LAB_MESSAGE, "memory is short: %s", strerror(errno));
		return -ENOMEM;
	}
	call.result = row->load;
	call.plan.rate = row->rate;
	call.plan.event_bytes = row->event_bytes;
	call.plan.connections = row->connections;
	snprintf(row->name, sizeof(row->name), "%" PRIu64 " requests/s for %g s over %" PRIu32 " connections",
		 row->rate, (double)call.plan.duration_ns / 1e9, row->connections);
	plan.load_command = row->name;
	plan.load_function = run_generator;
	plan.load_context = &call;
	error = row->sweep ? ebbi_environment_set(&plan.environment, sizing->sweep_variable, row->sweep) : 0;
	if (error != 0) {
		snprintf(ret_message, LAB_MESSAGE, "%.60s: its value is too long", sizing->sweep_variable);
		*ret_exit = EXIT_MEASURE;
	} else {
		error = ebbi_trial_run(trials, &plan, &row->trial, ret_message, ret_exit);
	}
	if (error != 0) {
		munmap(row->load, sizeof(*row->load));
		return error;
	}
	row->verdict = ebbi_sizing_judge(row->load, row->trial->result.outcome == OUTCOME_DIED_LOADED, sizing->late_ns);
	sizing->count++;
	return 0;
}

void ebbi_sizing_free(struct sizing *sizing)
{
	while (sizing->count > 0) {
		struct sizing_row *row = &sizing->rows[--sizing->count];

		ebbi_trial_free(row->trial);
		munmap(row->load, sizeof(*row->load));
	}
}
