/*
 * allocators.h: which allocators are in a process, in libraries or linked into the program, and which one is malloc.
 *
 * Owns: nothing. Never: runs or changes the process. Says of an allocator how full it is: see glibc_heap.h, snapshot.h.
 * Threading: one thread. Errors: as procread.h; -ENOMEM. Files that could not be read are counted, and then an allocator
 * may be missing; one that is named is there.
 * Cost: the symbols of every object once: some milliseconds for a hundred libraries.
 *
 * An allocator is known by symbols that it alone defines; in a file without such by texts of its messages; by the file's
 * name last. malloc is what the first object of the loader's order defines (loaded.h): all objects that call it get that
 * one. An allocator under names of its own (a prefix, a hidden copy in a library) serves those who call these.
 */
#ifndef EBBI_OBSERVE_ALLOCATORS_H
#define EBBI_OBSERVE_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/elf_file.h"

enum allocator_id {
#define ALLOCATOR(id, name, what) ALLOCATOR_##id,
#include "observe/allocators.def"
#undef ALLOCATOR
	ALLOCATOR_OTHER, /* a malloc that none of these marks fits */
	ALLOCATOR_COUNT
};

enum allocator_evidence { EVIDENCE_SYMBOL, EVIDENCE_TEXT, EVIDENCE_FILE_NAME };

struct process_allocator {
	enum allocator_id id;
	enum allocator_evidence evidence;
	bool in_program; /* linked into the program itself */
	bool is_malloc;  /* what malloc is in this process */
	bool runtime;    /* of a language, beside malloc */
	char prefix[24]; /* jemalloc under another name: "duckdb_je_", "_rjem_"; "": its own, or not known */
	char file[64];   /* the file name it lies in */
};

#define ALLOCATORS_MOST 16

struct process_allocators {
	bool certain;  /* the loader's order was read: is_malloc is a fact, not a guess from the order of addresses */
	size_t unread; /* objects whose file could not be read */
	size_t count;
	struct process_allocator all[ALLOCATORS_MOST];
};

const char *ebbi_allocator_name(enum allocator_id id);

int ebbi_allocators(pid_t pid, struct process_allocators *ret_allocators);

/* The one that is malloc; NULL when it is not known. */
const struct process_allocator *ebbi_allocators_malloc(const struct process_allocators *allocators);

/* One file: adds what is in it. *ret_malloc: it defines malloc, for others to see when it is a library. */
int ebbi_allocators_in_file(const struct elf_reader *reader, const char *file, bool program,
			    struct process_allocators *allocators, bool *ret_malloc);

#endif
