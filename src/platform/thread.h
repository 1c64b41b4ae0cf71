/*
 * thread.h: threads below the C library, and signals.
 *
 * Owns: starting a thread without pthread_create, which allocates and takes the C library's locks,
 * and so may not be called from inside malloc or free. Never: runs before it is asked; touches errno.
 * Threading: as each function says. Errors: negative errno.
 *
 * A bare thread has no C library state: its function may make raw system calls only. It does have
 * zeroed memory where thread-local variables lie, so that checked builds' lock ranks work.
 * In sanitizer builds it is a pthread, since their runtime must know every thread.
 */
#ifndef EBBI_PLATFORM_THREAD_H
#define EBBI_PLATFORM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/vm.h"

/*
 * Start `run`, which must not return unless it is to end, on a small stack, all signals blocked and
 * without capabilities. *tid is the thread's id while it lives and 0 after: the kernel clears it,
 * also when an exec or the end of a vfork child takes the thread away.
 *
 * One such thread at a time, since it runs where the last one did: the caller sees to it that *tid is 0 and
 * that nobody else starts one.
 */
int ebbi_thread_start(const struct ebbi_vm *vm, void (*run)(void *), void *argument, uint32_t *tid);

/* Let others run. */
void ebbi_thread_yield(void);

/* This process's id, asked anew: right after fork and in vfork children. */
uint32_t ebbi_thread_process_id(void);

/* Block every signal of the calling thread and put the old mask back: for work that a handler must not interrupt. */
void ebbi_signals_block(uint64_t *ret_mask);
void ebbi_signals_restore(const uint64_t *mask);

#endif
