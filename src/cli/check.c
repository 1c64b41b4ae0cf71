#include "cli/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "doctor/files.h"
#include "doctor/result_file.h"
#include "lab/promise.h"
#include "report/accounts.h"
#include "report/kept.h"
#include "report/run_json.h"
#include "report/run_text.h"
#include "report/saved.h"
#include "report/verdict.h"
#include "report/words.h"

#define EXIT_BROKEN 1

static struct check_options options;
static struct promise promise;
static struct check_series series;
static struct kept_check check;
static json_t *baseline;
static struct facts facts;
static struct verdict verdict;

/* --- A series of runs -------------------------------------------------------------------- */

int ebbi_check_allocator(struct check_series *to, const char *allocator, const char *conf, const char *budget)
{
	struct experiment_plan *plan = &to->plan;
	int error = ebbi_allocator_find(allocator, &plan->allocator, to->message);

	plan->conf = conf;
	if (error == 0 && budget && !plan->allocator.is_ebb) {
		snprintf(to->message, LAB_MESSAGE, "%.300s keeps no budget: use ebb, or leave the budget out",
			 allocator);
		return EXIT_USAGE;
	}
	if (budget) {
		snprintf(to->conf, sizeof(to->conf), "budget:%s%s%s", budget, conf ? "," : "", conf ? conf : "");
		plan->conf = to->conf;
	}
	if (error == 0)
		error = ebbi_allocator_environment(&plan->allocator, plan->conf, &plan->environment, to->message);
	return error == 0 ? 0 : error == -ENOENT ? EXIT_NOT_MEASURED : EXIT_USAGE;
}

/* A run that says nothing about the promise: 0 when it does. */
static int check_run(struct check_series *of, const struct run_result *result)
{
	char sentence[1024];
	size_t number = of->count;

	if (ebbi_trials_stopped(&of->trials)) {
		snprintf(of->message, sizeof(of->message), "interrupted in run %zu", number);
		return 128 + ebbi_trials_stopped(&of->trials);
	}
	if (ebbi_sentence_outcome(result, sentence, sizeof(sentence)) ||
	    (result->preload == PRELOAD_MISSED && ebbi_sentence_preload(result, sentence, sizeof(sentence)))) {
		snprintf(of->message, sizeof(of->message), "run %zu: %s", number, sentence);
		return EXIT_NOT_MEASURED;
	}
	if (ebbi_result_exit(result) == 0)
		return 0;
	snprintf(of->message, sizeof(of->message), "run %zu: the command failed: %s", number,
		 ebbi_sentence_status(result->main_status, sentence, sizeof(sentence)));
	return EXIT_NOT_MEASURED;
}

static int run_once(struct check_series *of)
{
	struct trial *trial;
	int code;

	ebbi_progress_run(&of->progress, (unsigned)of->count + 1, NULL);
	if (ebbi_trial_run(&of->trials, &of->plan, &trial, of->message, &code) != 0)
		return code;
	of->runs[of->count++] = trial;
	return check_run(of, &trial->result);
}

int ebbi_check_run(struct check_series *of, size_t runs, int (*first)(struct check_series *of))
{
	struct experiment_plan *plan = &of->plan;
	int code = 0;

	plan->quiet = true;
	plan->ends_by_interrupt = true;
	plan->progress = ebbi_progress_phase;
	plan->tick = ebbi_progress_tick;
	plan->progress_context = &of->progress;
	if (ebbi_trials_begin(&of->trials, of->message, &code) != 0)
		return code;
	ebbi_progress_open(&of->progress, STDERR_FILENO, "ebb check", (unsigned)runs);
	while (code == 0 && of->count < runs) {
		code = run_once(of);
		if (code == 0 && of->count == 1 && first)
			code = first(of);
		if (of->count > 0)
			ebbi_trial_rest(of->runs[of->count - 1]);
	}
	ebbi_progress_clear(&of->progress);
	ebbi_trials_end(&of->trials);
	return code;
}

