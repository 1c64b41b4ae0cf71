/*
 * tap.h: a process that stands in the way of somebody's output: hands it on, looks for a text or for the work done in
 * it, keeps its end.
 *
 * Owns: nothing once a function has returned; the caller waits for the pid and closes the descriptor.
 * It is a process of its own so that the one that measures neither waits for a slow reader nor grows.
 * Threading: one thread; forks. Errors: negative errno.
 */
#ifndef EBBI_LAB_TAP_H
#define EBBI_LAB_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TAP_TAIL 2048

/* What a tap tells, in memory that both share; read it when the tap has ended. */
struct tapped {
	bool has_work;
	double work;
	size_t tail_length;
	char tail[TAP_TAIL]; /* the last bytes that came */
};

struct tap_plan {
	int to_fd;        /* -1: the bytes go nowhere */
	const char *text; /* seen for the first time: one byte is written to seen_fd; NULL: none */
	int seen_fd;
	const char *work; /* an expression that ebbi_workscan_check has passed; NULL: none */
	struct tapped *tapped;
};

/* Until the end of file. *ret_fd is the end to write to. */
int ebbi_tap_spawn(const struct tap_plan *plan, pid_t *ret_tap, int *ret_fd);

#endif
