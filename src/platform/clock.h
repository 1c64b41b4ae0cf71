/*
 * clock.h: monotonic time, and a thread's own.
 *
 * Owns: nothing. Never: touches errno. Any thread, also one without a C library context.
 * Errors: none (these clocks cannot fail; where a filter refuses it, time stands at 0).
 */
#ifndef EBBI_PLATFORM_CLOCK_H
#define EBBI_PLATFORM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds since an arbitrary start; does not run while the machine is suspended. */
uint64_t ebbi_clock_now_ns(void);

/* The same without the kernel where it can be read so, by a thread of the C library's. */
uint64_t ebbi_clock_now_quick_ns(void);

/* Nanoseconds that the calling thread has run. */
uint64_t ebbi_clock_thread_ns(void);

/* True for one caller, at most once in `every_ns`. *last_ns, relaxed and at first 0, is when that was. */
bool ebbi_clock_turn_try(uint64_t *last_ns, uint64_t every_ns);

#endif
