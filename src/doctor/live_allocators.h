/*
 * live_allocators.h: facts of the allocators in a living process: which they are, and what their own records say.
 *
 * Owns: nothing. Never: changes the process. Threading: one thread.
 * Errors: none: what cannot be read says nothing.
 */
#ifndef EBBI_DOCTOR_LIVE_ALLOCATORS_H
#define EBBI_DOCTOR_LIVE_ALLOCATORS_H

#include <sys/types.h>

#include "doctor/facts.h"

/* Those that memory may come from: a malloc that another one stands in front of serves nobody. */
void ebbi_facts_from_allocators(struct facts *facts, pid_t pid);

/*
 * Where malloc is glibc's: live, free, what a trim would give back, from a walk through its heap. A heap of which more
 * than a quarter could not be walked says nothing. Negative errno with a line: the process could not be stopped.
 */
int ebbi_facts_from_glibc(struct facts *facts, pid_t pid, bool stop, char *ret_message);

#endif
