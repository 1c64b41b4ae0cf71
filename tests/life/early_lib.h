/*
 * early_lib.h: a library whose constructor allocates and whose fork handlers do.
 *
 * Owns: its text and its handlers' blocks. Never: anything else. Threading: fork as usual.
 * Errors: CHECK in early_check(). Invariants: it is constructed before the program, and, because
 * ld.so constructs a preloaded library after the others, perhaps before the allocator too.
 */
#ifndef EBB_TESTS_EARLY_LIB_H
#define EBB_TESTS_EARLY_LIB_H

/* Allocated in the library's constructor; the caller frees it, once. */
char *early_text(void);
/* Forks and checks that the fork handlers, which allocate and free, all ran. */
void early_check(void);

#endif
