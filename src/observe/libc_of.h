/*
 * libc_of.h: which C library a program runs on, and which one a shared library was built for.
 *
 * Owns: nothing. Never: runs anything. Threading: any thread.
 * Errors: LIBC_UNKNOWN when the file cannot be read, is no ELF file or says nothing.
 */
#ifndef EBBI_OBSERVE_LIBC_OF_H
#define EBBI_OBSERVE_LIBC_OF_H

enum libc_kind { LIBC_UNKNOWN, LIBC_GLIBC, LIBC_MUSL };

/* By the loader it asks for. A script is not followed to its interpreter. */
enum libc_kind ebbi_libc_of_program(const char *path);

/* By the C library it needs. */
enum libc_kind ebbi_libc_of_library(const char *path);

const char *ebbi_libc_word(enum libc_kind libc);

#endif
