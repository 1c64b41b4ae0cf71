/*
 * glibc_heap.h: the heap of a process on glibc's malloc, walked from outside: what is live, what is free, what a trim
 * would return.
 *
 * Owns: nothing between calls. Never: stops the process, unless it was asked to (`stop`); runs anything in it; touches a
 * page that is not resident; guesses: what could not be followed chunk by chunk is `not_walked_bytes`.
 * Threading: one thread. Errors: -ENOENT: there is no heap of glibc; -ESRCH, -EPERM, -EACCES: as procread.h; -ENOMEM;
 * -ENOTSUP: pages of another size. It ends after 1.8 s of CPU time or 8 s: the rest is not walked.
 *
 * Layouts of glibc 2.27 to 2.41, 64-bit; they are not told by a version but recognised: a heap_info at each 64 MiB names
 * its arena, an arena's bins point to themselves, every chunk leads to the next one, and a free one says its size twice.
 * A running process may change a chunk under our eyes: the walk then goes back and tries again, a bounded number of
 * times.
 *
 * Blocks in a thread's cache (tcache) and in fastbins look live by their neighbours' bits. Fastbins are followed from
 * the arena; caches are counted in the threads' own records, which lie in the heap. Where that was not possible the
 * flags say so, and live_bytes is too high by up to the bound.
 *
 * What malloc_trim(0) does: it merges what fastbins hold, gives back the whole pages within each free chunk of all
 * arenas, and lowers the top of the main arena alone. Thread caches stay.
 */
#ifndef EBBI_OBSERVE_GLIBC_HEAP_H
#define EBBI_OBSERVE_GLIBC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In chunks, as glibc counts them: a block is up to 24 bytes larger than was asked for. */
struct glibc_arena {
	bool main;
	uint64_t address;      /* of its state; 0: not found */
	uint64_t heaps;        /* pieces of address space */
	uint64_t system_bytes; /* of them */
	uint64_t resident_bytes;
	uint64_t live_bytes;
	uint64_t live_chunks;
	uint64_t free_bytes; /* in bins and fastbins, resident or not; without the top */
	uint64_t fast_bytes; /* of these, in fastbins */
	uint64_t top_bytes;  /* at the end, never handed out since */
	uint64_t
		trimmable_bytes; /* resident, in whole pages, returned by malloc_trim(0), the main arena's top included */
	uint64_t top_kept_bytes; /* resident in the top and not returned: of other arenas */
	uint64_t pinned_bytes;   /* free, on pages that hold something else, too */
	uint64_t not_walked_bytes;
};

#define GLIBC_ARENAS 256

struct glibc_heap {
	bool stopped;                /* the process stood still meanwhile: the figures are of one moment */
	bool fast_known;             /* all fastbins were followed to their ends */
	bool caches_known;           /* a record was found for each thread that may have one */
	uint64_t cached_bytes;       /* in thread caches; counted in live_bytes of the arenas */
	uint64_t cached_bound_bytes; /* at most so much in caches whose record was not found */
	uint64_t caches;
	uint64_t mapped_chunks; /* large blocks in mappings of their own, as far as they are recognised */
	uint64_t mapped_bytes;
	uint64_t mapped_resident_bytes;
	uint64_t retries;
	uint64_t took_ns;
	struct glibc_arena total; /* sums; `main` and `address` say nothing */
	size_t arena_count;
	struct glibc_arena arenas[GLIBC_ARENAS]; /* the first ones; the sums are of all */
};

int ebbi_glibc_heap(pid_t pid, bool stop, struct glibc_heap *ret_heap);

#endif
