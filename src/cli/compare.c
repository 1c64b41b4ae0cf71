#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/alternate.h"
#include "cli/cli.h"
#include "cli/ready.h"
#include "lab/workscan.h"
#include "report/comparison.h"
#include "report/run_json.h"

#define COMPARE_SCHEMA "ebb.compare/1"
#define RUNS_MOST 100

/* Too large for a stack. */
static struct variants variants;
static struct comparison comparison;

/* --- What is asked for ------------------------------------------------------------------- */

static int check_flags(const struct compare_options *options, char *message)
{
	if (options->work && !options->load) {
		snprintf(message, LAB_MESSAGE, "--work is read from the output of the load: give --load as well");
		return -EINVAL;
	}
	if (!options->then && (options->between || options->evict.count > 0)) {
		snprintf(message, LAB_MESSAGE,
			 "--evict and --between come before a second generation: give --then as well");
		return -EINVAL;
	}
	return options->work ? ebbi_workscan_check(options->work, message) : 0;
}

static int read_rounds(const char *text, size_t *ret_rounds, char *message)
{
	char *end;
	unsigned long rounds = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || rounds < 1 || rounds > RUNS_MOST) {
		snprintf(message, LAB_MESSAGE, "--runs '%.100s': a number from 1 to %d", text, RUNS_MOST);
		return -EINVAL;
	}
	*ret_rounds = rounds;
	return 0;
}

/* 0, or the exit code after a line on stderr. */
static int prepare(const struct compare_options *options, char **command, struct alternation *alternation)
{
	char message[LAB_MESSAGE];
	int error = check_flags(options, message);

	if (error == 0)
		error = read_rounds(options->runs, &alternation->rounds, message);
	if (error == 0)
		error = ebbi_cli_ready(options->ready_tcp, options->ready_http, options->ready_log, &alternation->ready,
				       message);
	if (error == 0 && options->then && !options->load)
		error = ebbi_variants_words(options->then, "--then", &alternation->then, message);
	if (error == 0)
		error = ebbi_variants_read(options, command, &variants, message);
	if (error == 0 && options->save) {
		error = ebbi_save_check(options->save);
		if (error != 0)
			snprintf(message, sizeof(message), "--save %.400s: %s", options->save, strerror(-error));
		error = error != 0 ? -EINVAL : 0;
	}
	if (error != 0)
		ebbi_cli_complain("%s", message);
	return error == 0 ? 0 : error == -ENOENT ? EXIT_NOT_MEASURED : EXIT_USAGE;
}

/* --- What came out ----------------------------------------------------------------------- */

static json_t *variant_json(const struct variant *variant)
{
	json_t *object = json_object();
	json_t *environment = json_object();
	json_t *command = json_array();

	for (size_t i = 0; i < variant->environment.count; i++)
		json_object_set_new(environment, variant->environment.variables[i].name,
				    ebbi_json_foreign(variant->environment.variables[i].value));
	for (char *const *word = variant->argv; *word; word++)
		json_array_append_new(command, ebbi_json_foreign(*word));
	json_object_set_new(object, "name", ebbi_json_foreign(variant->name));
	json_object_set_new(object, "allocator", ebbi_json_foreign(variant->allocator.name));
	json_object_set_new(object, "environment", environment);
	json_object_set_new(object, "command", command);
	return object;
}

/* Each run as its document, which also goes into the comparison; NULL after a line. */
static json_t *take_runs(const struct alternation *alternation)
{
	char message[SAVED_MESSAGE];
	json_t *runs = json_array();

	for (size_t i = 0; i < alternation->count; i++) {
		const struct run_done *run = &alternation->runs[i];
		json_t *document = ebbi_run_json(&run->trial->result);

		if (run->generation[0])
			json_object_set_new(document, "generation", json_string(run->generation));
		if (ebbi_comparison_take_run(&comparison, document, run->title, message) != 0) {
			ebbi_cli_complain("%s", message);
			json_decref(document);
			json_decref(runs);
			return NULL;
		}
		json_array_append_new(runs, document);
		ebbi_trial_rest(run->trial);
	}
	return runs;
}

