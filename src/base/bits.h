/*
 * bits.h: arithmetic on words and sizes.
 *
 * Owns: nothing. Never: allocates, touches a global, calls the kernel. Pure and thread-safe.
 * Errors: none; each function states what its argument must be.
 */
#ifndef EBBI_BASE_BITS_H
#define EBBI_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBBI_LIKELY(x) __builtin_expect(!!(x), 1)
#define EBBI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EBBI_CACHE_LINE 64u

/* Index of the lowest set bit; `word` must not be 0. */
static inline unsigned ebbi_bit_lowest(uint64_t word)
{
	return (unsigned)__builtin_ctzll(word);
}

/* Index of the highest set bit; `word` must not be 0. */
static inline unsigned ebbi_bit_highest(uint64_t word)
{
	return 63u - (unsigned)__builtin_clzll(word);
}

static inline unsigned ebbi_bit_count(uint64_t word)
{
	return (unsigned)__builtin_popcountll(word);
}

/* `count` ones starting at bit `first`; first + count must be at most 64, count at least 1. */
static inline uint64_t ebbi_bit_range(unsigned first, unsigned count)
{
	return (UINT64_MAX >> (64u - count)) << first;
}

static inline size_t ebbi_divide_up(size_t value, size_t unit)
{
	return (value + unit - 1) / unit;
}

/* `unit` must be a power of two; the caller knows that value + unit does not wrap. */
static inline size_t ebbi_round_up(size_t value, size_t unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

static inline size_t ebbi_round_down(size_t value, size_t unit)
{
	return value & ~(unit - 1);
}

static inline bool ebbi_is_power_of_two(size_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

static inline size_t ebbi_min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How much `a` is more than `b`; 0 when it is not. */
static inline size_t ebbi_excess(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

static inline size_t ebbi_max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

/*
 * Take `bytes` off *left; true when it was not more than that, and it is 0 or less from then on: so it stays, whoever counts down next,
 * a signal handler too, until it is set anew. More than PTRDIFF_MAX is not seen: the caller puts that back. On x86-64 one
 * instruction on memory, which the compiler does not make of the lines below for a thread's variable.
 */
static inline bool ebbi_count_down(ptrdiff_t *left, size_t bytes)
{
#if defined(__x86_64__)
	bool over;

	__asm__("subq %2, %0" : "+m"(*left), "=@ccle"(over) : "er"(bytes));
	return over;
#else
	ptrdiff_t before = *left;

	*left = (ptrdiff_t)((size_t)before - bytes);
	return before <= (ptrdiff_t)bytes;
#endif
}

#endif
