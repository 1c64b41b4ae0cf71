#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "observe/dwarf.h"
#include "observe/procread.h"
#include "observe/stacks.h"
#include "report/heap.h"
#include "report/run_json.h"

struct target {
	pid_t pid;
	char command[64];
	char program[PATH_MAX];
};

/* --- Arguments --------------------------------------------------------------------------- */

static int check_file(const char *flag, const char *path)
{
	int error = path ? ebbi_save_check(path) : 0;

	if (error == 0)
		return 0;
	ebbi_cli_complain("%s %s: %s", flag, path, strerror(-error));
	return EXIT_USAGE;
}

static int check_arguments(char **operands, const struct profile_options *options, pid_t *ret_pid)
{
	char *end;
	long pid;
	int code;

	if (!operands[0]) {
		ebbi_cli_complain("no process: ebb profile PID");
		return EXIT_USAGE;
	}
	if (operands[1]) {
		ebbi_cli_complain("one process at a time: what is %.200s?", operands[1]);
		return EXIT_USAGE;
	}
	errno = 0;
	pid = strtol(operands[0], &end, 10);
	if (operands[0][0] < '1' || operands[0][0] > '9' || *end || errno != 0 || pid > INT_MAX) {
		ebbi_cli_complain("'%.200s': write the number of a process, as pgrep prints it", operands[0]);
		return EXIT_USAGE;
	}
	if (options->folded && options->json) {
		ebbi_cli_complain("--folded and --json exclude each other: give one");
		return EXIT_USAGE;
	}
	*ret_pid = (pid_t)pid;
	code = check_file("-o", options->output);
	return code ? code : check_file("--svg", options->svg);
}

/* --- The process ------------------------------------------------------------------------- */

static void look_at(struct target *target)
{
	struct proc_stat stat;
	char link[64];
	ssize_t length;

	snprintf(target->command, sizeof(target->command), "process");
	if (ebbi_proc_stat(target->pid, &stat) == 0)
		snprintf(target->command, sizeof(target->command), "%s", stat.command);
	ebbi_text_clean(target->command);
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)target->pid);
	length = readlink(link, target->program, sizeof(target->program) - 1);
	target->program[length > 0 ? length : 0] = 0;
}

/* What went wrong and what to do about it, in one line. */
static void complain(const struct target *target, int error, uint32_t version)
{
	int pid = (int)target->pid;
	const char *name = target->command;

	switch (error) {
	case -ESRCH:
		ebbi_cli_complain("process %d: there is none of that number (any more)", pid);
		break;
	case -EPERM:
	case -EACCES:
		ebbi_cli_complain(
			"process %d (%s): its memory may not be read: use sudo or its own user, or allow it with "
			"setcap cap_sys_ptrace+ep on ebb (or sysctl kernel.yama.ptrace_scope=0)",
			pid, name);
		break;
	case -ENOENT:
		ebbi_cli_complain(
			"process %d (%s) does not run under Ebb: start it with LD_PRELOAD=.../libebb.so or by "
			"ebb run",
			pid, name);
		break;
	case -ENOTSUP:
		ebbi_cli_complain(
			"process %d (%s): its libebb is older than this ebb and keeps no profile: restart it with "
			"the new one",
			pid, name);
		break;
	case -EPROTO:
		if (version > EBB_PROFILE_VERSION)
			ebbi_cli_complain(
				"process %d (%s): its libebb is newer than this ebb (profile version %u, known "
				"is %u): use the ebb of its own version",
				pid, name, version, EBB_PROFILE_VERSION);
		else
			ebbi_cli_complain(
				"process %d (%s): where its profile should lie is something else: was its memory "
				"overwritten?",
				pid, name);
		break;
	case -ESTALE:
		ebbi_cli_complain("process %d (%s): its libebb.so was replaced on disk since it started: restart it",
				  pid, name);
		break;
	default:
		ebbi_cli_complain("process %d (%s): %s", pid, name, strerror(-error));
	}
}

