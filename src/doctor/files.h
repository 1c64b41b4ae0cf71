/*
 * files.h: facts from the kernel's text files: of a living process, or of a directory where somebody saved them.
 *
 * Owns: nothing. Never: trusts a number; follows a symbolic link out of a saved directory's files: they are only read.
 * Threading: one thread.
 * Errors: a file that is not there says nothing. -EINVAL with one line when one is there and is not what its name says;
 * -EACCES and the like likewise. -ESRCH: the process is gone.
 *
 * A saved directory holds the files of /proc/PID under their names (status, smaps_rollup, smaps), the files of its control
 * group under theirs (memory.stat, memory.current, memory.max, or those of version 1), /proc/meminfo, the text of
 * /sys/kernel/mm/transparent_hugepage/enabled as "thp", the kernel's lines about a killed process as "oom", and what the
 * application and its allocator say as ledger.json (ledger_file.h). All of them are optional.
 */
#ifndef EBBI_DOCTOR_FILES_H
#define EBBI_DOCTOR_FILES_H

#include "doctor/facts.h"
#include "observe/cgroup.h"

#define FACTS_MESSAGE 512

/* What stands in the text of one file; `name` without directory. -EINVAL with a line: it is not that. */
int ebbi_facts_from_text(struct facts *facts, const char *name, const char *bytes, size_t length, char *ret_message);

/* All files of /proc/PID, of a control group or of a saved directory that are known by name. */
int ebbi_facts_from_files(struct facts *facts, const char *directory, char *ret_message);

/* One file, known by `name`, that lies at `path`. *ret_found tells whether it was there. */
int ebbi_facts_from_file(struct facts *facts, const char *path, const char *name, bool *ret_found, char *ret_message);

/* The figures of a control group. */
void ebbi_facts_from_group(struct facts *facts, const struct cgroup_memory *group);

/* Every file name that is known, in order; NULL after the last one. */
const char *ebbi_facts_file_name(size_t index);

#endif
