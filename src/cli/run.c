#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ready.h"
#include "lab/experiment.h"
#include "lab/workscan.h"
#include "report/run_json.h"
#include "report/run_text.h"
#include "report/words.h"

/* Too large for a stack, and there is one run a process. */
static struct experiment_plan plan;
static struct run_result result;

struct listener {
	struct style style;
};

static void show_progress(void *context, const char *line)
{
	const struct listener *listener = context;

	fprintf(stderr, "%sebb: %s%s\n", listener->style.dim, line, listener->style.off);
}

/* 0, or the exit code after a line on stderr. */
static int make_plan(const struct run_options *options, char **command)
{
	char message[LAB_MESSAGE];
	int error;

	if (!command[0]) {
		ebbi_cli_complain("no command: ebb run [OPTION...] -- COMMAND [ARGUMENT...]");
		return EXIT_USAGE;
	}
	if (options->work && !options->load) {
		ebbi_cli_complain("--work is read from the output of the load: give --load as well");
		return EXIT_USAGE;
	}
	error = ebbi_cli_ready(options->ready_tcp, options->ready_http, options->ready_log, &plan.ready, message);
	if (error == 0 && options->work)
		error = ebbi_workscan_check(options->work, message);
	if (error == 0)
		error = ebbi_allocator_find(options->allocator, &plan.allocator, message);
	if (error == 0)
		error = ebbi_allocator_environment(&plan.allocator, options->conf, &plan.environment, message);
	if (error != 0) {
		ebbi_cli_complain("%s", message);
		return error == -ENOENT ? EXIT_NOT_MEASURED : EXIT_USAGE;
	}
	error = options->save ? ebbi_save_check(options->save) : 0;
	if (error != 0) {
		ebbi_cli_complain("--save %s: %s", options->save, strerror(-error));
		return EXIT_USAGE;
	}
	plan.argv = command;
	plan.label = options->label ? options->label : plan.allocator.name;
	plan.conf = options->conf;
	plan.ready_timeout_ns = options->ready_timeout;
	plan.load_command = options->load;
	plan.work = options->work;
	plan.rest_ns = options->rest;
	plan.grace_ns = options->grace;
	plan.stdout_to_stderr = options->json;
	return 0;
}

static int deliver(const struct run_options *options)
{
	struct style style = ebbi_style_for(STDOUT_FILENO);
	char sentence[1024];
	int code = 0;
	int flushed;

	if (!options->json) {
		/* The command's last line may have had no newline. */
		fputc('\n', stdout);
		ebbi_run_text(stdout, &result, &style, options->bytes);
	}
	if (options->json || options->save)
		code = ebbi_cli_deliver_json(ebbi_run_json(&result), options->json, options->save);
	flushed = ebbi_cli_flush();
	if (options->json && ebbi_sentence_preload(&result, sentence, sizeof(sentence)))
		ebbi_cli_complain("%s", sentence);
	if (ebbi_sentence_outcome(&result, sentence, sizeof(sentence)))
		ebbi_cli_complain("%s", sentence);
	return code ? code : flushed;
}

int ebbi_cli_run(char **argv)
{
	struct run_options options;
	struct listener listener = {.style = ebbi_style_for(STDERR_FILENO)};
	char message[LAB_MESSAGE];
	char **command;
	bool help;
	int code, delivered;

	if (ebbi_options_parse(ebbi_verb_find("run"), argv, &options, &command, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("run"));
		return ebbi_cli_flush();
	}
	code = make_plan(&options, command);
	if (code != 0)
		return code;
	if (isatty(STDERR_FILENO)) {
		plan.progress = show_progress;
		plan.progress_context = &listener;
	}
	if (ebbi_experiment_run(&plan, &result, message, &code) != 0) {
		ebbi_cli_complain("%s", message);
		return code;
	}
	delivered = deliver(&options);
	code = ebbi_result_exit(&result);
	return code ? code : delivered;
}
