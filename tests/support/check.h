/*
 * check.h: what every test program that runs on top of an allocator needs.
 *
 * Owns: CHECK, a small random generator, block patterns and readers of /proc/self.
 * Never: allocates memory, keeps state between calls, or uses stdio, so that it can be used inside
 * signal handlers, constructors and children of a fork.
 * Threading: everything here may be called from any thread.
 * Errors: a failed CHECK prints one line on stderr and ends the process with status 1.
 * Invariants: a test that was told to expect libebb (EBB_TEST_EXPECT=ebb) fails when it runs
 * without it: see check_allocator().
 */
#ifndef EBB_TESTS_CHECK_H
#define EBB_TESTS_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* so this header comes first */
#endif

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What musl does not declare of glibc's, and libebb has all the same. */
#ifndef __GLIBC__
enum {
	M_MXFAST = 1,
	M_TRIM_THRESHOLD = -1,
	M_TOP_PAD = -2,
	M_MMAP_THRESHOLD = -3,
	M_MMAP_MAX = -4,
	M_CHECK_ACTION = -5,
	M_PERTURB = -6,
	M_ARENA_TEST = -7,
	M_ARENA_MAX = -8,
};
struct mallinfo {
	int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
int malloc_trim(size_t pad) __attribute__((weak));
struct mallinfo mallinfo(void) __attribute__((weak));
struct mallinfo2 mallinfo2(void) __attribute__((weak));
int malloc_info(int options, FILE *stream) __attribute__((weak));
void malloc_stats(void) __attribute__((weak));
int mallopt(int parameter, int value) __attribute__((weak));
void *pvalloc(size_t bytes) __attribute__((weak));
#endif

#ifdef EBB_TEST_ON_HEAP
#include "on_heap.h"
#endif

#define CHECK(cond, ...) \
	do { \
		if (__builtin_expect(!(cond), 0)) \
			check_failed(__FILE__, __LINE__, #cond, __VA_ARGS__); \
	} while (0)

static inline void check_write(const char *text, int length)
{
	if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
		return; /* nobody is left to be told */
}

__attribute__((noreturn, noinline, format(printf, 4, 5), unused)) static void check_failed(const char *file, int line,
											   const char *cond,
											   const char *format, ...)
{
	int error = errno;
	char message[256];
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	int length = snprintf(text, sizeof(text), "%s:%d: CHECK(%s) failed: %s (errno %d)\n", file, line, cond, message,
			      error);
	if (length >= (int)sizeof(text))
		length = (int)sizeof(text) - 1;
	check_write(text, length);
	_exit(1);
}

/* A figure for the reader of the test's log. */
__attribute__((format(printf, 1, 2), unused)) static void check_note(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length >= (int)sizeof(text))
		length = (int)sizeof(text) - 1;
	if (length > 0 && write(STDOUT_FILENO, text, (size_t)length) < 0)
		return;
}

/* The compiler forgets all it knows about this pointer: no malloc is optimised away. */
static inline void *hide(void *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

static inline size_t hide_size(size_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* --- Random numbers (splitmix64: any seed is good, no state to warm up) ------------------- */

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline size_t rng_below(struct rng *rng, size_t bound)
{
	return (size_t)(rng_next(rng) % bound);
}

/*
 * A size as programs ask for them: mostly small, each power of two about as likely as the next
 * up to 2^max_bits, every 16th from the large half.
 */
static inline size_t rng_size(struct rng *rng, unsigned max_bits)
{
	unsigned bits = 1 + (unsigned)rng_below(rng, max_bits);

	if (rng_below(rng, 16) != 0 && bits > 11)
		bits = 1 + bits % 11;
	return 1 + rng_below(rng, (size_t)1 << bits);
}

/* --- Patterns ---------------------------------------------------------------------------- */

/*
 * Blocks up to this size are filled and checked whole; of larger ones the first and last 64
 * bytes and 16 bytes of every 4 KiB, which catches any page lost, shared or shifted.
 */
#define PATTERN_WHOLE_BYTES 8192u

static inline uint8_t pattern_byte(uint64_t tag, size_t offset)
{
	return (uint8_t)((tag * 31u + offset * 7u + (offset >> 8) * 13u) | 1u);
}

static inline void pattern_fill_range(uint8_t *block, size_t from, size_t to, uint64_t tag)
{
	for (size_t i = from; i < to; i++)
		block[i] = pattern_byte(tag, i);
}

/* Offset of the first wrong byte, or SIZE_MAX. */
static inline size_t pattern_find_range(const uint8_t *block, size_t from, size_t to, uint64_t tag)
{
	for (size_t i = from; i < to; i++)
		if (block[i] != pattern_byte(tag, i))
			return i;
	return SIZE_MAX;
}

static inline void pattern_fill(void *pointer, size_t size, uint64_t tag)
{
	uint8_t *block = (uint8_t *)pointer;

	if (size <= PATTERN_WHOLE_BYTES) {
		pattern_fill_range(block, 0, size, tag);
		return;
	}
	pattern_fill_range(block, 0, 64, tag);
	for (size_t page = 4096; page + 16 <= size; page += 4096)
		pattern_fill_range(block, page, page + 16, tag);
	pattern_fill_range(block, size - 64, size, tag);
}

/* Offset of the first wrong byte among the first `kept` of a block filled with `size`. */
static inline size_t pattern_find(const void *pointer, size_t size, size_t kept, uint64_t tag)
{
	const uint8_t *block = (const uint8_t *)pointer;
	size_t wrong;

	if (size <= PATTERN_WHOLE_BYTES)
		return pattern_find_range(block, 0, kept, tag);
	wrong = pattern_find_range(block, 0, kept < 64 ? kept : 64, tag);
	for (size_t page = 4096; wrong == SIZE_MAX && page + 16 <= kept; page += 4096)
		wrong = pattern_find_range(block, page, page + 16, tag);
	if (wrong == SIZE_MAX && kept == size)
		wrong = pattern_find_range(block, size - 64, size, tag);
	return wrong;
}

#define PATTERN_CHECK(pointer, size, tag) \
	do { \
		size_t wrong_ = pattern_find(pointer, size, size, tag); \
		CHECK(wrong_ == SIZE_MAX, "block %p of %zu bytes is wrong at offset %zu", (void *)(pointer), \
		      (size_t)(size), wrong_); \
	} while (0)

/* --- The process, from /proc ------------------------------------------------------------- */

/* Reads at most size - 1 bytes and ends them with 0; returns the length or -1. */
static inline ssize_t proc_read(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = 0;

	if (fd < 0)
		return -1;
	while ((size_t)length < size - 1) {
		ssize_t got = read(fd, buffer + length, size - 1 - (size_t)length);

		if (got <= 0)
			break;
		length += got;
	}
	close(fd);
	buffer[length] = 0;
	return length;
}

/* The number after `key` ("RssAnon:") in a file of /proc, or -1. */
static inline long proc_number(const char *path, const char *key)
{
	char buffer[4096];

	if (proc_read(path, buffer, sizeof(buffer)) < 0)
		return -1;
	const char *found = strstr(buffer, key);
	return found == NULL ? -1 : strtol(found + strlen(key), NULL, 10);
}

static inline long proc_status(const char *key)
{
	return proc_number("/proc/self/status", key);
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void sleep_ms(unsigned ms)
{
	struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
		continue;
}

/* --- Which allocator --------------------------------------------------------------------- */

/*
 * The address of one of libebb's own names, or NULL. A static program cannot look names up while it
 * runs, and always has them.
 */
#ifdef EBB_TEST_STATIC
#include <ebb/ebb.h>

static inline void *check_symbol(const char *name)
{
	if (strcmp(name, "ebb_version") == 0)
		return (void *)(uintptr_t)ebb_version;
	if (strcmp(name, "ebb_purge") == 0)
		return (void *)(uintptr_t)ebb_purge;
	return strcmp(name, "ebb_snapshot") == 0 ? (void *)(uintptr_t)ebb_snapshot : NULL;
}
#else
static inline void *check_symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}
#endif

static inline bool check_on_ebb(void)
{
	return check_symbol("ebb_version") != NULL;
}

/* To be called first in main(): the allocator that the test is about must really be there. */
static inline void check_allocator(void)
{
	const char *expect = getenv("EBB_TEST_EXPECT");

#ifdef EBB_TEST_ON_HEAP
	on_heap_start();
	return;
#endif
	if (expect != NULL && strcmp(expect, "ebb") == 0)
		CHECK(check_on_ebb(), "this process does not run on libebb");
}

typedef size_t check_purge_fn(void);

/* Gives back everything now: ebb_purge(), or malloc_trim() elsewhere. */
static inline void check_purge(void)
{
#ifdef EBB_TEST_ON_HEAP
	malloc_trim(0);
	return;
#endif
	void *symbol = check_symbol("ebb_purge");
	check_purge_fn *purge;

	memcpy(&purge, &symbol, sizeof(purge));
	if (purge != NULL)
		purge();
	else
		malloc_trim(0);
}

/* The heap's own invariants, where the program is linked with it. */
static inline void check_heap(void)
{
#ifdef EBB_TEST_ON_HEAP
	ebbi_heap_check();
#endif
}

/* --- Threads ----------------------------------------------------------------------------- */

/*
 * Whether the child of a threaded process may start a thread. AddressSanitizer allocates for a new thread
 * from a heap of its own whose locks fork does not take: what another thread held at that moment stays
 * locked in the child.
 */
#ifdef __SANITIZE_ADDRESS__
#define CHECK_THREADS_IN_CHILD 0
#else
#define CHECK_THREADS_IN_CHILD 1
#endif

static inline pthread_t check_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run, argument);

	CHECK(error == 0, "pthread_create: %s", strerror(error));
	return thread;
}

static inline void *check_join(pthread_t thread)
{
	void *result;
	int error = pthread_join(thread, &result);

	CHECK(error == 0, "pthread_join: %s", strerror(error));
	return result;
}

#endif
