/*
 * callbacks.h: whom the program wants to be called, or woken, when it comes near its budget.
 *
 * Owns: their list. Never: calls into the program while a lock is held or the thread is inside its cache; calls two
 * callbacks at a time, or one from within one. Threading: any thread. Errors: negative errno.
 */
#ifndef EBBI_HEAP_CALLBACKS_H
#define EBBI_HEAP_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build.h"

#define EBBI_CALLBACKS_MOST 16u

typedef void ebbi_callback(unsigned pressure);

/* 1 when somebody is to be called: relaxed. */
extern EBBI_OWN uint32_t ebbi_callbacks_due;

/* At `level` (1 to 1000). -EINVAL: no such level, no callback. -ENOSPC: there are too many. */
int ebbi_callbacks_add(ebbi_callback *callback, unsigned level);
/* -ENOENT: it is not there. It may still be running in another thread. */
int ebbi_callbacks_remove(ebbi_callback *callback);
/* Returns the descriptor, which the caller closes. */
int ebbi_callbacks_add_descriptor(unsigned level);

/* The pressure has changed: marks those whose level was reached, wakes descriptors. Async-signal-safe, no lock. */
void ebbi_callbacks_note(unsigned before, unsigned pressure);

/*
 * Call those that are due, or (`all`) every one. By a thread that is outside of the heap. Returns false when there was
 * none, when another thread is in one, or the caller itself.
 */
bool ebbi_callbacks_call(unsigned pressure, bool all);

/* In the child of a fork: nobody else is in a callback. */
void ebbi_callbacks_forget(void);

#endif
