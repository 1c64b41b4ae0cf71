/*
 * syscall.h: raw system calls.
 *
 * Owns: ebbi_syscall0..6.
 * Never does: touch errno or any thread-local variable, be a cancellation point, or retry. The
 * scavenger runs on a bare clone(2) thread that has no thread-local storage of its own, and free()
 * must leave errno alone, so the allocator calls the kernel through these only.
 * Threading: any thread, signal handlers too.
 * Errors: the kernel's own convention: a result from -4095 to -1 is a negative errno.
 * Invariants: every call is a compiler barrier.
 */
#ifndef EBBI_PLATFORM_SYSCALL_H
#define EBBI_PLATFORM_SYSCALL_H

#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

/* NOLINTNEXTLINE(readability-function-size): a system call has that many parameters */
static inline long ebbi_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ __volatile__("syscall"
			     : "=a"(result)
			     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			     : "rcx", "r11", "memory");
	return result;
}

static inline long ebbi_syscall3(long number, long a, long b, long c)
{
	long result;

	__asm__ __volatile__("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

/* NOLINTNEXTLINE(readability-function-size): a system call has that many parameters */
static inline long ebbi_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ __volatile__("svc 0"
			     : "+r"(x0)
			     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			     : "memory", "cc");
	return x0;
}

static inline long ebbi_syscall3(long number, long a, long b, long c)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ __volatile__("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory", "cc");
	return x0;
}

#else
#error "Ebb knows the system call convention of x86-64 and aarch64 only"
#endif

static inline long ebbi_syscall0(long number)
{
	return ebbi_syscall3(number, 0, 0, 0);
}

static inline long ebbi_syscall1(long number, long a)
{
	return ebbi_syscall3(number, a, 0, 0);
}

static inline long ebbi_syscall2(long number, long a, long b)
{
	return ebbi_syscall3(number, a, b, 0);
}

static inline long ebbi_syscall4(long number, long a, long b, long c, long d)
{
	return ebbi_syscall6(number, a, b, c, d, 0, 0);
}

static inline long ebbi_syscall5(long number, long a, long b, long c, long d, long e)
{
	return ebbi_syscall6(number, a, b, c, d, e, 0);
}

#endif
