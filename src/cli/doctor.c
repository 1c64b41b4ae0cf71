#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "doctor/files.h"
#include "doctor/ledger_file.h"
#include "doctor/live.h"
#include "doctor/pair.h"
#include "doctor/result_file.h"
#include "observe/ledger.h"
#include "report/verdict.h"

#define FIRST_LEDGER_MS 3000
#define ASK_ONCE_NS 3600000000000u

/* Too large for a stack, and there is one doctor a process. */
static struct facts facts;
static struct pair pair;
static bool is_pair;
static struct look look;
static struct account_table table;

static int usage(const char *format, const char *text)
{
	ebbi_cli_complain(format, text);
	return EXIT_USAGE;
}

/* Digits alone are the number of a process. */
static bool is_pid(const char *operand, pid_t *ret_pid)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(operand, &end, 10);
	if (operand[0] < '1' || operand[0] > '9' || *end || errno != 0 || pid > INT_MAX)
		return false;
	*ret_pid = (pid_t)pid;
	return true;
}

/* redis counts each of its allocations: its figure is what is live in the allocator, not a part of the program's. */
static void told(const struct ledger_plan *plan, uint64_t bytes)
{
	if (plan->kind == LEDGER_REDIS) {
		ebbi_fact_set(&facts, FACT_LIVE, bytes, "redis INFO");
		ebbi_fact_set(&facts, FACT_COVERS_ALL, 1, "redis INFO");
	} else {
		ebbi_facts_add_ledger(&facts, plan->name, bytes, false);
	}
}

static int ask_ledgers(const struct option_list *list)
{
	static struct ledger ledger;
	char message[LEDGER_MESSAGE];

	for (size_t i = 0; i < list->count; i++) {
		struct ledger_plan plan;
		int error = ebbi_ledger_parse(list->items[i], &plan, message);

		if (error != 0)
			return usage("%s", message);
		error = ebbi_ledger_open(&ledger, &plan, ASK_ONCE_NS);
		if (error != 0) {
			ebbi_cli_complain("--ledger %.200s: %s", list->items[i], strerror(-error));
			return EXIT_NOT_MEASURED;
		}
		ebbi_ledger_update(&ledger, FIRST_LEDGER_MS);
		if (!ledger.last.known)
			ebbi_cli_complain("--ledger %.100s: %s", list->items[i],
					  ledger.last.problem[0] ? ledger.last.problem : "no answer");
		else
			told(&plan, ledger.last.bytes);
		ebbi_ledger_close(&ledger);
	}
	return 0;
}

/* What lies there: a directory of saved files, one of two such directories, or a result. */
static int load_saved(const char *path)
{
	char message[FACTS_MESSAGE];
	struct stat stat_of;
	int error;

	if (stat(path, &stat_of) != 0) {
		ebbi_cli_complain("%.300s: %s: give a PID, a result of ebb run --save, or a directory of saved files",
				  path, strerror(errno));
		return EXIT_USAGE;
	}
	error = S_ISDIR(stat_of.st_mode) ? ebbi_pair_read(path, &pair, &is_pair, message) : 0;
	if (error == 0 && !is_pair)
		error = S_ISDIR(stat_of.st_mode) ? ebbi_facts_from_files(&facts, path, message)
						 : ebbi_facts_from_result(&facts, path, message);
	if (error != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		if (facts.all[id].known || is_pair)
			return 0;
	}
	if (facts.ledger_count + facts.process_count + facts.tried_count > 0)
		return 0;
	ebbi_cli_complain("%.300s: no file in it that is known (status, smaps_rollup, memory.stat, ledger.json, ...)",
			  path);
	return EXIT_USAGE;
}

static int load_process(pid_t pid, const struct doctor_options *options)
{
	char message[FACTS_MESSAGE];
	int error = ebbi_facts_from_process(&facts, pid, options->stop, &look, message);

	if (error != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_NOT_MEASURED;
	}
	ebbi_accounts_make(&look, &table);
	if (!options->save)
		return 0;
	error = ebbi_facts_save(&facts, pid, options->save, message);
	if (error != 0) {
		ebbi_cli_complain("--save: %s", message);
		return EXIT_NOT_MEASURED;
	}
	return 0;
}

static void judge(struct verdict *verdict)
{
	struct facts *larger;

	if (is_pair) {
		ebbi_facts_derive(&pair.a);
		ebbi_facts_derive(&pair.b);
		ebbi_pair_judge(&pair, &larger, verdict);
		facts = *larger;
		return;
	}
	ebbi_facts_derive(&facts);
	ebbi_verdict_make(&facts, verdict);
}

/* Ebb's accounts, or else the mappings; but where the heap was walked, facts divide it into live and free. */
static const struct account_table *table_of(pid_t pid)
{
	return pid > 0 && (table.on_ebb || !ebbi_known(&facts, FACT_LIVE)) ? &table : NULL;
}

int ebbi_cli_doctor(char **argv)
{
	const struct verb *verb = ebbi_verb_find("doctor");
	struct doctor_options options;
	static struct verdict verdict;
	char message[OPTIONS_MESSAGE];
	char **operands;
	struct style style;
	pid_t pid = 0;
	bool help;
	int code;

	if (ebbi_options_parse(verb, argv, &options, &operands, &help, message) != 0)
		return usage("%s", message);
	if (help) {
		ebbi_help_verb(stdout, verb);
		return ebbi_cli_flush();
	}
	if (!operands[0] || operands[1])
		return usage("%s", "one thing at a time: ebb doctor PID, RESULT or DIRECTORY");
	if (!is_pid(operands[0], &pid) && (options.save || options.stop))
		return usage("%s", "--save and --stop need a living process: ebb doctor PID");
	code = ask_ledgers(&options.ledger);
	if (code == 0)
		code = pid > 0 ? load_process(pid, &options) : load_saved(operands[0]);
	if (code != 0)
		return code;
	judge(&verdict);
	style = ebbi_style_for(STDOUT_FILENO);
	if (!options.json)
		ebbi_verdict_text(stdout, &facts, &verdict, table_of(pid), &style, options.bytes);
	else
		code = ebbi_cli_deliver_json(ebbi_verdict_json(&facts, &verdict, table_of(pid)), /* print= */ true,
					     NULL);
	if (code == 0)
		code = ebbi_cli_flush();
	return code ? code : ebbi_verdict_exit(&verdict);
}