void ebbi_check_free(struct check_series *of)
{
	while (of->count > 0)
		ebbi_trial_free(of->runs[--of->count]);
}

json_t *ebbi_check_documents(struct check_series *of)
{
	json_t *runs = json_array();

	for (size_t i = 0; i < of->count; i++) {
		json_array_append_new(runs, ebbi_run_json(&of->runs[i]->result));
		ebbi_trial_rest(of->runs[i]);
	}
	return runs;
}

/* --- The promise ------------------------------------------------------------------------- */

static bool on_github(void)
{
	const char *value = getenv("GITHUB_ACTIONS");

	return options.annotations || (value && strcmp(value, "true") == 0);
}

/* stdout is for the document alone, if there is one; GitHub reads both. */
static FILE *annotations(void)
{
	return options.json ? stderr : stdout;
}

/* The promise's name below the checkout, which annotations want. */
static const char *annotated_file(const char *path)
{
	static char real[PATH_MAX];
	const char *root = getenv("GITHUB_WORKSPACE");
	size_t length = root ? strlen(root) : 0;

	if (length > 0 && realpath(path, real) && strncmp(real, root, length) == 0 && real[length] == '/')
		return real + length + 1;
	return path;
}

/* Says on stderr, and where else it was asked for, why there is no verdict. */
static int no_verdict(const char *path, const char *message, int code)
{
	const char *text = message;
	struct kept_place place = {.file = annotated_file(path), .line = 1, .column = 1};
	size_t length = strlen(path);
	int taken = 0;
	FILE *stream;

	ebbi_cli_complain("%s", message);
	if (strncmp(message, path, length) == 0 &&
	    sscanf(message + length, ":%u:%u: %n", &place.line, &place.column, &taken) == 2 && taken > 0)
		text = message + length + taken;
	if (on_github())
		ebbi_kept_annotation(annotations(), "error", &place, "ebb check", text);
	stream = options.junit ? fopen(options.junit, "we") : NULL;
	if (stream) {
		ebbi_kept_junit_error(stream, promise.name ? promise.name : path, message);
		fclose(stream);
	}
	return code;
}

static int read_promise(const char *path)
{
	char message[LAB_MESSAGE];
	const char *slash = strrchr(path, '/');
	int error = ebbi_promise_read(path, &promise, message);

	if (error != 0)
		return no_verdict(path, message, error == -ELIBACC ? EXIT_NOT_MEASURED : EXIT_USAGE);
	if (options.runs && !ebbi_parse_count(options.runs, 1, CHECK_RUNS, &promise.runs)) {
		ebbi_cli_complain("--runs '%.60s': write a number from 1 to %d", options.runs, CHECK_RUNS);
		return EXIT_USAGE;
	}
	if (!promise.name)
		promise.name = slash ? slash + 1 : path;
	return 0;
}

static int read_baseline(void)
{
	char path[PATH_MAX], message[SAVED_MESSAGE];
	bool wanted = false;

	for (size_t i = 0; i < promise.limit_count; i++)
		wanted = wanted || promise.limits[i].ratio;
	if (!wanted)
		return 0;
	if (options.baseline)
		promise.baseline = options.baseline;
	if (options.baseline)
		snprintf(path, sizeof(path), "%s", options.baseline);
	else
		ebbi_promise_path(&promise, promise.baseline, path, sizeof(path));
	if (ebbi_saved_load(path, &baseline, message) != 0)
		return no_verdict(promise.path, message, EXIT_USAGE);
	return 0;
}

/* The first run against the baseline: 0, or there is no use in running again. */
static int compare_first(struct check_series *of)
{
	char message[SAVED_MESSAGE];
	json_t *run = baseline ? ebbi_run_json(&of->runs[0]->result) : NULL;
	int error = run ? ebbi_kept_comparable(baseline, run, promise.baseline, message) : 0;

	json_decref(run);
	if (error == 0)
		return 0;
	snprintf(of->message, sizeof(of->message), "%s", message);
	return error == -EXDEV ? EXIT_NOT_COMPARABLE : EXIT_USAGE;
}

