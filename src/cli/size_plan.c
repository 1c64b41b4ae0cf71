/* ebb size: from its options to a plan. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/ready.h"
#include "cli/size.h"
#include "lab/response.h"
#include "report/run_json.h"

typedef bool value_parser(const char *text, uint64_t *ret_value);

/* --- Lists ------------------------------------------------------------------------------- */

/* "20k", "1.5k", "1M" or "800": requests a second. */
static bool parse_rate(const char *text, uint64_t *ret_rate)
{
	char *end;
	double value;

	if (text[0] < '0' || text[0] > '9' || text[1] == 'x' || text[1] == 'X')
		return false;
	value = strtod(text, &end);
	if ((end[0] == 'k' || end[0] == 'K') && end[1] == 0)
		value *= 1000;
	else if (end[0] == 'M' && end[1] == 0)
		value *= 1000000;
	else if (end[0] != 0)
		return false;
	if (!(value >= 1 && value <= SCHEDULE_RATE_MOST))
		return false;
	*ret_rate = (uint64_t)(value + 0.5);
	return true;
}

static bool parse_event(const char *text, uint64_t *ret_bytes)
{
	return ebbi_parse_size(text, ret_bytes) && *ret_bytes >= 1 && *ret_bytes <= REQUEST_BODY_MOST;
}

static bool parse_connections(const char *text, uint64_t *ret_count)
{
	return ebbi_parse_count(text, 1, GENERATOR_CONNECTIONS_MOST, ret_count);
}

static bool parse_box(const char *text, uint64_t *ret_bytes)
{
	return ebbi_parse_size(text, ret_bytes) && *ret_bytes >= 1048576;
}

/* "a,b,c" in `text` is cut at its commas. The pieces, or 0: one is empty, or there are too many. */
static size_t cut(char *text, const char **ret_pieces, size_t most)
{
	size_t count = 0;

	for (char *at = text; at;) {
		char *comma = strchr(at, ',');

		if (comma)
			*comma = 0;
		if (at[0] == 0 || count == most)
			return 0;
		ret_pieces[count++] = at;
		at = comma ? comma + 1 : NULL;
	}
	return count;
}

struct list {
	const char *flag;
	const char *text;
	value_parser *parse;
	size_t most;
	const char *remedy;
};

static int parse_list(const struct list *list, uint64_t *ret_values, size_t *ret_count)
{
	const char *pieces[LADDER_RATES];
	char text[2048];
	size_t count;

	snprintf(text, sizeof(text), "%s", list->text);
	count = strlen(list->text) < sizeof(text) ? cut(text, pieces, list->most) : 0;
	for (size_t i = 0; i < count; i++) {
		if (!list->parse(pieces[i], &ret_values[i])) {
			ebbi_cli_complain("--%s: '%.60s': %s", list->flag, pieces[i], list->remedy);
			return EXIT_USAGE;
		}
	}
	*ret_count = count;
	if (count > 0)
		return 0;
	ebbi_cli_complain("--%s '%.100s': write 1 to %zu values with a comma between them: %s", list->flag, list->text,
			  list->most, list->remedy);
	return EXIT_USAGE;
}