static int read_stacks(const struct target *target, struct stacks *ret_stacks)
{
	struct profile profile;
	struct symbols *symbols;
	uint32_t version;
	int error = ebbi_profile_read(target->pid, &profile, &version);

	if (error == 0 && profile.interval_bytes == 0 && profile.site_count == 0) {
		ebbi_cli_complain(
			"process %d (%s): its allocations are not sampled: start it without sample:0 and hardened "
			"in EBB_CONF (with musl there is no sampling)",
			(int)target->pid, target->command);
		ebbi_profile_free(&profile);
		return EXIT_NOT_MEASURED;
	}
	if (error != 0) {
		complain(target, error, version);
		return EXIT_NOT_MEASURED;
	}
	symbols = ebbi_symbols_open(target->pid, &profile);
	if (symbols && ebbi_dwarf_missing())
		ebbi_cli_complain("libdw.so.1 is not installed, so functions have no names: apt-get install libdw1");
	error = symbols ? ebbi_stacks_make(&profile, symbols, ret_stacks) : -ENOMEM;
	ebbi_symbols_close(symbols);
	if (error != 0)
		complain(target, error, 0);
	else if (ret_stacks->profile.samples_dropped > 0)
		ebbi_cli_complain("%llu samples found no room in the tables: the figures are too small",
				  (unsigned long long)ret_stacks->profile.samples_dropped);
	return error ? EXIT_NOT_MEASURED : 0;
}

/* --- Output ------------------------------------------------------------------------------ */

static int saved(const char *path, int error)
{
	if (error == 0)
		return 0;
	ebbi_cli_complain("%s: %s", path, strerror(-error));
	return EXIT_NOT_MEASURED;
}

static int save_pprof(const struct heap *heap, const char *path)
{
	uint8_t *bytes = NULL;
	size_t length = 0;
	int error = ebbi_heap_pprof(heap->stacks, &heap->about, &bytes, &length);

	if (error == 0)
		error = ebbi_save(path, bytes, length);
	free(bytes);
	return saved(path, error);
}

static int save_svg(const struct heap *heap, const char *path)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	int error = stream ? 0 : -ENOMEM;

	if (stream) {
		ebbi_heap_svg(stream, heap);
		error = ferror(stream) ? -ENOMEM : 0;
		if (fclose(stream) != 0)
			error = -ENOMEM;
	}
	if (error == 0)
		error = ebbi_save(path, text, length);
	free(text);
	return saved(path, error);
}

static void print_text(const struct heap *heap, const struct profile_options *options)
{
	struct heap_text text = {.style = ebbi_style_for(STDOUT_FILENO), .bytes = options->bytes, .all = options->all};
	struct winsize size;

	if (isatty(STDOUT_FILENO))
		text.columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
	ebbi_heap_text(stdout, heap, &text);
}

static int put_out(const struct heap *heap, const struct profile_options *options)
{
	int code = options->output ? save_pprof(heap, options->output) : 0;

	if (code == 0 && options->svg)
		code = save_svg(heap, options->svg);
	if (code == 0 && options->json)
		code = ebbi_cli_deliver_json(ebbi_heap_json(heap), /* print= */ true, NULL);
	else if (code == 0 && options->folded)
		ebbi_heap_folded(stdout, heap);
	else if (code == 0)
		print_text(heap, options);
	return code;
}

int ebbi_cli_profile(char **argv)
{
	const struct verb *verb = ebbi_verb_find("profile");
	struct profile_options options;
	struct target target;
	struct timespec now;
	struct stacks stacks;
	struct heap heap;
	char message[OPTIONS_MESSAGE];
	char **operands;
	bool help;
	int code;

	if (ebbi_options_parse(verb, argv, &options, &operands, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, verb);
		return ebbi_cli_flush();
	}
	code = check_arguments(operands, &options, &target.pid);
	if (code != 0)
		return code;
	look_at(&target);
	code = read_stacks(&target, &stacks);
	if (code != 0)
		return code;
	clock_gettime(CLOCK_REALTIME, &now);
	struct heap_about about = {.pid = target.pid,
				   .command = target.command,
				   .program = target.program,
				   .time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
				   .total = options.total};

	if (ebbi_heap_make(&stacks, &about, &heap) == 0) {
		code = put_out(&heap, &options);
		ebbi_heap_free(&heap);
	} else {
		complain(&target, -ENOMEM, 0);
		code = EXIT_NOT_MEASURED;
	}
	ebbi_stacks_free(&stacks);
	return code ? code : ebbi_cli_flush();
}
