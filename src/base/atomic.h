/*
 * atomic.h: atomic operations with the memory order in the name.
 *
 * Owns: the spelling. Every operation works on a pointer to a plain integer or pointer object, so
 * that structs stay ordinary C and each access says what it needs.
 * Never does: choose an order. There is no default, and no sequentially consistent operation except
 * the two that carry it in the name (they exist for builds whose checker cannot see membarrier(2)).
 * Threading: that is the subject. A non-relaxed operation names its partner in a comment.
 * Errors: none.
 * Invariants: an object touched through these by more than one thread is never also accessed plainly
 * by more than one thread at a time.
 *
 * Order in words:
 *   relaxed   no tearing, nothing else
 *   acquire   what follows sees what the matching release published
 *   release   publishes what came before
 *   acqrel    both, on a read-modify-write
 */
#ifndef EBBI_BASE_ATOMIC_H
#define EBBI_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define ebbi_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ebbi_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ebbi_load_seqcst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)

#define ebbi_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ebbi_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define ebbi_exchange_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define ebbi_exchange_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define ebbi_exchange_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)
#define ebbi_exchange_acqrel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define ebbi_exchange_seqcst(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

/* All return the value from before. */
#define ebbi_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define ebbi_fetch_add_acqrel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define ebbi_fetch_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define ebbi_fetch_sub_acqrel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define ebbi_fetch_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define ebbi_fetch_or_release(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define ebbi_fetch_or_acqrel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define ebbi_fetch_or_seqcst(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define ebbi_fetch_and_relaxed(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELAXED)
#define ebbi_fetch_and_release(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELEASE)
#define ebbi_fetch_and_acqrel(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)

/*
 * Strong compare-and-swap: true when *p was *expected and is now v; otherwise *expected holds what
 * was found. A failed one orders like a relaxed load (acquire for _acquire and _acqrel).
 */
#define ebbi_cas_relaxed(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define ebbi_cas_acquire(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
#define ebbi_cas_release(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define ebbi_cas_acqrel(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/*
 * A counter that one thread at a time changes (the holder of its lock) and others read with
 * ebbi_load_relaxed: no read-modify-write is needed, only stores that do not tear.
 */
#define ebbi_counter_add(p, v) ebbi_store_relaxed((p), *(p) + (v))
#define ebbi_counter_sub(p, v) ebbi_store_relaxed((p), *(p) - (v))

/* Keeps the compiler, not the CPU, from moving memory accesses across. */
#define ebbi_compiler_barrier() __asm__ __volatile__("" ::: "memory")

/* Tells the CPU that we spin. */
static inline void ebbi_spin_hint(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield" ::: "memory");
#else
	ebbi_compiler_barrier();
#endif
}

#endif
