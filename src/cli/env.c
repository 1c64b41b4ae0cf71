#include "cli/env.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/unit.h"
#include "lab/allocator.h"
#include "lab/units.h"
#include "observe/preload.h"
#include "report/run_json.h"
#include "report/service_lines.h"

static struct env_options options;
static struct service service;
static struct unit unit;
static struct allocator allocator;
static char conf[1024];
static char library[PATH_MAX];

__attribute__((format(printf, 2, 3))) static int refuse(int code, const char *format, ...)
{
	char line[1500];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	ebbi_cli_complain("%s", line);
	return code;
}

/* --- What was asked for ------------------------------------------------------------------ */

static bool is_budget(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t bytes;

	if (strcmp(text, "auto") == 0)
		return true;
	if (digits > 0 && digits <= 3 && strcmp(text + digits, "%") == 0)
		return atoi(text) >= 1 && atoi(text) <= 100;
	return ebbi_parse_size(text, &bytes) && bytes >= 1048576 && !strpbrk(text, " iB");
}

static int choose_conf(void)
{
	if (options.budget && !is_budget(options.budget))
		return refuse(
			EXIT_USAGE,
			"--budget '%.60s': write a size of 1M or more, such as 256M, a share of the machine such as 50%%, or auto",
			options.budget);
	if (options.conf && (!strchr(options.conf, ':') || options.conf[0] == ':' || !ebbi_service_plain(options.conf)))
		return refuse(EXIT_USAGE,
			      "--conf '%.60s': write KEY:VALUE, several with commas between them, such as delay:500ms",
			      options.conf);
	if (!options.budget && !options.conf)
		return 0;
	if (snprintf(conf, sizeof(conf), "%s%s%s%s", options.budget ? "budget:" : "",
		     options.budget ? options.budget : "", options.budget && options.conf ? "," : "",
		     options.conf ? options.conf : "") >= (int)sizeof(conf))
		return refuse(EXIT_USAGE, "--conf: too long");
	service.conf = conf;
	return 0;
}

/* The program of --for, and what is in the way of any preload there. */
static int look_at_program(enum libc_kind *ret_libc)
{
	char path[PATH_MAX];
	uint64_t pid;
	enum preload_reason reason;
	struct stat file;

	if (ebbi_parse_count(options.program, 1, INT_MAX, &pid))
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	else if (!ebbi_preload_which(options.program, path, sizeof(path)))
		return refuse(EXIT_NOT_MEASURED,
			      "--for %.300s: not found: write a program in PATH, its path, or the number of a process",
			      options.program);
	if (access(path, R_OK) != 0)
		return refuse(EXIT_NOT_MEASURED, "--for %.300s: %s", options.program,
			      errno == ENOENT ? "there is no such process, or it has no program" : strerror(errno));
	reason = ebbi_preload_obstacle(path);
	/* Whoever will start it may be another user than we are. */
	if (stat(path, &file) == 0 && (file.st_mode & (S_ISUID | S_ISGID)) != 0)
		reason = REASON_SETUID;
	if (reason != REASON_NONE && reason != REASON_MUSL)
		return refuse(EXIT_NOT_MEASURED, "%.300s cannot be put under Ebb by a preload: %s", options.program,
			      ebbi_preload_sentence(reason));
	*ret_libc = reason == REASON_MUSL ? LIBC_MUSL : LIBC_GLIBC;
	return 0;
}

static int choose_libc(void)
{
	if (options.libc && options.program)
		return refuse(EXIT_USAGE, "--libc and --for exclude each other: --for finds the libc out");
	if (options.program)
		return look_at_program(&service.libc);
	if (!options.libc) {
		service.libc = ebbi_libc_of_program("/proc/self/exe");
		return 0;
	}
	if (strcmp(options.libc, "glibc") != 0 && strcmp(options.libc, "musl") != 0)
		return refuse(EXIT_USAGE, "--libc '%.60s': write glibc or musl", options.libc);
	service.libc = options.libc[0] == 'm' ? LIBC_MUSL : LIBC_GLIBC;
	return 0;
}

/* --- The library ------------------------------------------------------------------------- */

static bool try_library(const char *path)
{
	return ebbi_libc_of_library(path) == service.libc && realpath(path, library);
}

/* One of musl lies where that libc's own libraries do, or beside. */
static bool find_for_musl(void)
{
	static const char *const places[] = {
		"/usr/local/lib/musl/libebb.so", "/usr/lib/musl/lib/libebb.so", "/usr/local/musl/lib/libebb.so",
		"/usr/local/lib/libebb.so",      "/usr/lib/libebb.so",          "/lib/libebb.so"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (try_library(places[i]))
			return true;
	}
	return false;
}

static int find_library(void)
{
	char message[LAB_MESSAGE];

	if (options.library) {
		enum libc_kind built = ebbi_libc_of_library(options.library);

		if (!realpath(options.library, library))
			return refuse(EXIT_NOT_MEASURED, "--library %.300s: %s", options.library, strerror(errno));
		if (built != service.libc)
			return refuse(EXIT_NOT_MEASURED, "--library %.300s: it was built for %s, and %s is wanted",
				      options.library,
				      built == LIBC_UNKNOWN ? "no libc that is known" : ebbi_libc_word(built),
				      ebbi_libc_word(service.libc));
	} else if (service.libc == LIBC_MUSL && !find_for_musl()) {
		return refuse(
			EXIT_NOT_MEASURED,
			"there is no libebb.so for musl here, and one for glibc does not load there: build it (cmake --preset musl; cmake --build --preset musl), and give its path: --library build/musl/lib/libebb.so");
	} else if (service.libc != LIBC_MUSL) {
		if (ebbi_allocator_find("ebb", &allocator, message) != 0)
			return refuse(
				EXIT_NOT_MEASURED, "%.900s",
				strstr(message, "was not found")
					? "libebb.so was not found, neither in ../lib beside this ebb nor in the library directories: make install puts it there, or give its path: --library FILE"
					: message);
		snprintf(library, sizeof(library), "%s", allocator.path);
	}
	service.library = library;
	if (!ebbi_service_plain(library) || strchr(library, ':'))
		return refuse(
			EXIT_NOT_MEASURED,
			"%.600s: a path with such characters cannot stand everywhere: install it elsewhere, such as in /usr/local/lib",
			library);
	return 0;
}

