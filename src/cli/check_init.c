/* ebb check --init: a first promise, from a few runs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "report/first_promise.h"

#define INIT_RUNS 3

static struct check_series series;

static int complain(const char *what)
{
	ebbi_cli_complain("%s", what);
	return EXIT_USAGE;
}

static int choose_ready(const struct check_options *options)
{
	const char *const targets[] = {
		[READY_TCP] = options->ready_tcp, [READY_HTTP] = options->ready_http, [READY_LOG] = options->ready_log};
	int given = 0;

	for (int kind = READY_TCP; kind <= READY_LOG; kind++) {
		if (!targets[kind])
			continue;
		if (given++)
			return complain("--ready-tcp, --ready-http and --ready-log exclude each other: give one");
		if (ebbi_ready_parse((enum ready_kind)kind, targets[kind], &series.plan.ready, series.message) != 0)
			return complain(series.message);
	}
	if (given && !options->load)
		return complain("--ready-* without --load: the command would run for ever; give --load COMMAND "
				"(--load true measures boot and rest alone)");
	return 0;
}

static int make_plan(const struct check_options *options, char **command)
{
	struct experiment_plan *plan = &series.plan;
	int code;

	*plan = (struct experiment_plan){
		.label = "init",
		.argv = command,
		.ready_timeout_ns = 30000000000u,
		.load_command = options->load,
		.rest_ns = options->rest,
		.grace_ns = 10000000000u,
	};
	code = choose_ready(options);
	if (code != 0)
		return code;
	unsetenv("EBB_CONF");
	code = ebbi_check_allocator(&series, options->allocator, NULL, options->budget);
	if (code != 0)
		complain(series.message);
	return code;
}

/* A new file, or NULL after a line: what is there is never lost. */
static FILE *create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd >= 0)
		return fdopen(fd, "w");
	ebbi_cli_complain("%s: %s%s", path, strerror(errno),
			  errno == EEXIST ? ": --init never overwrites; give another name with -o" : "");
	return NULL;
}

static int write_promise(const struct check_options *options, char **command)
{
	json_t *runs = ebbi_check_documents(&series);
	FILE *stream = options->output ? create(options->output) : stdout;
	char here[PATH_MAX];
	struct first_promise first = {
		.command = command,
		/* A promise elsewhere would look for the command there. */
		.directory = options->output && strchr(options->output, '/') ? getcwd(here, sizeof(here)) : NULL,
		.allocator = options->allocator,
		.budget = options->budget,
		.ready = &series.plan.ready,
		.load = options->load,
		.rest_ns = options->rest,
		.runs = runs,
	};
	int error;

	if (!stream)
		return EXIT_USAGE;
	error = ebbi_first_promise_write(stream, &first);
	json_decref(runs);
	if (error != 0)
		ebbi_cli_complain("the command is not UTF-8 text, which a promise must be: put it in a script");
	if (stream == stdout)
		return error != 0 ? EXIT_USAGE : ebbi_cli_flush();
	if (error != 0)
		unlink(options->output);
	if (ferror(stream) | (fclose(stream) != 0)) {
		ebbi_cli_complain("%s: %s", options->output, strerror(errno));
		return EXIT_NOT_MEASURED;
	}
	if (error == 0)
		printf("%s: written; try it: ebb check %s\n", options->output, options->output);
	return error != 0 ? EXIT_USAGE : ebbi_cli_flush();
}

int ebbi_check_init(const struct check_options *options, char **command)
{
	uint64_t runs = INIT_RUNS;
	int code;

	if (!command[0])
		return complain("no command: ebb check --init [-o FILE] [OPTION...] -- CMD [ARGUMENT...]");
	if (options->json || options->save || options->junit || options->markdown || options->baseline)
		return complain(
			"--init writes a promise and nothing else: leave --json, --save, --junit, --markdown and "
			"--baseline out");
	if (options->runs && !ebbi_parse_count(options->runs, 2, CHECK_RUNS, &runs))
		return complain("--runs: write a number from 2 to 50");
	if (options->output && access(options->output, F_OK) == 0) {
		ebbi_cli_complain("%s: is there already: --init never overwrites; give another name with -o",
				  options->output);
		return EXIT_USAGE;
	}
	code = make_plan(options, command);
	if (code != 0)
		return code;
	code = ebbi_check_run(&series, runs, NULL);
	if (code != 0)
		ebbi_cli_complain("%s", series.message);
	else
		code = write_promise(options, command);
	ebbi_check_free(&series);
	return code;
}
