/*
 * unwind.h: the stack of the calling thread, as addresses and the modules they lie in.
 *
 * Owns: walking it by the files' unwind tables (accounts/cfi.h), a small cache of what those said, and, for code of no file,
 * by the frame pointers that compilers of such code keep.
 *
 * Never: allocates, takes a lock once the modules are known, calls into the loader, reads memory that is not there: a page of the
 * stack is asked about before it is read first, so that a wrong table or none yields a short stack and not a fault.
 * Needs about 1 KiB of stack and the result's.
 *
 * Threading: any, signal handlers too. Errors: none: a stack ends where it cannot be followed.
 */
#ifndef EBBI_ACCOUNTS_UNWIND_H
#define EBBI_ACCOUNTS_UNWIND_H

#include <stdint.h>

#define EBBI_FRAMES_MOST 64u

/* Innermost frame first. */
struct ebbi_stack {
	unsigned count;
	uint16_t modules[EBBI_FRAMES_MOST];
	uint64_t addresses[EBBI_FRAMES_MOST]; /* return addresses: the call lies before them */
};

/* The frames outside of this library, where it is one by itself. */
void ebbi_unwind(struct ebbi_stack *ret_stack);

#endif