static int make_plan(void)
{
	struct experiment_plan *plan = &series.plan;

	*plan = (struct experiment_plan){
		.label = promise.name,
		.argv = promise.command,
		.ready = promise.ready,
		.ready_timeout_ns = promise.ready_timeout_ns,
		.load_command = promise.load_command,
		.work = promise.work,
		.rest_ns = promise.rest_ns,
		.grace_ns = promise.grace_ns,
	};
	/* A promise is what its file says. */
	unsetenv("EBB_CONF");
	for (size_t i = 0; i < promise.environment.count; i++)
		setenv(promise.environment.items[i].name, promise.environment.items[i].value, /* overwrite= */ 1);
	return ebbi_check_allocator(&series, promise.allocator, promise.conf, promise.budget);
}

/* All that runs, runs in the promise's directory; all that is written is named from where we were started. */
static int run_there(void)
{
	char path[PATH_MAX];
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int code;

	ebbi_promise_path(&promise, promise.directory, path, sizeof(path));
	if (here < 0 || chdir(path) != 0) {
		snprintf(series.message, sizeof(series.message), "directory %.300s: %s", here < 0 ? "." : path,
			 strerror(errno));
		return EXIT_USAGE;
	}
	code = make_plan();
	if (code == 0)
		code = ebbi_check_run(&series, promise.runs, compare_first);
	if (fchdir(here) != 0 && code == 0) {
		snprintf(series.message, sizeof(series.message), "the directory is gone: %s", strerror(errno));
		code = EXIT_NOT_MEASURED;
	}
	close(here);
	return code;
}

/* The end of what the last run printed: why it failed is mostly said there. */
static void show_tails(void)
{
	const struct run_result *last = series.count ? &series.runs[series.count - 1]->result : NULL;

	if (last && last->command_tail[0])
		fprintf(stderr, "the command's last lines:\n%s", last->command_tail);
	if (last && last->load_tail[0])
		fprintf(stderr, "the load's last lines:\n%s", last->load_tail);
}

/* --- The result -------------------------------------------------------------------------- */

static int failed_to_write(const char *path)
{
	ebbi_cli_complain("%s: %s", path, strerror(errno));
	return EXIT_NOT_MEASURED;
}

static int write_file(const char *path, const char *mode, void (*write)(FILE *stream, const struct kept_check *check))
{
	FILE *stream = path ? fopen(path, mode) : NULL;

	if (!path)
		return 0;
	if (!stream)
		return failed_to_write(path);
	write(stream, &check);
	if (ferror(stream) | (fclose(stream) != 0))
		return failed_to_write(path);
	return 0;
}

/* What the doctor says of the worst run of a broken promise. */
static bool diagnose(const json_t *runs)
{
	char message[FACTS_MESSAGE];

	if (check.kept != KEPT_BROKEN ||
	    ebbi_facts_from_run(&facts, json_array_get(runs, check.worst_run), promise.path, message) != 0)
		return false;
	ebbi_facts_derive(&facts);
	ebbi_verdict_make(&facts, &verdict);
	return true;
}

/* Of the worst run's one process; NULL when there were more, or no look was taken. */
static const struct account_table *accounts_of(const struct full_look *full)
{
	static struct account_table table;

	if (!full->look || full->processes > 1)
		return NULL;
	ebbi_accounts_make(full->look, &table);
	return &table;
}

