/* ebb env --check: whether a process really is under Ebb. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/env.h"
#include "cli/unit.h"
#include "observe/allocators.h"
#include "observe/elf_file.h"
#include "observe/preload.h"
#include "observe/procread.h"
#include "observe/snapshot.h"
#include "report/format.h"
#include "report/run_json.h"

#define EXIT_NOT_UNDER_EBB 1
#define ENVIRON_BYTES 131072
#define LIBRARY "libebb.so"

struct finding {
	pid_t pid;
	const struct unit *unit; /* NULL: a process was given */
	char command[64];
	char program[PATH_MAX];
	bool in_program;        /* linked with libebb.a */
	char library[PATH_MAX]; /* the mapped file; "" when there is none */
	bool library_deleted;
	int snapshot_error;
	struct ebb_snapshot snapshot;
	uint32_t version;
	struct process_allocators allocators;
	bool environ_known;
	char preload[2048]; /* LD_PRELOAD as it was started; "" for none */
	char conf[1024];
	int code;
	char sentence[768];
	char remedy[768];
};

static struct finding found;
static struct unit unit;

/* --- Looking ----------------------------------------------------------------------------- */

static int find_library(void *context, const struct proc_map *map)
{
	struct finding *finding = context;
	size_t length = ebbi_text_length(&map->path);
	const char *slash = length ? memrchr(map->path.at, '/', length) : NULL;
	struct text name = {.at = slash ? slash + 1 : map->path.at, .end = map->path.end};

	if (map->inode == 0 || !ebbi_text_skip(&name, LIBRARY))
		return 0;
	ebbi_text_copy(&map->path, finding->library, sizeof(finding->library));
	finding->library_deleted = map->deleted;
	return 1;
}

/* redis and others write their title over their environment: not one NAME=VALUE is left then. */
static bool is_environment(const char *bytes, size_t length)
{
	for (const char *at = bytes, *end = bytes + length; at < end;) {
		size_t size = strnlen(at, (size_t)(end - at));

		if (size > 0 && at[0] != '=' && memchr(at, '=', size))
			return true;
		at += size + 1;
	}
	return length == 0;
}

static void read_environment(struct finding *finding)
{
	char *bytes = malloc(ENVIRON_BYTES);
	ssize_t length = bytes ? ebbi_proc_read(finding->pid, "environ", bytes, ENVIRON_BYTES) : -ENOMEM;
	struct text value;

	finding->environ_known = length >= 0 && is_environment(bytes, (size_t)length);
	if (length > 0 && ebbi_parse_environ(bytes, (size_t)length, "LD_PRELOAD", &value) == 0)
		ebbi_text_copy(&value, finding->preload, sizeof(finding->preload));
	if (length > 0 && ebbi_parse_environ(bytes, (size_t)length, "EBB_CONF", &value) == 0)
		ebbi_text_copy(&value, finding->conf, sizeof(finding->conf));
	free(bytes);
}

/* The program's own malloc comes before every preload's. */
static bool program_defines(const char *program, const char *symbol)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct elf_reader reader = {.read = ebbi_elf_read_fd, .context = &fd};
	struct elf_symbol where;
	bool defined = fd >= 0 && ebbi_elf_symbol(&reader, symbol, &where) == 0;

	if (fd >= 0)
		close(fd);
	return defined;
}

static void read_snapshot(struct finding *finding)
{
	const char *slash = strrchr(finding->program, '/');
	uint64_t address;

	finding->snapshot_error =
		ebbi_snapshot_find(finding->pid, finding->in_program && slash ? slash + 1 : LIBRARY, &address);
	if (finding->snapshot_error != 0)
		return;
	finding->snapshot_error = ebbi_snapshot_read(finding->pid, address, &finding->snapshot);
	finding->version = ebbi_snapshot_version(finding->pid, address);
}

