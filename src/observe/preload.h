/*
 * preload.h: whether a preloaded allocator really is in a process, and if not, why.
 *
 * Owns: nothing. Never: runs or changes anything.
 * Threading: any thread.
 * Errors: what cannot be told is PRELOAD_UNKNOWN, with a reason of its own.
 */
#ifndef EBBI_OBSERVE_PRELOAD_H
#define EBBI_OBSERVE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum preload_state {
	PRELOAD_NONE,    /* none was asked for */
	PRELOAD_UNKNOWN, /* the process ended, or may not be looked at, before it could be told */
	PRELOAD_TAKEN,
	PRELOAD_MISSED,
};

enum preload_reason {
	REASON_NONE,
	REASON_TOO_SHORT,   /* ended before it could be looked at */
	REASON_NO_RIGHTS,   /* /proc/PID/maps is closed to us */
	REASON_STATIC,      /* no dynamic loader, so nobody reads LD_PRELOAD */
	REASON_SETUID,      /* set-user-ID, set-group-ID or file capabilities: the loader ignores it */
	REASON_MUSL,        /* loaded by another libc than the library was built for */
	REASON_CLASS,       /* 32-bit program, 64-bit library, or another machine */
	REASON_ENVIRONMENT, /* LD_PRELOAD is not in the environment of the process */
	REASON_UNEXPLAINED,
};

/* The sentence that belongs to a reason, and the short word for JSON. */
const char *ebbi_preload_sentence(enum preload_reason reason);
const char *ebbi_preload_word(enum preload_reason reason);

/* Allocator libraries that were found in a process, by file name: "libjemalloc.so.2". */
#define PRELOAD_OTHERS 4
struct preload_look {
	enum preload_state state;
	size_t other_count;
	char others[PRELOAD_OTHERS][64];
};

/*
 * Looks through the mappings of `pid`. `path` is the library's real path, or NULL for none.
 * 0 or negative errno, with PRELOAD_UNKNOWN then.
 */
int ebbi_preload_look(pid_t pid, const char *path, struct preload_look *ret_look);

/*
 * What an executable file says about preloading: REASON_NONE when nothing is in the way. Scripts
 * are followed to their interpreter, up to four times.
 */
enum preload_reason ebbi_preload_obstacle(const char *executable);

/* Why the library is not in the living process `pid`. `executable` is used when /proc is closed. */
enum preload_reason ebbi_preload_explain(pid_t pid, const char *executable);

/* Where execvp would find `command`: the path, or false when nowhere. */
bool ebbi_preload_which(const char *command, char *ret_path, size_t size);

#endif