static void print_text(bool diagnosed)
{
	struct style style = ebbi_style_for(STDOUT_FILENO);
	const struct full_look *full = &series.runs[check.worst_run]->result.full_look;
	const struct account_table *table = diagnosed ? accounts_of(full) : NULL;

	ebbi_kept_text(stdout, &check, &style, options.bytes);
	if (check.kept != KEPT_BROKEN)
		return;
	printf("\nwho held it in run %zu, the worst:\n", check.worst_run + 1);
	/* The doctor's screen has the table of one process in it; of a tree it has one of its own. */
	if (!table)
		ebbi_run_accounts_text(stdout, &series.runs[check.worst_run]->result, &style, options.bytes);
	if (!diagnosed)
		return;
	fputc('\n', stdout);
	ebbi_verdict_text(stdout, &facts, &verdict, table, &style, options.bytes);
}

static int deliver(void)
{
	static const int codes[] = {[KEPT] = 0,
				    [KEPT_UNSURE] = EXIT_NOT_COMPARABLE,
				    [KEPT_UNKNOWN] = EXIT_NOT_MEASURED,
				    [KEPT_BROKEN] = EXIT_BROKEN};
	json_t *runs = ebbi_check_documents(&series);
	const struct full_look *full;
	bool diagnosed;
	int code = 0, other;

	check = (struct kept_check){.promise = &promise, .runs = runs, .baseline = baseline};
	ebbi_kept_judge(&check);
	full = &series.runs[check.worst_run]->result.full_look;
	diagnosed = diagnose(runs);
	check.verdict = diagnosed ? ebbi_verdict_json(&facts, &verdict, accounts_of(full)) : NULL;
	if (!options.json)
		print_text(diagnosed);
	if (options.json || options.save)
		code = ebbi_cli_deliver_json(ebbi_kept_json(&check), options.json, options.save);
	other = write_file(options.junit, "we", ebbi_kept_junit);
	code = code ? code : other;
	other = write_file(options.markdown, "ae", ebbi_kept_markdown);
	code = code ? code : other;
	if (on_github())
		ebbi_kept_annotations(annotations(), &check, annotated_file(promise.path));
	other = ebbi_cli_flush();
	code = code ? code : other;
	json_decref(check.verdict);
	json_decref(runs);
	return codes[check.kept] ? codes[check.kept] : code;
}

/* Before an hour is spent on what would go there. */
static int check_outputs(void)
{
	const char *const paths[] = {options.save, options.junit, options.markdown};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int error = paths[i] ? ebbi_save_check(paths[i]) : 0;

		if (error != 0) {
			ebbi_cli_complain("%s: %s", paths[i], strerror(-error));
			return EXIT_USAGE;
		}
	}
	return 0;
}

static int check_promise(const char *path)
{
	int code = check_outputs();

	if (code == 0)
		code = read_promise(path);
	if (code == 0)
		code = read_baseline();
	if (code != 0)
		return code;
	code = run_there();
	if (code == 0)
		code = deliver();
	else if (code > 128)
		ebbi_cli_complain("%s", series.message);
	else if (no_verdict(promise.path, series.message, code) == EXIT_NOT_MEASURED)
		show_tails();
	ebbi_check_free(&series);
	json_decref(baseline);
	ebbi_promise_free(&promise);
	return code;
}

int ebbi_cli_check(char **argv)
{
	char message[OPTIONS_MESSAGE];
	char **operands;
	bool help;

	if (ebbi_options_parse(ebbi_verb_find("check"), argv, &options, &operands, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("check"));
		return ebbi_cli_flush();
	}
	if (options.init)
		return ebbi_check_init(&options, operands);
	if (!operands[0])
		ebbi_cli_complain("no promise: ebb check PROMISE.yaml (ebb check --init -- CMD writes a first one)");
	else if (operands[1])
		ebbi_cli_complain("one promise at a time: what is %.200s?", operands[1]);
	else if (options.output || options.load || options.budget || options.ready_tcp || options.ready_http ||
		 options.ready_log)
		ebbi_cli_complain("-o, --load, --budget and --ready-* go with --init: write them into the promise");
	else
		return check_promise(operands[0]);
	return EXIT_USAGE;
}
