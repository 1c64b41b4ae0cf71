/*
 * refusal.h: the line that says why an allocation was refused, and who has the memory.
 *
 * Owns: its words. Never: allocates, uses stdio. Threading: any thread that is outside of its cache; costs some
 * milliseconds, since the kernel is asked for each mapping. Errors: none.
 */
#ifndef EBBI_STATS_REFUSAL_H
#define EBBI_STATS_REFUSAL_H

#include <stddef.h>

/*
 * `bytes` were refused at the limit of `account`, or, of 0, at the budget's line; 0 bytes: the line, or the soft limit, was
 * passed, and the program goes on. One line on stderr.
 */
void ebbi_refusal_explain(size_t bytes, int account);

#endif
