/*
 * expect: runs one program and judges how it ended and what it said on stderr.
 *
 *   expect [--signal NAME | --exit N] [--lines N] [--match REGEX]... [--absent REGEX]
 *          [--env KEY=VALUE]... [--clear-env] [--close-stderr] [--seconds N] -- PROGRAM ARGS...
 *
 * --lines N    stderr has exactly N lines, each ended by a newline
 * --match RE   some line matches the extended regular expression (anchored at both ends)
 * --absent RE  no line matches
 * In a RE, %P and %S stand for what the program wrote on stdout after "pointer=" and "start=".
 *
 * It is never run under the allocator itself: the library under test is named with
 * --env LD_PRELOAD=... and so reaches PROGRAM only.
 */
#include "check.h"

#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MAX_ITEMS 32
#define OUTPUT_BYTES 65536

struct expectation {
	int signal; /* 0: ends by exit */
	int exit_code;
	int lines; /* -1: any number */
	unsigned seconds;
	bool clear_env;
	bool close_stderr;
	int matches;
	const char *match[MAX_ITEMS];
	const char *absent;
	int envs;
	char *env[MAX_ITEMS];
	char **command;
};

static int signal_number(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {{"ABRT", SIGABRT}, {"SEGV", SIGSEGV}, {"KILL", SIGKILL}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].number;
	CHECK(false, "unknown signal %s", name);
}

static void parse_value(struct expectation *want, const char *key, char *value)
{
	CHECK(value != NULL, "%s needs a value", key);
	if (strcmp(key, "--signal") == 0) {
		want->signal = signal_number(value);
	} else if (strcmp(key, "--exit") == 0) {
		want->exit_code = atoi(value);
	} else if (strcmp(key, "--lines") == 0) {
		want->lines = atoi(value);
	} else if (strcmp(key, "--seconds") == 0) {
		want->seconds = (unsigned)atoi(value);
	} else if (strcmp(key, "--absent") == 0) {
		want->absent = value;
	} else if (strcmp(key, "--match") == 0) {
		CHECK(want->matches < MAX_ITEMS, "too many --match");
		want->match[want->matches++] = value;
	} else {
		CHECK(strcmp(key, "--env") == 0, "unknown option %s", key);
		CHECK(want->envs < MAX_ITEMS, "too many --env");
		want->env[want->envs++] = value;
	}
}

static void parse(struct expectation *want, char **arguments)
{
	for (; *arguments != NULL && strcmp(*arguments, "--") != 0; arguments++) {
		if (strcmp(*arguments, "--clear-env") == 0) {
			want->clear_env = true;
		} else if (strcmp(*arguments, "--close-stderr") == 0) {
			want->close_stderr = true;
		} else {
			parse_value(want, arguments[0], arguments[1]);
			arguments++;
		}
	}
	CHECK(*arguments != NULL && arguments[1] != NULL, "no program after --");
	want->command = arguments + 1;
}

__attribute__((noreturn)) static void child(const struct expectation *want, int stdout_fd, int stderr_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (want->clear_env)
		clearenv();
	for (int i = 0; i < want->envs; i++)
		putenv(want->env[i]);
	dup2(stdout_fd, STDOUT_FILENO);
	dup2(stderr_fd, STDERR_FILENO);
	if (want->close_stderr)
		close(STDERR_FILENO);
	execv(want->command[0], want->command);
	_exit(127);
}

/* Reads until the program and all its children closed stderr; kills it when time is up. */
static size_t collect(int fd, pid_t pid, unsigned seconds, char *output)
{
	uint64_t end = now_ns() + seconds * 1000000000ull;
	size_t length = 0;

	for (;;) {
		uint64_t now = now_ns();
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		char scrap[4096];

		if (now >= end || poll(&ready, 1, (int)((end - now) / 1000000u) + 1) == 0) {
			kill(pid, SIGKILL);
			check_write(output, (int)length);
			CHECK(false, "still running after %u s", seconds);
		}
		size_t room = OUTPUT_BYTES - 1 - length;
		ssize_t got = read(fd, room > 0 ? output + length : scrap, room > 0 ? room : sizeof(scrap));
		if (got <= 0)
			break;
		if (room > 0)
			length += (size_t)got;
	}
	output[length] = 0;
	return length;
}

