/*
 * dwarf.h: functions and lines of one ELF file, by elfutils' libdw.
 *
 * Owns: the library, which is loaded when the first file is opened, so that it costs those who ask for no names
 * nothing; the file, until ebbi_dwarf_close.
 * Never: looks at a process.
 * Threading: one thread.
 * Errors: NULL when there is no libdw (ebbi_dwarf_missing) or the file is not understood; an address without
 * a name has no frames. Debug information that contradicts itself is libdw's to refuse.
 */
#ifndef EBBI_OBSERVE_DWARF_H
#define EBBI_OBSERVE_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/symbols.h"

struct dwarf_file;

/* Takes the descriptor, also on failure. `path` is where debug links lead from; `debug_path` as libdw has it. */
struct dwarf_file *ebbi_dwarf_open(const char *path, int fd, const char *debug_path);
void ebbi_dwarf_close(struct dwarf_file *file);
bool ebbi_dwarf_missing(void);

/* `address` in the file's own terms. */
void ebbi_dwarf_find(struct dwarf_file *file, uint64_t address, ebbi_symbol_fn *each, void *context);

#endif
