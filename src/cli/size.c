#include "cli/size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "report/progress.h"
#include "report/run_json.h"
#include "report/size_json.h"
#include "report/size_text.h"
#include "report/words.h"

/* Too large for a stack, and there is one a process. */
static struct size_options options;
static struct size_plan plan;
static struct sizing sizing;
static struct trials trials;
static struct progress progress;

struct series_values {
	const char *sweep;
	uint64_t event_bytes;
	uint32_t connections;
};

/* Without a load nothing is known of a rate: 0, or an exit code after a line. */
static int judge_run(const struct sizing_row *row)
{
	const struct run_result *run = &row->trial->result;
	char sentence[1024];
	int signal_number = ebbi_trials_stopped(&trials);

	if (signal_number)
		return 128 + signal_number;
	if (run->outcome == OUTCOME_COMPLETE || row->verdict == ROW_DIED) {
		if (run->preload != PRELOAD_MISSED || !ebbi_sentence_preload(run, sentence, sizeof(sentence)))
			return 0;
		ebbi_cli_complain("%s", sentence);
		return EXIT_NOT_MEASURED;
	}
	if (row->load->message[0])
		ebbi_cli_complain("%s", row->load->message);
	else if (ebbi_sentence_outcome(run, sentence, sizeof(sentence)))
		ebbi_cli_complain("%s", sentence);
	if (run->command_tail[0] && run->outcome != OUTCOME_LOAD_FAILED)
		fprintf(stderr, "the command's last lines:\n%s", run->command_tail);
	return EXIT_NOT_MEASURED;
}

static int run_row(const struct size_table *table, const struct series_values *values, uint64_t rate)
{
	const struct sizing_row wanted = {.sweep = values->sweep,
					  .rate = rate,
					  .event_bytes = values->event_bytes,
					  .connections = values->connections};
	char message[2 * LAB_MESSAGE], name[48];
	int code = 0;

	snprintf(name, sizeof(name), "%lu requests/s", (unsigned long)rate);
	ebbi_progress_run(&progress, progress.run + 1, name);
	if (ebbi_sizing_row(&sizing, &trials, &wanted, message, &code) != 0) {
		ebbi_progress_clear(&progress);
		ebbi_cli_complain("%s", message);
		return code ? code : EXIT_NOT_MEASURED;
	}
	ebbi_progress_clear(&progress);
	code = judge_run(&sizing.rows[sizing.count - 1]);
	if (code == 0 && !options.json)
		ebbi_size_row(table, &sizing.rows[sizing.count - 1]);
	ebbi_trial_rest(sizing.rows[sizing.count - 1].trial);
	return code;
}

/* Up the ladder of rates with everything else fixed. */
static int run_series(const struct size_table *table, const struct series_values *values)
{
	struct sizing_series *series = &sizing.series[sizing.series_count++];
	struct ladder ladder;
	uint64_t rate;
	int code = 0;

	*series = (struct sizing_series){.first = sizing.count};
	if (!options.json)
		ebbi_size_series(table, &(struct sizing_row){.sweep = values->sweep,
							     .event_bytes = values->event_bytes,
							     .connections = values->connections});
	ebbi_ladder_start(&ladder, plan.rates, plan.rate_count, (unsigned)plan.steps);
	while (code == 0 && sizing.count < SIZING_ROWS && ebbi_ladder_next(&ladder, &rate)) {
		size_t row = sizing.count;
		bool good;

		code = run_row(table, values, rate);
		if (code != 0)
			break;
		good = sizing.rows[row].verdict == ROW_SERVED;
		ebbi_ladder_tell(&ladder, rate, good);
		if (!good && ladder.bad == rate)
			series->bad_row = row;
	}
	series->count = sizing.count - series->first;
	series->good = ladder.good;
	series->bad = ladder.bad;
	if (series->count == 0)
		sizing.series_count--;
	else if (!options.json && code == 0)
		ebbi_size_knee(table, series);
	return code;
}

static int run_all(const struct size_table *table)
{
	int code = 0;

	for (size_t s = 0; s < plan.sweep_count; s++) {
		for (size_t e = 0; e < plan.event_count; e++) {
			for (size_t c = 0; c < plan.connection_count && code == 0; c++) {
				const struct series_values values = {plan.sweeps[s], plan.events[e],
								     (uint32_t)plan.connections[c]};

				code = run_series(table, &values);
			}
		}
	}
	return code;
}

/* Measured, but no rate was served: whether any could be is not known. */
static int conclusion(void)
{
	for (size_t i = 0; i < sizing.series_count; i++) {
		if (sizing.series[i].good > 0)
			return 0;
	}
	return EXIT_NOT_COMPARABLE;
}

static int run(void)
{
	struct size_table table = {
		.stream = stdout,
		.sizing = &sizing,
		.style = ebbi_style_for(STDOUT_FILENO),
		.exact = options.bytes,
		.many = plan.sweep_count * plan.event_count * plan.connection_count > 1 || options.event_bytes ||
			sizing.sweep_variable,
		.url = plan.url,
	};
	char message[2 * LAB_MESSAGE];
	int code = 0, delivered = 0, flushed;

	if (ebbi_trials_begin(&trials, message, &code) != 0) {
		ebbi_cli_complain("%s", message);
		return code;
	}
	/* How many rows there will be depends on what they say. */
	ebbi_progress_open(&progress, STDERR_FILENO, "ebb size", 0);
	sizing.plan.progress = ebbi_progress_phase;
	sizing.plan.tick = ebbi_progress_tick;
	sizing.plan.progress_context = &progress;
	if (!options.json)
		ebbi_size_head(&table);
	code = run_all(&table);
	ebbi_progress_clear(&progress);
	ebbi_trials_end(&trials);
	if (sizing.count > 0 && (options.json || options.save))
		delivered = ebbi_cli_deliver_json(ebbi_size_json(&sizing, plan.url, options.requests), options.json,
						  options.save);
	if (code == 0)
		code = conclusion();
	flushed = ebbi_cli_flush();
	return code ? code : delivered ? delivered : flushed;
}

int ebbi_cli_size(char **argv)
{
	char message[OPTIONS_MESSAGE];
	char **command;
	bool help;
	int code;

	if (ebbi_options_parse(ebbi_verb_find("size"), argv, &options, &command, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("size"));
		return ebbi_cli_flush();
	}
	code = ebbi_size_plan(&options, command, &plan, &sizing);
	if (code == 0)
		code = run();
	ebbi_sizing_free(&sizing);
	ebbi_requests_free(&plan.requests);
	return code;
}
