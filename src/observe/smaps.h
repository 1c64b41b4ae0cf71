/*
 * smaps.h: /proc/PID/smaps, one mapping after another.
 *
 * Owns: a parser keeps the head line of the mapping it is in.
 * Never: allocates. Threading: one thread a parser.
 * Errors: as procread.h. Lines that are not understood are stepped over.
 * Cost: the kernel walks the page tables while it holds the process's map lock for reading: some 12 ms for 512 MiB.
 */
#ifndef EBBI_OBSERVE_SMAPS_H
#define EBBI_OBSERVE_SMAPS_H

#include "observe/procfs.h"

struct smaps_mapping {
	struct proc_map map; /* its path lies in the parser */
	uint64_t rss_bytes;
	uint64_t anonymous_bytes;
	uint64_t lazyfree_bytes;
	uint64_t huge_bytes;
	uint64_t dirty_bytes; /* shared and private */
	uint64_t swap_bytes;
};

/* Returns 0 to go on. */
typedef int ebbi_smaps_fn(void *context, const struct smaps_mapping *mapping);

struct smaps_parser {
	ebbi_smaps_fn *each;
	void *context;
	bool open; /* `now` has a head and waits for its end */
	struct smaps_mapping now;
	char head[4352]; /* a path of 4096 bytes, and what stands before it */
};

/* The next line of the file; the mapping before is handed on when another begins. */
int ebbi_smaps_line(struct smaps_parser *parser, const struct text *line);

/* No more lines. */
int ebbi_smaps_end(struct smaps_parser *parser);

int ebbi_proc_smaps(pid_t pid, ebbi_smaps_fn *each, void *context);

#endif
