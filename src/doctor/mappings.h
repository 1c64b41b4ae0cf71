/*
 * mappings.h: facts from smaps: binary and libraries, data files, stacks, arenas.
 *
 * Owns: nothing. Never: asks the process; what a mapping is for is told by its name, its rights and its neighbour.
 * Threading: one thread. Errors: -EINVAL with one line when no mapping was understood.
 *
 * A thread's stack is anonymous memory right behind a small mapping that nobody may touch; an arena of glibc is
 * anonymous memory at a multiple of 64 MiB. Both are patterns: a program may make such mappings for other ends.
 */
#ifndef EBBI_DOCTOR_MAPPINGS_H
#define EBBI_DOCTOR_MAPPINGS_H

#include "doctor/facts.h"
#include "observe/text.h"

int ebbi_facts_from_smaps(struct facts *facts, const struct text *text, char *ret_message);

#endif