/* 0, or negative errno when the process may not be looked at. */
static int look(struct finding *finding)
{
	char link[64];
	struct proc_stat stat;
	ssize_t length;
	int error;

	error = ebbi_proc_stat(finding->pid, &stat);
	if (error != 0)
		return error;
	snprintf(finding->command, sizeof(finding->command), "%s", stat.command);
	error = ebbi_proc_maps(finding->pid, find_library, finding);
	if (error < 0)
		return error;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)finding->pid);
	length = readlink(link, finding->program, sizeof(finding->program) - 1);
	finding->program[length > 0 ? length : 0] = 0;
	finding->in_program = !finding->library[0] && program_defines(link, "ebb_shared_snapshot");
	if (ebbi_allocators(finding->pid, &finding->allocators) != 0)
		finding->allocators.count = 0;
	read_environment(finding);
	read_snapshot(finding);
	return 0;
}

/* --- Judging ----------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void say(char *ret_text, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ret_text, size, format, arguments);
	va_end(arguments);
}

#define SAY(finding, ...) say((finding)->sentence, sizeof((finding)->sentence), __VA_ARGS__)
#define REMEDY(finding, ...) say((finding)->remedy, sizeof((finding)->remedy), __VA_ARGS__)

/* Another malloc than libebb's, when it is known; NULL otherwise. */
static const struct process_allocator *other_malloc(const struct finding *finding)
{
	const struct process_allocator *is_malloc = ebbi_allocators_malloc(&finding->allocators);

	return is_malloc && is_malloc->id != ALLOCATOR_EBB ? is_malloc : NULL;
}

/* Nothing of libebb is in the process. */
static void judge_absent(struct finding *finding)
{
	char environment[4096] = "";
	bool wanted = strstr(finding->preload, LIBRARY) != NULL;
	enum preload_reason reason = ebbi_preload_explain(finding->pid, finding->program);

	finding->code = EXIT_NOT_UNDER_EBB;
	if (finding->unit)
		ebbi_unit_property(finding->unit, "Environment", environment, sizeof(environment));
	if (finding->unit && !wanted && strstr(environment, LIBRARY)) {
		SAY(finding, "the unit has LD_PRELOAD, but its process was started without");
		REMEDY(finding, "sudo systemctl restart %s", finding->unit->name);
	} else if (!finding->environ_known && (reason == REASON_ENVIRONMENT || reason == REASON_UNEXPLAINED)) {
		SAY(finding,
		    "libebb.so is not in the process, and its environment cannot be read: some programs write over it");
		REMEDY(finding, "see whether it was started with LD_PRELOAD, and what the loader wrote to stderr then");
	} else if (reason == REASON_ENVIRONMENT ||
		   (finding->environ_known && !wanted && reason == REASON_UNEXPLAINED)) {
		SAY(finding,
		    finding->preload[0] ? "LD_PRELOAD of the process does not name libebb.so: %.400s"
					: "LD_PRELOAD is not in its environment%.0s",
		    finding->preload);
		REMEDY(finding,
		       finding->unit ? "ebb env --systemd --unit %s says how to set it"
				     : "start it with it (ebb env says how); sudo, su, cron and env -i drop it%.0s",
		       finding->unit ? finding->unit->name : "");
	} else if (reason == REASON_UNEXPLAINED) {
		SAY(finding, "LD_PRELOAD=%.300s was given, and the loader did not take it", finding->preload);
		REMEDY(finding,
		       "see whether the file is there for the service (RootDirectory=, ProtectHome=, a container), "
		       "and what the loader wrote to stderr when it started");
	} else {
		SAY(finding, "%s", ebbi_preload_sentence(reason));
		if (reason == REASON_MUSL)
			REMEDY(finding, "ebb env --for %d finds the libebb.so for musl", (int)finding->pid);
	}
}

