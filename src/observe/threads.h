/*
 * threads.h: the threads of a process: their names and where their stack pointers are.
 *
 * Owns: nothing; fills what it is given. Never: stops a thread.
 * Threading: any. Errors: as procread.h; a thread that ended meanwhile is left out.
 */
#ifndef EBBI_OBSERVE_THREADS_H
#define EBBI_OBSERVE_THREADS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define THREADS_MOST 1024

struct thread_seen {
	pid_t tid;
	char name[16];
	uint64_t stack_pointer; /* 0: it runs, or may not be asked */
};

/* At most `room` of them; *ret_count is how many there were. */
int ebbi_threads_read(pid_t pid, struct thread_seen *ret_threads, size_t room, size_t *ret_count);

/* The stack pointer in the text of /proc/PID/task/TID/syscall; 0 when it is not there. */
uint64_t ebbi_parse_stack_pointer(const char *bytes, size_t length);

#endif
