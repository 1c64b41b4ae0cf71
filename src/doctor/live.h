/*
 * live.h: facts of a living process.
 *
 * Owns: nothing. Never: changes the process; stops it unless `stop` is asked for.
 * Threading: one thread.
 * Errors: negative errno with one line: -ESRCH (gone), -EACCES and -EPERM (rights: the line says which to grant).
 */
#ifndef EBBI_DOCTOR_LIVE_H
#define EBBI_DOCTOR_LIVE_H

#include <sys/types.h>

#include "doctor/facts.h"
#include "observe/look.h"

/*
 * A control group counts all its processes, and the page cache of those that are gone. Its figures are facts only when
 * it has a limit, or holds nobody but this process and its children, and when these have most of what is anonymous in it.
 */
int ebbi_facts_from_process(struct facts *facts, pid_t pid, bool stop, struct look *ret_look, char *ret_message);

/*
 * The files of a process, of its group and of the machine, as files.h knows them, into a new directory, and the facts
 * that no file holds as ledger.json. Neither its environment nor its arguments are among them.
 */
int ebbi_facts_save(const struct facts *facts, pid_t pid, const char *directory, char *ret_message);

#endif
