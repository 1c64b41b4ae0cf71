/* Promise files: what is understood, and the line that every mistake gets. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "lab/allocator.h"
#include "lab/promise.h"

#define MIB 1048576.0
#define LIMITS "limits: {peak: 60M}\n"

static char message[LAB_MESSAGE];

static int parse(const char *text, struct promise *ret_promise)
{
	message[0] = 0;
	return ebbi_promise_parse(text, strlen(text), "p.yaml", ret_promise, message);
}

/* The text is refused with a line that begins with p.yaml:WHERE: and holds `what`. */
static void check_refused(const char *text, const char *where, const char *what)
{
	struct promise promise;
	char start[64];

	snprintf(start, sizeof(start), "p.yaml:%s: ", where);
	CHECK(parse(text, &promise) == -EINVAL);
	if (strncmp(message, start, strlen(start)) != 0 || !strstr(message, what) || strchr(message, '\n'))
		fprintf(stderr, "got: %s\nwanted: %s...%s\n", message, start, what);
	CHECK(strncmp(message, start, strlen(start)) == 0);
	CHECK(strstr(message, what) != NULL);
	CHECK(strchr(message, '\n') == NULL);
}

TEST(the_least)
{
	struct promise promise;

	CHECK(parse("command: ./server\n" LIMITS, &promise) == 0);
	CHECK(strcmp(promise.command[0], "/bin/sh") == 0 && strcmp(promise.command[2], "./server") == 0);
	CHECK(promise.command[3] == NULL);
	CHECK(promise.runs == 3 && promise.keep == KEEP_EVERY && promise.rest_ns == 5000000000u);
	CHECK(strcmp(promise.allocator, "ebb") == 0 && strcmp(promise.directory, ".") == 0);
	CHECK(promise.ready.kind == READY_IDLE && !promise.load_command && !promise.baseline);
	CHECK(promise.limit_count == 1 && promise.limits[0].figure == PROMISED_PEAK);
	CHECK(promise.limits[0].value == 60 * MIB && !promise.limits[0].ratio);
	CHECK(promise.limits[0].line == 2 && promise.limits[0].column == 10);
	ebbi_promise_free(&promise);
}

TEST(everything)
{
	static const char text[] = "# a comment\n"
				   "name: demo\n"
				   "command: [./server, --port, \"8080\", '']\n"
				   "directory: ../srv\n"
				   "environment:\n"
				   "  PORT: 8080\n"
				   "  EMPTY: ''\n"
				   "allocator: ebb\n"
				   "conf: delay:500ms\n"
				   "budget: 256M\n"
				   "ready:\n"
				   "  http: http://127.0.0.1:8080/up\n"
				   "  timeout: 1m\n"
				   "load: |\n"
				   "  ./a\n"
				   "  ./b\n"
				   "rest: 500ms\n"
				   "grace: 0\n"
				   "runs: 5\n"
				   "keep: median\n"
				   "baseline: base.json\n"
				   "limits:\n"
				   "  boot: 1.5G\n"
				   "  peak: 1.05x\n"
				   "  resting: {most: 64 MiB, keep: every}\n"
				   "  cpu: 2500ms\n"
				   "  accounts:\n"
				   "    requests: 20M\n"
				   "    libz.so.1:\n"
				   "      most: 2x\n"
				   "    held: 5%\n";
	struct promise promise;

	CHECK(parse(text, &promise) == 0);
	CHECK(promise.command[3] && promise.command[3][0] == 0 && !promise.command[4]);
	CHECK(promise.environment.count == 2 && strcmp(promise.environment.items[0].value, "8080") == 0);
	CHECK(promise.ready.kind == READY_HTTP && strcmp(promise.ready.port, "8080") == 0);
	CHECK(promise.ready_timeout_ns == 60000000000u && strcmp(promise.load_command, "./a\n./b\n") == 0);
	CHECK(promise.rest_ns == 500000000u && promise.grace_ns == 0 && promise.runs == 5);
	CHECK(promise.limit_count == 7);
	CHECK(promise.limits[0].value == 1536 * MIB && promise.limits[0].keep == KEEP_MEDIAN);
	CHECK(promise.limits[1].ratio && promise.limits[1].value == 1.05);
	CHECK(promise.limits[2].value == 64 * MIB && promise.limits[2].keep == KEEP_EVERY);
	CHECK(promise.limits[3].figure == PROMISED_CPU && promise.limits[3].value == 2.5);
	CHECK(strcmp(promise.limits[4].account, "requests") == 0 && promise.limits[4].line == 28);
	CHECK(promise.limits[6].value == 256 * MIB * 5 / 100 && !promise.limits[6].ratio);
	CHECK(promise.limits[5].ratio && promise.limits[5].value == 2 && promise.limits[5].keep == KEEP_MEDIAN);
	ebbi_promise_free(&promise);
}