static int compare_sizes(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

static int parse_lists(const struct size_options *options, struct size_plan *plan, struct sizing *sizing)
{
	const struct list rates = {"rates", options->rates, parse_rate, LADDER_RATES,
				   "requests a second, from 1 to 1M, such as 500, 5k or 20k"};
	const struct list events = {"event-bytes", options->event_bytes, parse_event, SIZING_LIST,
				    "a size from 1 to 64M, such as 800 or 4K"};
	const struct list connections = {"connections", options->connections, parse_connections, SIZING_LIST,
					 "a number from 1 to 20000"};
	const struct list boxes = {"box", options->box, parse_box, SIZING_LIST,
				   "a size of 1M and more, such as 512M or 2G"};
	int code;

	if (!options->rates) {
		ebbi_cli_complain("no --rates: which requests a second to try, such as --rates 1k,2k,5k,10k");
		return EXIT_USAGE;
	}
	code = parse_list(&rates, plan->rates, &plan->rate_count);
	plan->event_count = 1;
	if (code == 0 && options->event_bytes)
		code = parse_list(&events, plan->events, &plan->event_count);
	if (code == 0)
		code = parse_list(&connections, plan->connections, &plan->connection_count);
	if (code == 0)
		code = parse_list(&boxes, sizing->boxes, &sizing->box_count);
	qsort(sizing->boxes, sizing->box_count, sizeof(sizing->boxes[0]), compare_sizes);
	if (code == 0 && !ebbi_parse_count(options->steps, 0, 10, &plan->steps)) {
		ebbi_cli_complain("--steps '%.60s': write a number from 0 to 10", options->steps);
		code = EXIT_USAGE;
	}
	return code;
}

static int parse_share(const char *text, double *ret_share)
{
	char *end = NULL;
	double value = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : 0;

	if (value >= 1 && value <= 100 && strcmp(end, "%") == 0) {
		*ret_share = value / 100;
		return 0;
	}
	ebbi_cli_complain("--share '%.60s': write 1%% to 100%%", text);
	return EXIT_USAGE;
}

static int parse_sweep(const char *text, struct size_plan *plan, struct sizing *sizing)
{
	char *equals;
	size_t name;

	plan->sweep_count = 1;
	if (!text)
		return 0;
	snprintf(plan->sweep_text, sizeof(plan->sweep_text), "%s", text);
	equals = strchr(plan->sweep_text, '=');
	name = equals ? (size_t)(equals - plan->sweep_text) : 0;
	if (name == 0 || name >= 64 || strlen(text) >= sizeof(plan->sweep_text)) {
		ebbi_cli_complain("--sweep '%.100s': write VARIABLE=VALUE,VALUE,...", text);
		return EXIT_USAGE;
	}
	*equals = 0;
	sizing->sweep_variable = plan->sweep_text;
	plan->sweep_count = cut(equals + 1, plan->sweeps, SIZING_LIST);
	if (plan->sweep_count > 0)
		return 0;
	ebbi_cli_complain("--sweep '%.100s': write 1 to %d values with a comma between them", text, SIZING_LIST);
	return EXIT_USAGE;
}

/* --- Where to, and what ------------------------------------------------------------------ */

/* The path of an URL, without its fragment; "/" when there is none. */
static void path_of(const char *url, char *ret_path, size_t size)
{
	const char *host = strstr(url, "://");
	const char *path = host ? host + 3 + strcspn(host + 3, "/?#") : "";
	size_t length = strcspn(path, "#");

	snprintf(ret_path, size, "%s%.*s", path[0] == '/' ? "" : "/", (int)length, path);
}

static int choose_target(const struct size_options *options, const struct ready *ready, struct generator_plan *load,
			 struct size_plan *plan, char *ret_path, size_t size)
{
	const char *url = options->url ? options->url : options->ready_http;
	char message[LAB_MESSAGE];
	struct ready target = *ready;

	if (url && strncmp(url, "http://", 7) != 0) {
		ebbi_cli_complain("%.200s: requests are sent to http://HOST:PORT/PATH only: give --url", url);
		return EXIT_USAGE;
	}
	if (options->url && ebbi_ready_parse(READY_HTTP, options->url, &target, message) != 0) {
		const char *colon = strchr(message, ' ');

		ebbi_cli_complain("--url%s", colon ? colon : "");
		return EXIT_USAGE;
	}
	if (target.host[0] == 0) {
		ebbi_cli_complain(
			"where are the requests to go? give --ready-http URL, --ready-tcp HOST:PORT or --url URL");
		return EXIT_USAGE;
	}
	path_of(url ? url : "", ret_path, size);
	if (strlen(ret_path) >= 1000) {
		ebbi_cli_complain("the path of the URL is too long: put it into a --requests file");
		return EXIT_USAGE;
	}
	memcpy(load->host, target.host, sizeof(load->host));
	memcpy(load->port, target.port, sizeof(load->port));
	snprintf(plan->url, sizeof(plan->url), strchr(load->host, ':') ? "http://[%.100s]:%s%s" : "http://%.100s:%s%s",
		 load->host, load->port, options->requests ? "" : ret_path);
	return 0;
}

static int read_requests(const struct size_options *options, const struct generator_plan *load, const char *path,
			 struct size_plan *plan)
{
	const char *name = options->requests ? options->requests : "the URL";
	char message[LAB_MESSAGE], host[300];
	int error;

	snprintf(host, sizeof(host), strchr(load->host, ':') ? "[%s]:%s" : "%s:%s", load->host, load->port);
	if (options->requests)
		error = ebbi_requests_read(options->requests, host, &plan->requests, message);
	else
		error = ebbi_requests_usual(path, options->event_bytes != NULL, host, &plan->requests, message);
	for (size_t i = 0; error == 0 && i < plan->event_count; i++)
		error = ebbi_requests_check(&plan->requests, plan->events[i], name, message);
	if (error == 0)
		return 0;
	ebbi_cli_complain("%s", message);
	return EXIT_USAGE;
}

static int make_experiment(const struct size_options *options, char **command, struct experiment_plan *plan)
{
	char message[LAB_MESSAGE];
	int error = ebbi_cli_ready(options->ready_tcp, options->ready_http, options->ready_log, &plan->ready, message);

	if (error == 0)
		error = ebbi_allocator_find(options->allocator, &plan->allocator, message);
	if (error == 0)
		error = ebbi_allocator_environment(&plan->allocator, options->conf, &plan->environment, message);
	if (error != 0) {
		ebbi_cli_complain("%s", message);
		return error == -ENOENT ? EXIT_NOT_MEASURED : EXIT_USAGE;
	}
	plan->argv = command;
	plan->label = plan->allocator.name;
	plan->conf = options->conf;
	plan->ready_timeout_ns = options->ready_timeout;
	plan->rest_ns = options->rest;
	plan->grace_ns = options->grace;
	plan->quiet = true;
	plan->ends_by_interrupt = true;
	return 0;
}

static int check_times(const struct size_options *options)
{
	if (options->seconds < 100000000u || options->seconds > 3600000000000u) {
		ebbi_cli_complain("--seconds: write a time from 100ms to 1h");
		return EXIT_USAGE;
	}
	if (options->patience < 10000000u || options->patience < options->late) {
		ebbi_cli_complain("--patience: 10ms at least, and not less than --late");
		return EXIT_USAGE;
	}
	return 0;
}

int ebbi_size_plan(const struct size_options *options, char **command, struct size_plan *ret_plan,
		   struct sizing *ret_sizing)
{
	struct generator_plan *load = &ret_sizing->load;
	char path[2048], message[LAB_MESSAGE];
	int code, error;

	if (!command[0]) {
		ebbi_cli_complain("no command: ebb size --rates N,... [OPTION...] -- COMMAND [ARGUMENT...]");
		return EXIT_USAGE;
	}
	code = parse_lists(options, ret_plan, ret_sizing);
	if (code == 0)
		code = parse_share(options->share, &ret_sizing->share);
	if (code == 0)
		code = parse_sweep(options->sweep, ret_plan, ret_sizing);
	if (code == 0)
		code = check_times(options);
	if (code == 0)
		code = make_experiment(options, command, &ret_sizing->plan);
	if (code == 0)
		code = choose_target(options, &ret_sizing->plan.ready, load, ret_plan, path, sizeof(path));
	if (code == 0)
		code = read_requests(options, load, path, ret_plan);
	if (code != 0)
		return code;
	error = options->save ? ebbi_save_check(options->save) : 0;
	if (error != 0) {
		ebbi_cli_complain("--save %s: %s", options->save, strerror(-error));
		return EXIT_USAGE;
	}
	load->requests = &ret_plan->requests;
	load->duration_ns = options->seconds;
	load->patience_ns = options->patience;
	ret_sizing->late_ns = options->late;
	if (ebbi_response_load(message) == 0)
		return 0;
	ebbi_cli_complain("%s", message);
	return EXIT_NOT_MEASURED;
}
