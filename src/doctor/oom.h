/*
 * oom.h: facts from the kernel's report about a process it killed.
 *
 * Owns: nothing. Threading: one thread. Errors: -EINVAL with one line when no process was killed in it.
 *
 * The line "Killed process N (name) total-vm:...kB, anon-rss:...kB, ..." is in kB; the table of tasks above it counts in
 * pages; the group's figures ("anon 123", "anon_thp 456") are bytes, or kB where they say so.
 */
#ifndef EBBI_DOCTOR_OOM_H
#define EBBI_DOCTOR_OOM_H

#include "doctor/facts.h"
#include "observe/text.h"

int ebbi_facts_from_oom(struct facts *facts, const struct text *text, char *ret_message);

#endif