static void judge(struct finding *finding)
{
	const struct process_allocator *other = other_malloc(finding);

	if (!finding->library[0] && !finding->in_program) {
		judge_absent(finding);
	} else if (other) {
		finding->code = EXIT_NOT_UNDER_EBB;
		SAY(finding, "libebb.so is loaded, but malloc is that of %s, in %s, which comes first",
		    ebbi_allocator_name(other->id), other->in_program ? "the program itself" : other->file);
		REMEDY(finding, "%s",
		       other->in_program ? "build the program without its allocator"
					 : "put libebb.so first in LD_PRELOAD");
	} else if (finding->snapshot_error == -EPERM || finding->snapshot_error == -EACCES) {
		finding->code = EXIT_NOT_MEASURED;
		SAY(finding, "libebb.so is loaded, but its figures may not be read");
		REMEDY(finding, "run ebb as the user of the process or as root, or give it CAP_SYS_PTRACE");
	} else if (finding->snapshot_error == -EPROTO) {
		finding->code = 0;
		SAY(finding, "under Ebb, of another version than this ebb: its figures (layout %u) are not understood",
		    finding->version);
	} else if (finding->snapshot_error == -ENODATA) {
		finding->code = 0;
		SAY(finding, "under Ebb; it has published no figures yet");
	} else if (finding->snapshot_error == -ESTALE || (finding->snapshot_error != 0 && finding->library_deleted)) {
		finding->code = 0;
		SAY(finding, "under Ebb, with a library that was replaced on disk since");
		REMEDY(finding, "restart it to run on the new one");
	} else if (finding->snapshot_error != 0) {
		finding->code = EXIT_NOT_MEASURED;
		SAY(finding, "libebb.so is loaded, but its figures cannot be read: %s",
		    strerror(-finding->snapshot_error));
	} else {
		finding->code = 0;
		SAY(finding, "under Ebb");
	}
	if (finding->code == 0 && strstr(finding->conf, "budget:") && !strstr(finding->conf, "budget:0") &&
	    finding->snapshot_error == 0 && finding->snapshot.budget_bytes == 0)
		REMEDY(finding,
		       "EBB_CONF asks for a budget, and none is in force: its stderr says why, in one line from when it started");
}

/* --- Output ------------------------------------------------------------------------------ */

/* glibc's is in every process, and serves nobody beside another malloc. */
static bool is_another(const struct process_allocator *allocator)
{
	return allocator->id != ALLOCATOR_EBB && allocator->id != ALLOCATOR_GLIBC;
}

static void row(const char *name, const char *value)
{
	if (value[0])
		printf("  %-12s %s\n", name, value);
}

static void print_text(const struct finding *finding)
{
	const struct ebb_snapshot *snapshot = &finding->snapshot;
	struct style style = ebbi_style_for(STDOUT_FILENO);
	char text[FORMAT_BYTES], others[512] = "";
	size_t length = 0;
	bool figures = finding->snapshot_error == 0 && (finding->library[0] || finding->in_program);

	printf("%s%s%s (%d%s%s): %s%s%s%s\n", style.bold, finding->command, style.off, (int)finding->pid,
	       finding->unit ? ", " : "", finding->unit ? finding->unit->name : "",
	       finding->code == 0 ? style.good : style.warn,
	       finding->code == EXIT_NOT_UNDER_EBB ? "not under Ebb: " : "", finding->sentence, style.off);
	row("library", finding->in_program ? "in the program (libebb.a)" : finding->library);
	row("LD_PRELOAD", finding->preload);
	row("EBB_CONF", finding->conf);
	if (figures) {
		row("budget", snapshot->budget_bytes ? ebbi_format_bytes(text, snapshot->budget_bytes, false) : "none");
		row("live", ebbi_format_bytes(text, snapshot->live_bytes, false));
		row("held", ebbi_format_bytes(text, ebbi_snapshot_held(snapshot), false));
	}
	for (size_t i = 0; i < finding->allocators.count && length < sizeof(others); i++) {
		const struct process_allocator *other = &finding->allocators.all[i];

		if (is_another(other))
			length += (size_t)snprintf(others + length, sizeof(others) - length, "%s%s in %s",
						   length ? ", " : "", ebbi_allocator_name(other->id), other->file);
	}
	row("also loaded", others);
	row("remedy", finding->remedy);
}

static json_t *optional(const char *text)
{
	return text[0] ? ebbi_json_foreign(text) : json_null();
}

