#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/exposition.h"
#include "cli/terminal.h"
#include "observe/ledger.h"
#include "report/run_json.h"
#include "report/view.h"

#define INTERVAL_LEAST_NS 100000000u
/* Of the time, at most this part goes into looking: the kernel holds a lock of the process's meanwhile. */
#define LOOKING_PART 10u
#define FIRST_LEDGER_MS 3000

enum form { FORM_SCREEN, FORM_TABLE, FORM_CSV, FORM_JSON_LINES, FORM_PROMETHEUS_SERVER };

struct watch {
	struct watch_options options;
	enum form form;
	uint64_t count; /* samples to take; 0: no end */
	uint64_t taken;
	struct looker looker;
	/* The sample now and the one before, in turn. */
	struct look looks[2];
	struct account_table tables[2];
	struct sample samples[2];
	size_t ledger_count;
	struct ledger ledgers[LEDGERS_MOST];
	struct style style;
	uint64_t next_ns;
};

static struct watch watch; /* some 300 KiB */
static struct view view;
static struct canvas canvas;
static volatile sig_atomic_t stopped;

static void on_stop(int signal)
{
	stopped = signal;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- Arguments --------------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t most, uint64_t *ret_value)
{
	char *end;

	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	return text[0] >= '1' && text[0] <= '9' && *end == 0 && errno == 0 && *ret_value <= most;
}

static int usage(const char *format, const char *text)
{
	ebbi_cli_complain(format, text);
	return EXIT_USAGE;
}

static enum form form_of(const struct watch_options *options)
{
	if (options->prometheus)
		return FORM_PROMETHEUS_SERVER;
	if (options->csv)
		return FORM_CSV;
	if (options->json)
		return FORM_JSON_LINES;
	return options->once ? FORM_TABLE : FORM_SCREEN;
}

static int check_arguments(char **operands)
{
	const struct watch_options *options = &watch.options;
	uint64_t pid;

	if (!operands[0])
		return usage("%s", "no process: ebb watch PID");
	if (operands[1])
		return usage("one process at a time: what is %.200s?", operands[1]);
	if (!parse_number(operands[0], INT_MAX, &pid))
		return usage("'%.200s': write the number of a process, as pgrep prints it", operands[0]);
	watch.looker.pid = (pid_t)pid;
	if (options->csv + options->json + (options->prometheus != NULL) > 1)
		return usage("%s", "--csv, --json and --prometheus exclude each other: give one");
	if (options->interval < INTERVAL_LEAST_NS)
		return usage("%s", "--interval: 100ms is the shortest");
	if (options->count && !parse_number(options->count, UINT64_MAX, &watch.count))
		return usage("--count '%.200s': write how many times, 1 or more", options->count);
	watch.form = form_of(options);
	if (options->once)
		watch.count = 1;
	return 0;
}

static int open_ledgers(void)
{
	const struct option_list *list = &watch.options.ledger;
	char message[LEDGER_MESSAGE];

	for (size_t i = 0; i < list->count; i++) {
		struct ledger_plan plan;
		int error = ebbi_ledger_parse(list->items[i], &plan, message);

		if (error != 0)
			return usage("%s", message);
		error = ebbi_ledger_open(&watch.ledgers[i], &plan, watch.options.interval);
		if (error != 0) {
			ebbi_cli_complain("--ledger %.200s: %s", list->items[i], strerror(-error));
			return EXIT_NOT_MEASURED;
		}
		watch.ledger_count++;
	}
	return 0;
}

static void close_ledgers(void)
{
	for (size_t i = 0; i < watch.ledger_count; i++)
		ebbi_ledger_close(&watch.ledgers[i]);
}

/* --- Sampling ---------------------------------------------------------------------------- */

static struct sample *current(void)
{
	return &watch.samples[watch.taken % 2];
}

static void read_ledgers(struct sample *sample)
{
	sample->ledger_count = watch.ledger_count;
	for (size_t i = 0; i < watch.ledger_count; i++) {
		struct ledger *ledger = &watch.ledgers[i];
		struct ledger_value *value = &sample->ledgers[i];

		ebbi_ledger_update(ledger, watch.taken == 0 && watch.form != FORM_SCREEN ? FIRST_LEDGER_MS : 0);
		snprintf(value->name, sizeof(value->name), "%s", ledger->plan.name);
		snprintf(value->problem, sizeof(value->problem), "%s", ledger->last.problem);
		value->known = ledger->last.known;
		value->bytes = ledger->last.bytes;
	}
}