TEST(keys_that_are_wrong)
{
	check_refused("comand: x\n" LIMITS, "1:1", "unknown key 'comand': did you mean command?");
	check_refused("command: x\nlimits: {peek: 6M}\n", "2:10", "did you mean peak?");
	check_refused("command: x\npeak: 6M\n", "2:1", "'peak' does not belong here: put it below limits:");
	check_refused("command: x\nlimits:\n  peak: 6M\n  runs: 2\n", "4:3", "move it to the left margin");
	check_refused("command: x\nfoo_bar: 2\n", "2:1", "unknown key 'foo_bar': a promise has name, command,");
	check_refused("command: x\nruns: 2\nruns: 3\n" LIMITS, "3:1",
		      "'runs' is there twice: the other stands in line 2");
	check_refused("command: x\n[a]: 2\n" LIMITS, "2:1", "cannot be a key");
	check_refused("command: x\n\"a\\nb\": 2\n" LIMITS, "2:1", "unknown key 'a?b'");
	check_refused("runs: 2\n" LIMITS, "1:1", "there is no command: add command: COMMAND");
	check_refused("command: x\n", "1:1", "nothing is promised: add limits:");
	check_refused("command: x\nlimits:\n", "2:8", "limits is nothing here: write its keys below it");
	check_refused("command: x\nlimits: {}\n", "1:1", "nothing is promised");
	check_refused("", "1:1", "this is no promise");
	check_refused("- a\n- b\n", "1:1", "this is no promise");
	check_refused("hello\n", "1:1", "this is no promise");
}

TEST(values_that_are_wrong)
{
	check_refused("command: x\nruns: many\n" LIMITS, "2:7", "runs: 'many': write a number from 1 to 50");
	check_refused("command: x\nruns: 0\n" LIMITS, "2:7", "1 to 50");
	check_refused("command: x\nruns: [1]\n" LIMITS, "2:7", "runs is a list here: write a number");
	check_refused("command: x\nruns:\n" LIMITS, "2:6", "runs is nothing here");
	check_refused("command: x\nrest: 5 parsecs\n" LIMITS, "2:7", "write a time such as 500ms");
	check_refused("command: x\nrest: 1e3\n" LIMITS, "2:7", "write a time such as 500ms");
	check_refused("command: []\n" LIMITS, "1:10", "the command is empty");
	check_refused("command: [a, [b]]\n" LIMITS, "1:14", "a word of the command is a list");
	check_refused("command: {a: b}\n" LIMITS, "1:10", "command is a mapping here");
	check_refused("command: x\nlimits: {peak: 60X}\n", "2:16", "peak: '60X': write a size such as 60M");
	check_refused("command: x\nlimits: {peak: -60M}\n", "2:16", "write a size");
	check_refused("command: x\nlimits: {peak: x}\n", "2:16", "write a size");
	check_refused("command: x\nlimits: {peak: 0x}\n", "2:16", "write a size");
	check_refused("command: x\nlimits: {peak: 1.1x}\n", "2:10", "add baseline: FILE");
	check_refused("command: x\nlimits: {peak: 80%}\n", "2:10", "add budget: 256M");
	check_refused("command: x\nbudget: auto\nlimits: {peak: 80%}\n", "3:10", "none in bytes: add budget: 256M");
	check_refused("command: x\nbudget: 10M\nlimits: {peak: 180%}\n", "3:16", "write a size");
	check_refused("command: x\nlimits: {peak: {keep: median}}\n", "2:16", "has no most");
	check_refused("command: x\nlimits: {peak: {most: 1M, keeps: median}}\n", "2:27", "a limit has most and keep");
	check_refused("command: x\nlimits: {cpu: 60M}\n", "2:15", "write a time such as 2s");
	check_refused("command: x\nlimits: {resting: 60M}\n", "2:10", "there is none: add load: COMMAND");
	check_refused("command: x\nkeep: most\n" LIMITS, "2:7", "write every or median");
	check_refused("command: x\nbudget: 200%\n" LIMITS, "2:9", "a share of the machine such as 50%");
	check_refused("command: x\nbudget: 1M\nallocator: glibc\n" LIMITS, "1:1", "a budget is kept by libebb alone");
	check_refused("command: x\nconf: {delay: 1s}\n" LIMITS, "2:7", "conf is a mapping here: write KEY:VALUE");
	check_refused("command: x\nconf: delay\n" LIMITS, "2:7", "write KEY:VALUE in one word");
	check_refused("command: x\nenvironment: [a]\n" LIMITS, "2:14", "write NAME: value");
	check_refused("command: x\nenvironment: {a=b: c}\n" LIMITS, "2:15", "leave out the '='");
	check_refused("command: x\nready: {tcp: ':1', log: a}\nload: a\n" LIMITS, "1:1", "give one");
	check_refused("command: x\nready: {tcp: ':99999'}\nload: a\n" LIMITS, "1:1", "99999");
	check_refused("command: x\nready: {log: a}\n" LIMITS, "1:1", "add load: COMMAND");
	check_refused("command: x\nload: {command: a, minimum: 5}\n" LIMITS, "2:20", "add work: REGEX");
	check_refused("command: x\nload: {work: '(a', command: a}\n" LIMITS, "1:1", "load.work:");
	check_refused("command: x\nload: {work: '([0-9]+)'}\n" LIMITS, "1:1", "add command: to load:");
	check_refused("command: x\nload: {work: '([0-9]+)', command: a, minimum: 1.5}\n" LIMITS, "2:47",
		      "a number such as 1000");
	check_refused("command: x\nready: soon\n" LIMITS, "2:8", "ready is a text here: write its keys below it");
}

