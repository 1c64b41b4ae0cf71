/*
 * holdings.h: who holds the resident pages of a process, as far as its mappings tell.
 *
 * Owns: nothing; one struct of some 50 KiB is filled.
 * Never: stops or changes the process.
 * Threading: one thread.
 * Errors: as procread.h. What may not be read of a thread or an object leaves its pages with "anonymous".
 *
 * Invariant: the rss_bytes of all entries sum up to rss_bytes, which is what smaps says of all mappings.
 *
 * An object is a file of which some mapping may be executed: all its mappings, and its zeroed data (.bss), which the
 * program headers tell from whatever was mapped behind it. A stack is the one mapping that a thread's stack pointer lies
 * in, which the kernel tells of a thread that sleeps; that of one that runs at each of three looks stays anonymous and is
 * counted in stacks_unsure. So do two threads in one mapping, which are on no stacks of their own.
 */
#ifndef EBBI_OBSERVE_HOLDINGS_H
#define EBBI_OBSERVE_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum holder {
	HOLDER_OBJECT,    /* the binary, a library */
	HOLDER_STACK,     /* by the thread's name */
	HOLDER_HEAP,      /* named by libebb */
	HOLDER_BRK,       /* [heap] */
	HOLDER_ANONYMOUS, /* without a name */
	HOLDER_NAMED,     /* [anon:...] of somebody else */
	HOLDER_FILE,      /* a file that is no object */
	HOLDER_SHARED,    /* shared memory: shm, memfd, SysV, shared anonymous */
	HOLDER_KERNEL,    /* vdso and the like */
};

#define HOLDINGS_MOST 256
#define HOLDING_NAME 64

struct holding {
	enum holder holder;
	char name[HOLDING_NAME]; /* without directory; "others" for what found no room */
	uint32_t mappings;
	uint64_t rss_bytes;
};

struct holdings {
	size_t count;
	struct holding all[HOLDINGS_MOST];
	uint64_t rss_bytes;
	uint64_t lazyfree_bytes;
	uint64_t swap_bytes;
	size_t stacks;        /* recognised, the main one too */
	size_t stacks_unsure; /* threads whose stack could not be told */
};

int ebbi_holdings_read(pid_t pid, struct holdings *ret_holdings);

/* The sum of one holder. */
uint64_t ebbi_holdings_of(const struct holdings *holdings, enum holder holder);

#endif
