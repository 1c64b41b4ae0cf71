/*
 * report.h: lines on stderr, and the ends that misuse leads to.
 *
 * Owns: the exact words of every fatal error. Never: allocates, uses stdio, takes a lock.
 * Threading: any thread, any context including signal handlers; one write(2) a line, so that lines
 * of several threads do not mix. Errors: a closed stderr is ignored.
 *
 * Each ebbi_report_* function below the first two prints one line and ends the process with SIGABRT.
 */
#ifndef EBBI_PLATFORM_REPORT_H
#define EBBI_PLATFORM_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* Write `length` bytes to stderr. */
void ebbi_report_write(const char *text, size_t length);

/* The process ends with SIGABRT; the line was written before. */
_Noreturn void ebbi_report_abort(void);

/* In the four below WHAT is what the pointer was passed to: "free", "realloc", "malloc_usable_size". */
/* "ebb: double free of P: a N-byte slot that is already free", or "invalid WHAT of P: ..." */
_Noreturn void ebbi_report_free_slot(const char *what, const void *pointer, size_t slot_bytes);
/* The same with "a block of large pages that is already free" */
_Noreturn void ebbi_report_free_run(const char *what, const void *pointer);
/* "ebb: invalid WHAT of P: inside a N-byte slot that starts at S" */
_Noreturn void ebbi_report_inside_slot(const char *what, const void *pointer, size_t slot_bytes, const void *start);
/* "ebb: invalid WHAT of P: inside a block of N bytes that starts at S" */
_Noreturn void ebbi_report_inside_block(const char *what, const void *pointer, size_t block_bytes, const void *start);
/* "ebb: invalid WHAT of P: not memory of this heap" */
_Noreturn void ebbi_report_foreign(const char *what, const void *pointer);
/* "ebb: overflow of P: offset O of a block of N bytes was written, found by WHAT" */
_Noreturn void ebbi_report_overflow(const char *what, const void *pointer, size_t bytes, size_t offset);
/* "ebb: overflow of P: the end of its N bytes of room was written, found by WHAT" */
_Noreturn void ebbi_report_overflow_end(const char *what, const void *pointer, size_t room_bytes);
/* "ebb: underflow of P: in front of a block of N bytes was written, found by WHAT" */
_Noreturn void ebbi_report_underflow(const char *what, const void *pointer, size_t bytes);
/* "ebb: use after free of P: offset O of a N-byte slot was written while it was free" */
_Noreturn void ebbi_report_use_after_free(const void *pointer, size_t offset, size_t slot_bytes);
/* "ebb: use after free of P: offset O of a block of N bytes was written while it was free" */
_Noreturn void ebbi_report_use_after_free_block(const void *pointer, uintptr_t address, size_t bytes);
/* "ebb: invalid WHAT of P: a block of N bytes, said to have M" */
_Noreturn void ebbi_report_size(const char *what, const void *pointer, size_t bytes, size_t said_bytes);
/* "ebb: internal error: WHAT": a check of the allocator's own invariants failed. */
_Noreturn void ebbi_report_internal(const char *what);

#endif
