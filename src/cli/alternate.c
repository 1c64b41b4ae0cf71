#include "cli/alternate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lab/evict.h"
#include "report/words.h"

/* How much of a failed run's output is shown. */
#define LAST_LINES 10

static const char *const generation_names[GENERATIONS] = {"fresh", "reopened"};

/* Too large for a stack, and there is one run at a time. */
static struct experiment_plan plan;

static size_t generations(const struct alternation *alternation)
{
	return alternation->options->then ? 2 : 1;
}

size_t ebbi_alternate_total(const struct alternation *alternation)
{
	return alternation->rounds * alternation->variants->count * generations(alternation);
}

/* --- Hooks ------------------------------------------------------------------------------- */

struct hook {
	const char *command;
	const char *variant;
	const char *generation;
	size_t number;
};

static void run_hook(void *context)
{
	const struct hook *hook = context;
	int null_fd = open("/dev/null", O_RDONLY);
	char number[24];

	snprintf(number, sizeof(number), "%zu", hook->number);
	setenv("EBB_VARIANT", hook->variant, 1);
	setenv("EBB_RUN", number, 1);
	dup2(null_fd, STDIN_FILENO);
	/* Our stdout is for the result alone. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", hook->command, (char *)NULL);
	_exit(127);
}

static int call_hook(struct alternation *alternation, struct trials *trials, const char *flag, struct hook *hook)
{
	char status_text[48];
	int status;

	if (!hook->command)
		return 0;
	ebbi_progress_clear(&alternation->progress);
	status = ebbi_trials_helper(trials, run_hook, hook);
	if (status == 0 || ebbi_trials_stopped(trials))
		return 0;
	if (status < 0)
		ebbi_cli_complain("%s: %s", flag, strerror(-status));
	else
		ebbi_cli_complain("%s failed (%s): the series ends here", flag,
				  ebbi_sentence_status(status, status_text, sizeof(status_text)));
	return EXIT_NOT_MEASURED;
}

static void run_evict(void *context)
{
	const struct option_list *paths = context;

	for (size_t i = 0; i < paths->count; i++) {
		int error = ebbi_evict(paths->items[i]);

		if (error != 0) {
			ebbi_cli_complain("--evict %s: %s", paths->items[i], strerror(-error));
			_exit(1);
		}
	}
}

static int prepare(struct alternation *alternation, struct trials *trials, const struct variant *variant,
		   size_t generation)
{
	struct hook hook = {.variant = variant->name, .number = alternation->count + 1};
	struct option_list paths = alternation->options->evict;

	if (generation == 0) {
		hook.command = alternation->options->before;
		return call_hook(alternation, trials, "--before", &hook);
	}
	if (paths.count > 0 && ebbi_trials_helper(trials, run_evict, &paths) != 0)
		return EXIT_NOT_MEASURED;
	hook.command = alternation->options->between;
	return call_hook(alternation, trials, "--between", &hook);
}

/* A long load would push the time that is left off the line. */
static void show_phase(void *context, const char *line)
{
	ebbi_progress_phase(context, strncmp(line, "load: ", 6) == 0 ? "load" : line);
}

/* --- One run ----------------------------------------------------------------------------- */

static void make_plan(struct alternation *alternation, const struct variant *variant, size_t generation)
{
	const struct compare_options *options = alternation->options;
	bool reopened = generation == 1;

	plan.label = variant->name;
	plan.argv = reopened && !options->load ? alternation->then.we_wordv : variant->argv;
	plan.allocator = variant->allocator;
	plan.environment = variant->environment;
	plan.ready = alternation->ready;
	plan.ready_timeout_ns = options->ready_timeout;
	plan.load_command = reopened && options->load ? options->then : options->load;
	/* A server that is asked for nothing does not end by itself: its boot and its rest are what can be compared. */
	if (!plan.load_command && alternation->ready.kind != READY_IDLE)
		plan.load_command = ":";
	plan.work = options->work;
	plan.rest_ns = options->rest;
	plan.grace_ns = options->grace;
	plan.quiet = true;
	plan.ends_by_interrupt = true;
	plan.progress = show_phase;
	plan.tick = ebbi_progress_tick;
	plan.progress_context = &alternation->progress;
}

static int keep(struct alternation *alternation, const struct variant *variant, size_t generation, struct trial *trial)
{
	struct run_done *more = realloc(alternation->runs, (alternation->count + 1) * sizeof(*more));
	struct run_done *run;

	if (!more)
		return -ENOMEM;
	alternation->runs = more;
	run = &more[alternation->count++];
	*run = (struct run_done){
		.trial = trial,
		.variant = variant,
		.generation = generations(alternation) > 1 ? generation_names[generation] : "",
	};
	snprintf(run->title, sizeof(run->title), "run %zu (%s%s%s)", alternation->count, variant->name,
		 run->generation[0] ? ", " : "", run->generation);
	return 0;
}

static bool ended_badly(const struct run_result *result)
{
	return result->outcome == OUTCOME_ENDED && result->main_reaped && result->main_status != 0;
}

static bool is_sound(const struct run_result *result)
{
	return (result->outcome == OUTCOME_COMPLETE || result->outcome == OUTCOME_ENDED) && !ended_badly(result) &&
	       result->preload != PRELOAD_MISSED;
}

/* The last lines, with what would steer a terminal made harmless. */
static void show_tail(const char *tail)
{
	const char *from = tail + strlen(tail);
	int lines = 0;

	while (from > tail && (from[-1] != '\n' || from[0] == 0 || ++lines < LAST_LINES))
		from--;
	for (; *from; from++) {
		bool plain = *from == '\n' || *from == '\t' || ((unsigned char)*from >= ' ' && *from != 127);

		fputc(plain ? *from : '?', stderr);
	}
	if (tail[0] && from[-1] != '\n')
		fputc('\n', stderr);
}

/* Why a run does not count, and what it said last. */
static void tell_failure(struct alternation *alternation, const struct variant *variant,
			 const struct run_result *result)
{
	const char *tail = result->outcome == OUTCOME_LOAD_FAILED ? result->load_tail : result->command_tail;
	char sentence[1024], status[48];

	ebbi_progress_clear(&alternation->progress);
	if (ended_badly(result))
		snprintf(sentence, sizeof(sentence), "the command failed (%s)",
			 ebbi_sentence_status(result->main_status, status, sizeof(status)));
	else if (!ebbi_sentence_outcome(result, sentence, sizeof(sentence)) &&
		 !ebbi_sentence_preload(result, sentence, sizeof(sentence)))
		return;
	ebbi_cli_complain("%s: %s; no more runs of it%s", variant->name, sentence, tail[0] ? ". Its last lines:" : "");
	show_tail(tail);
}

/* Runs it and keeps the result; *ret_again: it was a warm-up. */
static int run_one(struct alternation *alternation, struct trials *trials, struct variant *variant, size_t generation,
		   bool *ret_again)
{
	char message[LAB_MESSAGE];
	struct trial *trial;
	const struct run_result *result;
	int code, error;

	make_plan(alternation, variant, generation);
	error = ebbi_trial_run(trials, &plan, &trial, message, &code);
	if (error != 0) {
		ebbi_progress_clear(&alternation->progress);
		if (error != -EINTR)
			ebbi_cli_complain("%s: %s", variant->name, message);
		return code;
	}
	result = &trial->result;
	if (result->outcome == OUTCOME_INTERRUPTED || ebbi_trials_stopped(trials)) {
		ebbi_trial_free(trial);
		return 0;
	}
	if (*ret_again && is_sound(result) && result->major_faults > 0) {
		alternation->warm_ups++;
		ebbi_trial_free(trial);
		return 0;
	}
	*ret_again = false;
	if (!is_sound(result)) {
		variant->dropped = true;
		tell_failure(alternation, variant, result);
	}
	if (keep(alternation, variant, generation, trial) != 0) {
		ebbi_trial_free(trial);
		ebbi_cli_complain("%s", strerror(ENOMEM));
		return EXIT_NOT_MEASURED;
	}
	ebbi_trial_rest(trial);
	return 0;
}

/* One variant once, in all its generations. */
static int run_variant(struct alternation *alternation, struct trials *trials, struct variant *variant, size_t round)
{
	bool again = round == 0;

	for (size_t generation = 0; generation < generations(alternation) && !variant->dropped; generation++) {
		bool first = again && generation == 0;
		int code;

		do {
			ebbi_progress_run(&alternation->progress, (unsigned)alternation->count + 1, variant->name);
			code = prepare(alternation, trials, variant, generation);
			if (code != 0 || ebbi_trials_stopped(trials))
				return code;
			again = first;
			code = run_one(alternation, trials, variant, generation, &again);
			if (code != 0 || ebbi_trials_stopped(trials))
				return code;
			first = false;
		} while (again);
	}
	return 0;
}

static size_t still_there(const struct variants *variants)
{
	size_t count = 0;

	for (size_t i = 0; i < variants->count; i++)
		count += !variants->list[i].dropped;
	return count;
}

int ebbi_alternate(struct alternation *alternation)
{
	struct variants *variants = alternation->variants;
	struct trials trials;
	char message[LAB_MESSAGE];
	int code = 0;

	if (ebbi_trials_begin(&trials, message, &code) != 0) {
		ebbi_cli_complain("%s", message);
		return code;
	}
	for (size_t round = 0; round < alternation->rounds && code == 0; round++) {
		/* One that is left alone is compared with nobody. */
		if (round > 0 && still_there(variants) < 2)
			break;
		for (size_t i = 0; i < variants->count && code == 0 && !ebbi_trials_stopped(&trials); i++) {
			if (!variants->list[i].dropped)
				code = run_variant(alternation, &trials, &variants->list[i], round);
		}
	}
	ebbi_progress_clear(&alternation->progress);
	alternation->stop_signal = ebbi_trials_stopped(&trials);
	ebbi_trials_end(&trials);
	return alternation->stop_signal ? 128 + alternation->stop_signal : code;
}

void ebbi_alternate_free(struct alternation *alternation)
{
	for (size_t i = 0; i < alternation->count; i++)
		ebbi_trial_free(alternation->runs[i].trial);
	free(alternation->runs);
	alternation->runs = NULL;
	alternation->count = 0;
	if (alternation->then.we_wordv)
		wordfree(&alternation->then);
}
