/*
 * glibc_walk.h: the parts of glibc_heap.h that work on any source of pages: arenas, chunks, fastbins, caches.
 *
 * Owns: what struct glibc_search points to; ebbi_glibc_search_free.
 * Never: trusts what it reads: every pointer is checked against the mappings, every loop has an end.
 * Threading: one thread. Errors: -ENOMEM and those of the source; what makes no sense is not walked.
 */
#ifndef EBBI_OBSERVE_GLIBC_WALK_H
#define EBBI_OBSERVE_GLIBC_WALK_H

#include "observe/glibc_heap.h"
#include "observe/pagewindow.h"

#define GLIBC_HEAP_BYTES ((uint64_t)64 << 20)
#define GLIBC_FASTBINS 10
#define GLIBC_STATE_TOP 96 /* offset of the top's address in struct malloc_state */

/* Part of the address space, as maps has it: private and writable. */
struct glibc_range {
	uint64_t start;
	uint64_t end;
	bool brk;  /* [heap] */
	bool data; /* of the C library or of the program, its zeroed part included: where the main arena may be */
};

/* What lies in one piece: [heap], or a heap of another arena. */
struct glibc_piece {
	uint64_t arena; /* address of its state; 0: not known */
	uint64_t first; /* the first chunk */
	uint64_t end;
	bool main;
	uint8_t *fast; /* a bit for each 16 bytes that are the start of a chunk in a fastbin; NULL: none */
};

/* The fields of malloc_state that count here. */
struct glibc_state {
	uint64_t address;
	uint64_t fastbins[GLIBC_FASTBINS];
	uint64_t top;
	uint64_t next;
};

struct glibc_search {
	struct page_window window;
	struct glibc_range *ranges;
	size_t range_count;
	struct glibc_piece *pieces;
	size_t piece_count;
	struct glibc_state *states;
	size_t state_count;
	uint64_t busy_until_ns; /* of this thread's CPU time; nothing is begun behind it, nor behind the next */
	uint64_t until_ns;      /* monotonic */
};

/* Fills pieces and states from the ranges. */
int ebbi_glibc_find(struct glibc_search *search);
void ebbi_glibc_search_free(struct glibc_search *search);

/* Marks the chunks in fastbins. *ret_known: all lists were followed to their ends. */
int ebbi_glibc_fastbins(struct glibc_search *search, bool *ret_known);

/* Walks one piece and adds to the arena; thread caches that lie in it are added to the heap. */
int ebbi_glibc_walk(struct glibc_search *search, const struct glibc_piece *piece, struct glibc_arena *arena,
		    struct glibc_heap *heap);

/* Blocks in mappings of their own. */
int ebbi_glibc_mapped(struct glibc_search *search, struct glibc_heap *heap);

uint64_t ebbi_glibc_clock(int clock);
bool ebbi_glibc_late(const struct glibc_search *search);
struct glibc_piece *ebbi_glibc_piece_at(const struct glibc_search *search, uint64_t address);

#endif
