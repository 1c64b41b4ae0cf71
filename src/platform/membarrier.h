/*
 * membarrier.h: one full memory barrier on every thread of the process, without asking the threads.
 *
 * Owns: whether this process may use MEMBARRIER_CMD_PRIVATE_EXPEDITED, and the call itself.
 * Never does: read an option (the caller passes what it wants), fall back to something weaker, or
 * touch errno or thread-local storage.
 * Threading: open and close while no other thread uses the module (boot; tests); barrier and
 * available from any thread, the scavenger's bare one too.
 * Errors: 0 or a negative errno. A refusal is remembered: after the first one nothing is available
 * until the next open, and whoever relied on the barrier must take its documented fallback. Not so, for a few
 * times in a row, one for want of memory (ENOMEM, EAGAIN): the next call may succeed.
 * Invariants: barrier returned 0 => between its call and its return every running thread of the
 * process passed a full memory barrier, and every other one does before it runs user code again.
 */
#ifndef EBBI_PLATFORM_MEMBARRIER_H
#define EBBI_PLATFORM_MEMBARRIER_H

#include <stdbool.h>

/* The kernel's side, replaceable by tests. Each returns 0 or more on success, else a negative errno. */
struct ebbi_membarrier_ops {
	long (*query)(void);            /* mask of the commands the kernel knows */
	long (*register_private)(void); /* announce that this process will use the barrier */
	long (*barrier)(void);
};

/* The real ones. */
extern const struct ebbi_membarrier_ops ebbi_membarrier_system;

/* Ask whether the kernel can and register. ops NULL means the real ones. Again after fork if wanted. */
int ebbi_membarrier_open(const struct ebbi_membarrier_ops *ops) __attribute__((warn_unused_result));

/* From now on refuse (option membarrier:0). */
void ebbi_membarrier_close(void);

/* Would barrier try? */
bool ebbi_membarrier_available(void);

/* The barrier. -ENOSYS when not available. */
int ebbi_membarrier_barrier(void) __attribute__((warn_unused_result));

#endif