/* Takes the next sample; current() is that one until the next is taken. */
static int take(void)
{
	size_t slot = (watch.taken + 1) % 2;
	struct sample *sample = &watch.samples[slot];
	const struct sample *before = watch.taken > 0 ? current() : NULL;
	int error;

	*sample = (struct sample){.look = &watch.looks[slot], .table = &watch.tables[slot]};
	read_ledgers(sample);
	error = ebbi_look(&watch.looker, &watch.looks[slot]);
	if (error != 0)
		return error;
	ebbi_text_clean(watch.looks[slot].command);
	ebbi_accounts_make(&watch.looks[slot], &watch.tables[slot]);
	ebbi_sample_rates(sample, before);
	watch.taken++;
	watch.next_ns += watch.options.interval;
	/* Late, or a process so large that a look takes long: the next one later. */
	if (watch.next_ns < now_ns() + watch.looks[slot].took_ns * (LOOKING_PART - 1))
		watch.next_ns = now_ns() + watch.looks[slot].took_ns * (LOOKING_PART - 1);
	return 0;
}

static int milliseconds_left(void)
{
	uint64_t now = now_ns();
	uint64_t left = watch.next_ns > now ? (watch.next_ns - now + 999999) / 1000000 : 0;

	return left > 3600000 ? 3600000 : (int)left;
}

static bool enough(void)
{
	return stopped || (watch.count != 0 && watch.taken >= watch.count);
}

/* --- How it ends ------------------------------------------------------------------------- */

static int complain(int error)
{
	int pid = (int)watch.looker.pid;

	switch (error) {
	case -ESRCH:
		if (watch.taken > 0) {
			fprintf(stderr, "ebb: process %d (%s) has ended\n", pid, current()->look->command);
			return 0;
		}
		ebbi_cli_complain("process %d: there is none of that number, or it has no memory of its own", pid);
		break;
	case -EPERM:
	case -EACCES:
		ebbi_cli_complain("process %d: its memory may not be looked at: use sudo or its own user, or allow it "
				  "with setcap cap_sys_ptrace+ep on ebb (or sysctl kernel.yama.ptrace_scope=0)",
				  pid);
		break;
	default:
		ebbi_cli_complain("process %d cannot be read: %s", pid, strerror(-error));
		break;
	}
	return EXIT_NOT_MEASURED;
}

/* A line about libebb's figures where they ought to be and are not; *ret_code is 3 for a layout that is not ours. */
static bool reason(char *ret_text, size_t size)
{
	return ebbi_accounts_reason(current()->look, ret_text, size);
}

/* --- Without a screen -------------------------------------------------------------------- */

static void print_ledgers(const struct sample *sample)
{
	for (size_t i = 0; i < sample->ledger_count; i++) {
		const struct ledger_value *ledger = &sample->ledgers[i];
		char a[FORMAT_BYTES], b[FORMAT_BYTES];
		uint64_t rss = sample->table->rss_bytes;
		uint64_t gap = rss > ledger->bytes ? rss - ledger->bytes : ledger->bytes - rss;

		if (ledger->known)
			printf("  ledger %s: %s; RSS is %s %s\n", ledger->name,
			       ebbi_format_bytes(a, ledger->bytes, watch.options.bytes),
			       ebbi_format_bytes(b, gap, watch.options.bytes), rss >= ledger->bytes ? "more" : "less");
		else
			printf("  ledger %s: %s\n", ledger->name, ledger->problem);
	}
}

static void print_table(void)
{
	const struct sample *sample = current();
	const struct look *look = sample->look;
	char a[FORMAT_BYTES], b[FORMAT_BYTES], text[256];

	printf("%s%s%s (%d)%s: RSS %s", watch.style.bold, look->command, watch.style.off, (int)look->pid,
	       sample->table->on_ebb ? ", under ebb" : "",
	       ebbi_format_bytes(a, sample->table->rss_bytes, watch.options.bytes));
	if (sample->table->budget_bytes > 0)
		printf(" of a budget of %s", ebbi_format_bytes(b, sample->table->budget_bytes, watch.options.bytes));
	printf(", %s threads\n\n", ebbi_format_count(b, look->status.threads));
	/* Rows of less than a thousandth are noise to people; --bytes wants all. */
	ebbi_accounts_text(stdout, sample->table, &watch.style, watch.options.bytes,
			   watch.options.bytes ? 0 : sample->table->rss_bytes / 1000);
	print_ledgers(sample);
	if (look->holdings.stacks_unsure > 0)
		printf("  %snote: the stacks of %zu threads that were running are in \"other mappings\"%s\n",
		       watch.style.dim, look->holdings.stacks_unsure, watch.style.off);
	if (reason(text, sizeof(text)))
		printf("  %snote: %s%s\n", watch.style.warn, text, watch.style.off);
}

static void print_json(void)
{
	json_t *document = ebbi_sample_json(current());
	char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;

	if (text)
		puts(text);
	free(text);
	json_decref(document);
}

static void publish(void)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return;
	ebbi_sample_prometheus(stream, current());
	if (fclose(stream) == 0)
		ebbi_exposition_set(text, length);
	free(text);
}

