/*
 * rights.h: does this thread still have the rights of its process?
 *
 * Owns: nothing. Never: allocates, touches errno; may be called by a bare thread.
 * Threading: any thread. Errors: they count as the same rights.
 *
 * setuid(3) and its kin change the rights of the threads that the C library knows. A thread made below it
 * keeps those it was born with, and has to notice by itself.
 */
#ifndef EBBI_PLATFORM_RIGHTS_H
#define EBBI_PLATFORM_RIGHTS_H

#include <stdbool.h>

/* What a thread that never changes its own rights needs to ask only once. */
struct ebbi_rights {
	bool plain; /* real and effective ids are the same, and it has no capabilities */
};

/* Those of the calling thread. */
struct ebbi_rights ebbi_rights_own(void);

/* The calling thread's effective user or group is not that of the process's first thread. */
bool ebbi_rights_differ(const struct ebbi_rights *own);

#endif