TEST(yaml_that_is_wrong)
{
	check_refused("command: x\n\truns: 3\n", "2:1", "indent with blanks, not with tabs");
	check_refused("command: x\n runs: 3\n", "2:6", "indent less");
	check_refused("limits:\n    peak: 1M\n  boot: 1M\n", "3:3", "keys of one mapping begin in one column");
	check_refused("command: a: b\n", "1:11", "quotes around a value that holds ': '");
	check_refused("command: 'x\n", "2:1", "not closed");
	check_refused("command: [a, b\n", "2:1", "no YAML");
	check_refused("command: &a x\n", "1:10", "anchors and aliases");
	check_refused("command: *a\n", "1:10", "anchors and aliases");
	check_refused("a: &a [x,x]\nb: [*a,*a]\n", "1:4", "anchors and aliases");
	check_refused("command: !!binary aGk=\n", "1:10", "tags (!) are not taken");
	check_refused("command: x\n---\ncommand: y\n", "2:1", "one promise a file");
	check_refused("command: \"a\\0b\"\n", "1:10", "NUL");
	check_refused("a: [[[[[[[[[[[[[[]]]]]]]]]]]]]]\n", "1:11", "nested too deeply");
}

TEST(what_is_no_text)
{
	struct promise promise;
	char *large = malloc(YAML_BYTES + 2);
	size_t length = 0;

	CHECK(ebbi_promise_parse("a: \xff\xfe", 5, "p.yaml", &promise, message) == -EINVAL);
	CHECK(strstr(message, "UTF-8") != NULL);
	memset(large, 'a', YAML_BYTES + 1);
	CHECK(ebbi_promise_parse(large, YAML_BYTES + 1, "p.yaml", &promise, message) == -EINVAL);
	CHECK(strstr(message, "larger than 64 KiB") != NULL);
	/* As deep as it will go, and as many nodes as fit. */
	memset(large, '[', YAML_BYTES);
	CHECK(ebbi_promise_parse(large, YAML_BYTES, "p.yaml", &promise, message) == -EINVAL);
	large[length++] = '[';
	while (length + 2 < YAML_BYTES) {
		large[length++] = 'a';
		large[length++] = ',';
	}
	CHECK(ebbi_promise_parse(large, length, "p.yaml", &promise, message) == -EINVAL);
	CHECK(strstr(message, "too much for a promise") != NULL);
	free(large);
	CHECK(ebbi_promise_read("/nonexistent/p.yaml", &promise, message) == -ENOENT);
	CHECK(strstr(message, "ebb check --init") != NULL);
	CHECK(ebbi_promise_read("/", &promise, message) < 0);
}

TEST(paths_begin_at_the_file)
{
	struct promise promise = {.path = "a/b/p.yaml"};
	char path[64];

	ebbi_promise_path(&promise, "base.json", path, sizeof(path));
	CHECK(strcmp(path, "a/b/base.json") == 0);
	ebbi_promise_path(&promise, "/x", path, sizeof(path));
	CHECK(strcmp(path, "/x") == 0);
	promise.path = "p.yaml";
	ebbi_promise_path(&promise, ".", path, sizeof(path));
	CHECK(strcmp(path, ".") == 0);
}

int main(void)
{
	RUN(the_least);
	RUN(everything);
	RUN(keys_that_are_wrong);
	RUN(values_that_are_wrong);
	RUN(yaml_that_is_wrong);
	RUN(what_is_no_text);
	RUN(paths_begin_at_the_file);
	return check_report();
}