static void emit(void)
{
	switch (watch.form) {
	case FORM_CSV:
		if (watch.taken == 1)
			ebbi_sample_csv_head(stdout, current());
		ebbi_sample_csv(stdout, current());
		break;
	case FORM_JSON_LINES:
		print_json();
		break;
	case FORM_PROMETHEUS_SERVER:
		publish();
		break;
	case FORM_TABLE:
	case FORM_SCREEN:
		if (watch.taken > 1)
			putchar('\n');
		print_table();
		break;
	}
}

static void wait_for_next(void)
{
	int left = milliseconds_left();

	if (watch.form == FORM_PROMETHEUS_SERVER)
		ebbi_exposition_serve(left);
	else
		(void)poll(NULL, 0, left);
}

static int stream(void)
{
	int code = 0;

	while (code == 0 && !enough()) {
		int error = take();

		if (error != 0)
			return complain(error);
		/* Machines would take figures that are missing for figures that do not exist. */
		if (current()->look->snapshot_error == -EPROTO) {
			char text[256];

			reason(text, sizeof(text));
			ebbi_cli_complain("process %d: %s", (int)watch.looker.pid, text);
			return EXIT_NOT_MEASURED;
		}
		emit();
		code = ebbi_cli_flush();
		while (code == 0 && !enough() && milliseconds_left() > 0)
			wait_for_next();
	}
	return code;
}

static int serve(void)
{
	char where[320], message[EXPOSITION_MESSAGE];
	int error = ebbi_exposition_open(watch.options.prometheus, where, sizeof(where), message);
	int code;

	if (error != 0) {
		ebbi_cli_complain("%s", message);
		return error == -EINVAL ? EXIT_USAGE : EXIT_NOT_MEASURED;
	}
	fprintf(stderr, "ebb: serving %s\n", where);
	code = stream();
	ebbi_exposition_close();
	return code;
}

/* --- On the screen ----------------------------------------------------------------------- */

static void draw(void)
{
	if (ebbi_terminal_fit(&canvas) != 0)
		return;
	ebbi_view_draw(&canvas, &view, current());
	ebbi_terminal_show(&canvas);
}

/* Until the next sample is due, or all is over: true. */
static bool handle_keys(void)
{
	while (!stopped) {
		int left = milliseconds_left();
		int key = left > 0 ? ebbi_terminal_key(left > 1000 ? 1000 : left) : TERMINAL_KEY_NONE;

		if (key == 'q' || key == 'Q')
			return true;
		if (key == TERMINAL_KEY_NONE && milliseconds_left() == 0)
			return false;
		if (key != TERMINAL_KEY_NONE && (key == TERMINAL_KEY_RESIZE || ebbi_view_key(&view, key)))
			draw();
	}
	return true;
}

static int screen_loop(void)
{
	for (;;) {
		struct sample *frozen = watch.taken > 0 ? current() : NULL;
		int error = 0;

		if (view.paused && frozen)
			watch.next_ns = now_ns() + watch.options.interval;
		else
			error = take();
		if (error != 0)
			return error;
		if (!view.paused) {
			view.notice[0] = 0;
			(void)reason(view.notice, sizeof(view.notice));
			ebbi_view_add(&view, current());
		}
		draw();
		if ((watch.count != 0 && watch.taken >= watch.count) || handle_keys())
			return 0;
	}
}

static int on_screen(void)
{
	int error;

	view.interval_s = (double)watch.options.interval / 1e9;
	canvas.blocks = watch.style.blocks;
	/* What cannot be looked at is said before the screen is taken. */
	error = ebbi_holdings_read(watch.looker.pid, &watch.looks[0].holdings);
	if (error != 0)
		return complain(error);
	error = ebbi_terminal_open(watch.style.bold[0] != 0);
	/* No terminal to draw on: the table, again and again. */
	if (error == -ENOTTY)
		return stream();
	if (error == -ENOENT) {
		ebbi_cli_complain(
			"the live view needs libncursesw.so.6: install the package libncursesw6, or use --once");
		return EXIT_NOT_MEASURED;
	}
	error = screen_loop();
	ebbi_terminal_close();
	ebbi_canvas_free(&canvas);
	return error == 0 ? 0 : complain(error);
}

int ebbi_cli_watch(char **argv)
{
	const struct sigaction stop = {.sa_handler = on_stop};
	char message[OPTIONS_MESSAGE];
	char **operands;
	bool help;
	int code;

	if (ebbi_options_parse(ebbi_verb_find("watch"), argv, &watch.options, &operands, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("watch"));
		return ebbi_cli_flush();
	}
	code = check_arguments(operands);
	if (code != 0)
		return code;
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGHUP, &stop, NULL);
	watch.style = ebbi_style_for(STDOUT_FILENO);
	watch.next_ns = now_ns();
	code = open_ledgers();
	if (code == 0)
		code = watch.form == FORM_SCREEN              ? on_screen()
		       : watch.form == FORM_PROMETHEUS_SERVER ? serve()
							      : stream();
	close_ledgers();
	return code;
}