/* An emulator says that its program died; that line is not the program's. */
static size_t without_emulator(char *output, size_t length)
{
	char *line = strstr(output, "qemu: uncaught target signal");
	char *end = line == NULL ? NULL : strchr(line, '\n');

	if (end == NULL)
		return length;
	memmove(line, end + 1, strlen(end + 1) + 1);
	return strlen(output);
}

static char said[OUTPUT_BYTES]; /* on stdout */

/* Appends the word that follows `key` on the program's stdout. */
static void append_said(char *text, size_t size, const char *key)
{
	const char *found = strstr(said, key);
	size_t length = strlen(text);

	CHECK(found != NULL, "the program did not say %s", key);
	found += strlen(key);
	for (size_t i = 0; length + 1 < size && found[i] > ' '; i++)
		text[length++] = found[i];
	text[length] = 0;
}

/* "^(expression)$" with %P and %S replaced. */
static void anchor(const char *expression, char *text, size_t size)
{
	size_t length;

	strcpy(text, "^(");
	for (const char *at = expression; *at != 0; at++) {
		if (at[0] == '%' && (at[1] == 'P' || at[1] == 'S')) {
			append_said(text, size, *++at == 'P' ? "pointer=" : "start=");
			continue;
		}
		length = strlen(text);
		CHECK(length + 4 < size, "the expression is too long");
		text[length] = *at;
		text[length + 1] = 0;
	}
	strcat(text, ")$");
}

static bool line_matches(const char *expression, const char *output)
{
	char anchored[1024];
	char copy[OUTPUT_BYTES];
	regex_t regex;
	bool found = false;

	anchor(expression, anchored, sizeof(anchored));
	CHECK(regcomp(&regex, anchored, REG_EXTENDED | REG_NOSUB) == 0, "bad regex %s", expression);
	strcpy(copy, output);
	for (char *save = NULL, *line = strtok_r(copy, "\n", &save); line != NULL && !found;
	     line = strtok_r(NULL, "\n", &save))
		found = regexec(&regex, line, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

static int count_lines(const char *output)
{
	int lines = 0;

	for (const char *at = output; *at != 0; at++)
		lines += *at == '\n';
	return lines;
}

static void judge(const struct expectation *want, int status, const char *output, size_t length)
{
	if (want->signal != 0)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == want->signal, "wanted signal %d, got wait status 0x%x",
		      want->signal, (unsigned)status);
	else
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == want->exit_code,
		      "wanted exit code %d, got wait status 0x%x", want->exit_code, (unsigned)status);
	CHECK(length == 0 || output[length - 1] == '\n', "stderr does not end with a newline");
	if (want->lines >= 0)
		CHECK(count_lines(output) == want->lines, "wanted %d lines on stderr, got %d", want->lines,
		      count_lines(output));
	for (int i = 0; i < want->matches; i++)
		CHECK(line_matches(want->match[i], output), "no line on stderr matches: %s", want->match[i]);
	if (want->absent != NULL)
		CHECK(!line_matches(want->absent, output), "a line on stderr matches: %s", want->absent);
}

int main(int argc, char **argv)
{
	struct expectation want = {.lines = -1, .seconds = 30};
	static char output[OUTPUT_BYTES];
	int out[2];
	int err[2];
	int status;

	CHECK(argc > 1, "see the head of expect.c for usage");
	parse(&want, argv + 1);
	CHECK(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0, "pipe");
	pid_t pid = fork();
	CHECK(pid >= 0, "fork");
	if (pid == 0)
		child(&want, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	/* What it says on stdout fits into the pipe; it is read when all is over. */
	size_t length = collect(err[0], pid, want.seconds, output);
	length = without_emulator(output, length);
	CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
	ssize_t said_length = read(out[0], said, sizeof(said) - 1);
	check_write(output, (int)length); /* for the log */
	if (said_length > 0)
		check_write(said, (int)said_length);
	judge(&want, status, output, length);
	return 0;
}
