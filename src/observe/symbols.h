/*
 * symbols.h: names for addresses of another process's code, from its files and their debug information.
 *
 * Owns: the open files of the modules that were asked about, until ebbi_symbols_close.
 * Never: reads the process's memory. Takes names from a file that is not the one that ran: build ids must agree.
 * Files are looked for where the process sees them (/proc/PID/root), debug information by build id and by debug link,
 * beside the file and under /usr/lib/debug, there and here.
 * Threading: one thread.
 * Errors: what cannot be named has no frames. Without libdw nothing can: ebbi_dwarf_missing says so.
 */
#ifndef EBBI_OBSERVE_SYMBOLS_H
#define EBBI_OBSERVE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/profile.h"

struct symbols;

/* One function that the address lies in. Valid during the call alone. */
struct symbol_frame {
	const char *linkage; /* the name in the symbol table, or NULL */
	const char *name;    /* as in the source */
	const char *file;    /* NULL when it is not known */
	unsigned line;
};
typedef void ebbi_symbol_fn(void *context, const struct symbol_frame *frame);

/* NULL when memory is short. The profile's modules must outlive it, wherever the profile is moved to. */
struct symbols *ebbi_symbols_open(pid_t pid, const struct profile *profile);
void ebbi_symbols_close(struct symbols *symbols);

/* Calls `each` for the innermost inlined function first, for the one that has code of its own last. */
void ebbi_symbols_find(struct symbols *symbols, uint32_t module, uint64_t address, ebbi_symbol_fn *each, void *context);

/* How C++ and Rust write a name of the symbol table; NULL when it is none of theirs. The caller frees it. */
char *ebbi_demangle(const char *name);

#endif
