/*
 * guarded.h: large blocks of a hardened heap.
 *
 * Owns: blocks above the size classes, with an inaccessible page behind those of EBBI_GUARDED_LEAST and more, and
 * the freed ones that wait. The shorter ones end in a trailer (slabs/trailer.h) instead.
 *
 * A guarded block lies in a run or a mapping whose last page is the guard. The page map's entry of that page says
 * how long the block is and where it starts: against the guard as far as its alignment allows, so that the
 * first byte past it, or one of the next few, is fatal to touch. In the few bytes between, and in those before the block,
 * stands a pattern that free compares. A block that realloc made has room to grow and the pattern behind it.
 *
 *   base           start                   start + bytes      guard
 *   | pattern (8)  | the program's bytes   | pattern (<= 16)  | no access |
 *
 * Each guard costs two of the mappings that the kernel allows a process: at most a quarter of those are used. Beyond
 * that the last page stays accessible and carries the pattern's other bytes (a soft guard); guards_refused counts them.
 *
 * A freed block is emptied (runs are overwritten, mappings purged), becomes inaccessible as a whole, and waits among at
 * most EBBI_GUARDED_WAITING others until it is reused: whoever uses it in between dies at once. One without a guard
 * stays accessible, and must still be zeros at the end. The scavenger's looks let go of what waited for one.
 *
 * Never: calls the kernel under a lock. Threading: any thread; the list of those that wait is guarded by the lock of
 * struct ebbi_large, which fork holds. Errors: NULL and false without memory; misuse ends the process.
 */
#ifndef EBBI_HEAP_GUARDED_H
#define EBBI_HEAP_GUARDED_H

#include "heap/heap.h"

#define EBBI_GUARDED_LEAST ((size_t)64 << 10)
#define EBBI_GUARDED_WAITING 32u

struct ebbi_guarded_block {
	uintptr_t base; /* of the run or mapping */
	size_t pages;   /* of it, the guard's included */
	size_t room;    /* bytes from base to the guard, or to the end of the trailer */
	char *start;    /* what the program has */
	size_t bytes;   /* that it asked for */
	bool guarded;   /* EBBI_GUARDED_LEAST or more */
	bool soft;      /* but its last page can be touched */
};

/* At boot. */
void ebbi_guarded_init(void);

/* With room for `spare` more bytes. NULL: no memory. */
void *ebbi_guarded_alloc(size_t bytes, size_t spare, size_t align_bytes, enum ebbi_content content);

/*
 * The block that `pointer` lies in the first page of, whose entry is of kind RUN or MAPPING. Ends the process
 * when something wrote past its ends, or it does not start there; `what` is for the line.
 */
struct ebbi_guarded_block ebbi_guarded_judge(const char *what, const void *pointer, uint64_t entry);

/* Where the block starts and how long it is, for explanations: believes what it reads. */
struct ebbi_guarded_block ebbi_guarded_find(uintptr_t base, uint64_t entry);

/* Returns the bytes that will go back. */
size_t ebbi_guarded_free(const struct ebbi_guarded_block *block);

/* Without copying; NULL: nothing has changed. */
void *ebbi_guarded_resize_try(const struct ebbi_guarded_block *block, size_t bytes);

/* One look; as ebbi_large_purge. Nothing is counted as given back: the pages layer does. */
void ebbi_guarded_look(bool everything, size_t *ret_left);

/* For statistics. The large heap's counters know all of these pages as live. */
struct ebbi_guarded_figures {
	size_t waiting_pages; /* of blocks that wait, their guards included */
	size_t held_pages;    /* those of them that are resident, as far as the heap knows */
	size_t guard_pages;   /* inaccessible ones behind live blocks */
	uint64_t refused;     /* guards that there were no mappings for */
};

struct ebbi_guarded_figures ebbi_guarded_count(void);

#endif
