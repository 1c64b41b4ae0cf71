/*
 * clock.h: monotonic time.
 *
 * Owns: nothing. Never: touches errno. Any thread, also one without a C library context.
 * Errors: none (CLOCK_MONOTONIC cannot fail; where a filter refuses it, time stands at 0).
 */
#ifndef EBBI_PLATFORM_CLOCK_H
#define EBBI_PLATFORM_CLOCK_H

#include <stdint.h>

/* Nanoseconds since an arbitrary start; does not run while the machine is suspended. */
uint64_t ebbi_clock_now_ns(void);

#endif