static int print_json(const struct finding *finding)
{
	json_t *root = json_object(), *environment = json_object(), *others = json_array();
	bool figures = finding->snapshot_error == 0 && (finding->library[0] || finding->in_program);
	const struct ebb_snapshot *snapshot = &finding->snapshot;
	uint64_t held = figures ? ebbi_snapshot_held(snapshot) : 0;

	json_object_set_new(root, "schema", json_string("ebb.env-check/1"));
	json_object_set_new(root, "pid", json_integer(finding->pid));
	json_object_set_new(root, "unit", finding->unit ? json_string(finding->unit->name) : json_null());
	json_object_set_new(root, "command", ebbi_json_foreign(finding->command));
	json_object_set_new(root, "under_ebb",
			    finding->code == EXIT_NOT_MEASURED ? json_null() : json_boolean(finding->code == 0));
	json_object_set_new(root, "sentence", ebbi_json_foreign(finding->sentence));
	json_object_set_new(root, "remedy", optional(finding->remedy));
	json_object_set_new(root, "library", optional(finding->library));
	json_object_set_new(root, "in_program", json_boolean(finding->in_program));
	json_object_set_new(root, "layout", finding->version ? json_integer(finding->version) : json_null());
	json_object_set_new(root, "budget_bytes",
			    figures ? json_integer((json_int_t)snapshot->budget_bytes) : json_null());
	json_object_set_new(root, "live_bytes", figures ? json_integer((json_int_t)snapshot->live_bytes) : json_null());
	json_object_set_new(root, "held_bytes", figures ? json_integer((json_int_t)held) : json_null());
	for (size_t i = 0; i < finding->allocators.count; i++) {
		if (is_another(&finding->allocators.all[i]))
			json_array_append_new(others, json_string(ebbi_allocator_name(finding->allocators.all[i].id)));
	}
	json_object_set_new(root, "other_allocators", others);
	json_object_set_new(environment, "LD_PRELOAD", optional(finding->preload));
	json_object_set_new(environment, "EBB_CONF", optional(finding->conf));
	json_object_set_new(root, "environment", finding->environ_known ? environment : json_null());
	if (!finding->environ_known)
		json_decref(environment);
	return ebbi_cli_deliver_json(root, /* print= */ true, NULL);
}

/* The process of the unit or number; an exit code after a line when there is none. */
static int find_process(const char *text, struct finding *finding)
{
	char message[OPTIONS_MESSAGE], main_pid[32];
	uint64_t pid = 0;
	int error;

	if (!ebbi_parse_count(text, 1, INT_MAX, &pid)) {
		error = ebbi_unit_read(text, &unit, message);
		if (error != 0) {
			ebbi_cli_complain("%s", message);
			return error == -EINVAL ? EXIT_USAGE : EXIT_NOT_MEASURED;
		}
		finding->unit = &unit;
		ebbi_unit_property(&unit, "MainPID", main_pid, sizeof(main_pid));
		if (!ebbi_parse_count(main_pid, 1, INT_MAX, &pid)) {
			ebbi_cli_complain("%s does not run: sudo systemctl start %s", unit.name, unit.name);
			return EXIT_NOT_MEASURED;
		}
	}
	finding->pid = (pid_t)pid;
	return 0;
}

int ebbi_env_check(const struct env_options *options)
{
	int code = find_process(options->check, &found);
	int error;

	if (code != 0)
		return code;
	error = look(&found);
	if (error != 0) {
		ebbi_cli_complain("process %d: %s%s", (int)found.pid,
				  error == -ENOENT || error == -ESRCH ? "there is none of that number"
								      : strerror(-error),
				  error == -EACCES || error == -EPERM ? ": run ebb as its user or as root" : "");
		return EXIT_NOT_MEASURED;
	}
	judge(&found);
	if (options->json)
		code = print_json(&found);
	else
		print_text(&found);
	code = code ? code : ebbi_cli_flush();
	return found.code ? found.code : code;
}
