/*
 * environment.h: one variable of the environment, at any time in a process's life.
 *
 * Owns: nothing. Never: allocates; relies on the C library having set `environ`, which it has not when
 * the dynamic loader first calls malloc. Threading: as getenv: not while another thread changes the
 * environment. Errors: false.
 */
#ifndef EBBI_PLATFORM_ENVIRONMENT_H
#define EBBI_PLATFORM_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* The value of `name`, cut to fit, with a final NUL. False when it is not set or cannot be read. */
bool ebbi_environment_read(const char *name, char *ret_value, size_t capacity);

#endif
