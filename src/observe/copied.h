/*
 * copied.h: which pages parent and child each have a copy of, since one of the two wrote to them after the fork.
 *
 * Owns: nothing. Never: stops or changes a process, reads what lies on its pages but the 16 bytes that tell a fork from a
 * new program.
 * Threading: one thread. Errors: -ENOENT: the child runs a program of its own; others as procread.h.
 *
 * A page counts when it is private, anonymous, and mapped by nobody else in both processes at the same address. So pages that
 * both made anew since the fork count as well, and those that a second child shares with the first do not.
 */
#ifndef EBBI_OBSERVE_COPIED_H
#define EBBI_OBSERVE_COPIED_H

#include <stdint.h>
#include <sys/types.h>

int ebbi_copied_bytes(pid_t parent, pid_t child, uint64_t *ret_bytes);

#endif
