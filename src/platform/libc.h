/*
 * libc.h: what glibc's malloc.h declares, also where the C library is another.
 *
 * Owns: declarations. Never: holds code. Threading, errors: none.
 *
 * The library defines the whole of glibc's malloc family on every C library: on musl a program that declares
 * malloc_trim or mallinfo2 by itself finds them, and one library serves both kinds of build.
 */
#ifndef EBBI_PLATFORM_LIBC_H
#define EBBI_PLATFORM_LIBC_H

#include <malloc.h>
#include <stdio.h>

#if !defined(__GLIBC__)

struct mallinfo {
	int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

struct mallinfo2 {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

int malloc_trim(size_t pad);
struct mallinfo mallinfo(void);
struct mallinfo2 mallinfo2(void);
int malloc_info(int options, FILE *stream);
void malloc_stats(void);
int mallopt(int parameter, int value);
void *pvalloc(size_t bytes);

#endif

#endif
