/*
 * child.h: run something in a child process that is expected to die, and compare its last words.
 *
 * Owns: the child. Threading: from a test's main thread while it is the only one. Errors: counted as
 * failed checks by CHECK_DIES, for which the test includes check.h.
 */
#ifndef TESTS_UNIT_CHILD_H
#define TESTS_UNIT_CHILD_H

#include <stddef.h>

/*
 * Run body(argument) in a child. What it wrote to stderr (cut, with a final NUL) in ret_text. Returns the signal that
 * ended it, 0 when it returned from body.
 */
int child_run(void (*body)(void *), void *argument, char *ret_text, size_t capacity);

/* body(argument) must end by SIGABRT after exactly `line` and a newline on stderr. */
#define CHECK_DIES(body, argument, line) \
	do { \
		char check_text[1024]; \
		int check_signal = child_run((body), (argument), check_text, sizeof(check_text)); \
		char check_line[1024]; \
		CHECK_EQ(check_signal, 6); \
		snprintf(check_line, sizeof(check_line), "%s\n", (line)); \
		CHECK_STR_EQ(check_text, check_line); \
	} while (0)

#endif