static json_t *document_of(const struct alternation *alternation, json_t *runs)
{
	json_t *root = json_object();
	json_t *list = json_array();
	const json_t *first = json_array_get(runs, 0);
	size_t total = ebbi_alternate_total(alternation);

	for (size_t i = 0; i < variants.count; i++)
		json_array_append_new(list, variant_json(&variants.list[i]));
	json_object_set_new(root, "schema", json_string(COMPARE_SCHEMA));
	json_object_set_new(root, "ebb_version", json_string(EBB_VERSION));
	json_object_set(root, "started_at", json_object_get(first, "started_at"));
	json_object_set(root, "machine", json_object_get(first, "machine"));
	json_object_set(root, "command", json_object_get(first, "command"));
	json_object_set_new(root, "variants", list);
	json_object_set_new(root, "planned_runs", json_integer((json_int_t)total));
	json_object_set_new(root, "warm_ups", json_integer((json_int_t)alternation->warm_ups));
	json_object_set_new(root, "interrupted", json_boolean(alternation->stop_signal != 0));
	json_object_set_new(root, "comparison", ebbi_comparison_json(&comparison));
	json_object_set_new(root, "runs", runs);
	return root;
}

/* Which variant is what: where its name does not say it. */
static void describe_variants(const struct style *style, char **command)
{
	char text[512];

	for (size_t i = 0; i < variants.count; i++) {
		const struct variant *variant = &variants.list[i];
		const struct environment *environment = &variant->environment;

		if (variant->argv != command || strcmp(variant->name, variant->allocator.name) != 0) {
			fprintf(stdout, "%s%s: %s", style->dim, variant->name, variant->allocator.name);
			for (size_t k = 0; k < environment->count; k++) {
				if (strcmp(environment->variables[k].name, "LD_PRELOAD") != 0)
					fprintf(stdout, " %s=%.200s", environment->variables[k].name,
						environment->variables[k].value);
			}
			if (variant->argv != command) {
				ebbi_format_command(variant->argv, text, sizeof(text));
				fprintf(stdout, ", %s", text);
			}
			fprintf(stdout, "%s\n", style->off);
		}
	}
}

static void print_text(const struct compare_options *options, const struct alternation *alternation, char **command)
{
	struct style style = ebbi_style_for(STDOUT_FILENO);
	size_t total = ebbi_alternate_total(alternation);
	char text[1024] = "";

	if (command[0]) {
		ebbi_format_command(command, text, sizeof(text));
		fprintf(stdout, "%s%s%s\n", style.bold, text, style.off);
	}
	describe_variants(&style, command);
	ebbi_comparison_text(stdout, &comparison, &style, options->bytes);
	if (alternation->warm_ups > 0)
		fprintf(stdout, "%s%zu warm-up run%s that had to read files from the disk: not counted%s\n", style.dim,
			alternation->warm_ups, alternation->warm_ups == 1 ? "" : "s", style.off);
	if (alternation->count < total)
		fprintf(stdout, "%s%s%zu of %zu runs%s\n", style.warn, alternation->stop_signal ? "interrupted: " : "",
			alternation->count, total, style.off);
}

/* 0 or an exit code. */
static int deliver(const struct compare_options *options, const struct alternation *alternation, char **command)
{
	json_t *runs = take_runs(alternation);
	json_t *document;
	int code = 0, flushed;

	if (!runs)
		return EXIT_NOT_MEASURED;
	document = document_of(alternation, runs);
	if (!options->json)
		print_text(options, alternation, command);
	if (options->json || options->save)
		code = ebbi_cli_deliver_json(document, options->json, options->save);
	else
		json_decref(document);
	flushed = ebbi_cli_flush();
	if (code == 0)
		code = flushed;
	if (code == 0 && !ebbi_comparison_conclusive(&comparison))
		code = EXIT_NOT_COMPARABLE;
	ebbi_comparison_free(&comparison);
	return code;
}

int ebbi_cli_compare(char **argv)
{
	struct compare_options options;
	struct alternation alternation = {.options = &options, .variants = &variants};
	char message[OPTIONS_MESSAGE];
	char **command;
	bool help;
	int code, delivered = 0;

	if (ebbi_options_parse(ebbi_verb_find("compare"), argv, &options, &command, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("compare"));
		return ebbi_cli_flush();
	}
	code = prepare(&options, command, &alternation);
	if (code == 0) {
		ebbi_progress_open(&alternation.progress, STDERR_FILENO, "ebb compare",
				   (unsigned)ebbi_alternate_total(&alternation));
		code = ebbi_alternate(&alternation);
		if (alternation.count > 0)
			delivered = deliver(&options, &alternation, command);
	}
	ebbi_alternate_free(&alternation);
	ebbi_variants_free(&variants);
	return code ? code : delivered;
}
