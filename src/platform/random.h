/*
 * random.h: bytes that nobody outside the process can guess.
 *
 * Owns: nothing. Never: waits (early in the machine's life the kernel's generator may not be ready), allocates.
 * Threading: any thread. Errors: none: where getrandom(2) is refused, what the kernel put behind AT_RANDOM, stirred
 * with the clock and the process's id, has to do.
 */
#ifndef EBBI_PLATFORM_RANDOM_H
#define EBBI_PLATFORM_RANDOM_H

#include <stdint.h>

uint64_t ebbi_random_word(void);

#endif