/* --- The unit ---------------------------------------------------------------------------- */

static bool below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 && path[length] == '/';
}

static void note(const char *text)
{
	if (service.note_count < sizeof(service.notes) / sizeof(service.notes[0]))
		service.notes[service.note_count++] = text;
}

static bool is_on(const char *value)
{
	return value[0] && strcmp(value, "no") != 0;
}

/* What of this very unit is in the way; a unit that systemctl does not know yet may still be written. */
static int look_at_unit(void)
{
	static char name[sizeof(unit.name)];
	char message[OPTIONS_MESSAGE], value[4096];

	if (!options.unit)
		return 0;
	if (ebbi_unit_name(options.unit, name, sizeof(name), message) != 0)
		return refuse(EXIT_USAGE, "--unit: %s", message);
	service.unit = name;
	if (ebbi_unit_read(options.unit, &unit, message) != 0)
		return 0;
	ebbi_unit_property(&unit, "RootDirectory", value, sizeof(value));
	if (value[0] && strcmp(value, "/") != 0)
		note("RootDirectory= is set: the library must lie below it, at this path");
	ebbi_unit_property(&unit, "RootImage", value, sizeof(value));
	if (value[0])
		note("RootImage= is set: the library must lie in the image, at this path");
	ebbi_unit_property(&unit, "ProtectHome", value, sizeof(value));
	if (is_on(value) && strcmp(value, "read-only") != 0 && (below(library, "/home") || below(library, "/root")))
		note("ProtectHome= hides the library: install it in /usr/local/lib");
	ebbi_unit_property(&unit, "PrivateTmp", value, sizeof(value));
	if (is_on(value) && (below(library, "/tmp") || below(library, "/var/tmp")))
		note("PrivateTmp= hides the library: install it in /usr/local/lib");
	ebbi_unit_property(&unit, "UnsetEnvironment", value, sizeof(value));
	if (strstr(value, "LD_PRELOAD"))
		note("UnsetEnvironment= takes LD_PRELOAD away: leave it out there");
	ebbi_unit_property(&unit, "Environment", value, sizeof(value));
	if (strstr(value, "LD_PRELOAD=") && !strstr(value, "libebb"))
		note("LD_PRELOAD is set already: this file must come later, and carry what was there behind a colon");
	return 0;
}

/* --- Output ------------------------------------------------------------------------------ */

static int print_json(void)
{
	json_t *environment = json_object(), *notes = json_array(), *root = json_object();

	json_object_set_new(environment, "LD_PRELOAD", ebbi_json_foreign(service.library));
	if (service.conf)
		json_object_set_new(environment, "EBB_CONF", ebbi_json_foreign(service.conf));
	for (size_t i = 0; i < service.note_count; i++)
		json_array_append_new(notes, json_string(service.notes[i]));
	json_object_set_new(root, "schema", json_string("ebb.env/1"));
	json_object_set_new(root, "libc", json_string(ebbi_libc_word(service.libc)));
	json_object_set_new(root, "library", ebbi_json_foreign(service.library));
	json_object_set_new(root, "environment", environment);
	json_object_set_new(root, "unit", service.unit ? json_string(service.unit) : json_null());
	json_object_set_new(root, "in_the_way", notes);
	return ebbi_cli_deliver_json(root, /* print= */ true, NULL);
}

static int make_lines(void)
{
	int code = choose_conf();

	if (code == 0)
		code = choose_libc();
	if (code == 0)
		code = find_library();
	if (code == 0)
		code = look_at_unit();
	if (code != 0)
		return code;
	if (options.json)
		code = print_json();
	else if (options.systemd || options.unit)
		ebbi_service_systemd(stdout, &service);
	else if (options.docker)
		ebbi_service_docker(stdout, &service);
	else
		ebbi_service_shell(stdout, &service);
	return code ? code : ebbi_cli_flush();
}

int ebbi_cli_env(char **argv)
{
	char message[OPTIONS_MESSAGE];
	char **operands;
	bool help;

	if (ebbi_options_parse(ebbi_verb_find("env"), argv, &options, &operands, &help, message) != 0)
		return refuse(EXIT_USAGE, "%s", message);
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("env"));
		return ebbi_cli_flush();
	}
	if (operands[0])
		return refuse(EXIT_USAGE,
			      "what is %.200s? ebb env takes options alone: --for PROGRAM, --unit NAME, --check PID",
			      operands[0]);
	if (options.systemd + options.docker + options.sh > 1)
		return refuse(EXIT_USAGE, "--systemd, --docker and --sh exclude each other: give one");
	if (options.unit && (options.docker || options.sh))
		return refuse(EXIT_USAGE, "--unit goes with --systemd");
	if (options.check)
		return ebbi_env_check(&options);
	return make_lines();
}
