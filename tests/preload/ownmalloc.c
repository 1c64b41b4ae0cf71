/*
 * ownmalloc.c: a program that brings its own malloc, as programs linked statically to an allocator do.
 *
 *   ownmalloc SECONDS
 *
 * Built three ways: its malloc exported (the dynamic linker finds the program first, so that the preload
 * serves nobody), hidden inside it (its libraries are served by the preload, itself by its own), and static.
 * Prints `own=N library=own|foreign` (who served its own calls and a strdup of libc's), then sleeps.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef EBB_OWN_HIDDEN
#define OWN __attribute__((visibility("hidden")))
#else
#define OWN __attribute__((visibility("default")))
#endif

OWN void *malloc(size_t size);
OWN void free(void *block);
OWN void *calloc(size_t count, size_t size);
OWN void *realloc(void *block, size_t size);
OWN void *memalign(size_t alignment, size_t size);
OWN void *aligned_alloc(size_t alignment, size_t size);
OWN int posix_memalign(void **ret_block, size_t alignment, size_t size);

/* A bump allocator: it never takes back. 16 bytes before a block hold its size. */
static _Alignas(16) unsigned char arena[8 << 20];
static size_t used;
static unsigned calls;
static char *volatile copied; /* kept: a hidden free must not be given libc's block */

static int is_own(const void *block)
{
	return (uintptr_t)block >= (uintptr_t)arena && (uintptr_t)block < (uintptr_t)arena + sizeof(arena);
}

void *malloc(size_t size)
{
	size_t rounded = (size + 31) & ~(size_t)15;
	unsigned char *block = arena + used;

	if (size > sizeof(arena) || rounded > sizeof(arena) - used) {
		errno = ENOMEM;
		return NULL;
	}
	used += rounded;
	calls++;
	memcpy(block, &size, sizeof(size));
	return block + 16;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size); /* the arena is zero and never used twice */
}

void *realloc(void *block, size_t size)
{
	unsigned char *moved = (unsigned char *)malloc(size);
	size_t old;

	if (!block || !moved)
		return moved;
	memcpy(&old, (unsigned char *)block - 16, sizeof(old));
	memcpy(moved, block, old < size ? old : size);
	return moved;
}

void *memalign(size_t alignment, size_t size)
{
	return alignment <= 16 ? malloc(size) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	*ret_block = memalign(alignment, size);
	return *ret_block ? 0 : ENOMEM;
}

int main(int argc, char **argv)
{
	char *volatile mine = (char *)malloc(100);

	copied = strdup("a string of libc's");
	if (!mine || !copied || !is_own(mine))
		return 1;
	printf("own=%u library=%s\n", calls, is_own(copied) ? "own" : "foreign");
	fflush(stdout);
	sleep(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0);
	return 0;
}
