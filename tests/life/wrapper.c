/*
 * A library that wraps malloc, as tracers and profilers do: preloaded before the allocator, it finds the
 * real functions with dlsym(RTLD_NEXT). It prints its count at exit and fails when it saw nothing.
 */
#include "check.h"

typedef void *malloc_fn(size_t);
typedef void free_fn(void *);
typedef void *realloc_fn(void *, size_t);
typedef void *calloc_fn(size_t, size_t);

static unsigned long calls;

static void *next(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	CHECK(symbol != NULL, "no %s behind the wrapper", name);
	return symbol;
}

void *malloc(size_t size)
{
	static malloc_fn *real;

	if (real == NULL)
		real = (malloc_fn *)next("malloc");
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	return real(size);
}

void free(void *pointer)
{
	static free_fn *real;

	if (real == NULL)
		real = (free_fn *)next("free");
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	real(pointer);
}

void *realloc(void *pointer, size_t size)
{
	static realloc_fn *real;

	if (real == NULL)
		real = (realloc_fn *)next("realloc");
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	return real(pointer, size);
}

/* dlsym itself may call calloc for its error text; it copes with NULL. */
void *calloc(size_t count, size_t size)
{
	static calloc_fn *real;
	static bool looking;

	if (real == NULL) {
		if (looking)
			return NULL;
		looking = true;
		real = (calloc_fn *)next("calloc");
	}
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	return real(count, size);
}

__attribute__((destructor)) static void report(void)
{
	CHECK(calls > 1000, "the wrapper saw %lu calls", calls);
	check_note("the wrapper saw %lu calls\n", calls);
}
