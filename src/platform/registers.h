/*
 * registers.h: the registers from which a stack is walked, by CPU.
 *
 * Owns: which registers those are, their numbers in unwind tables, and reading them. Never: calls anything.
 * Threading: any. Errors: none.
 */
#ifndef EBBI_PLATFORM_REGISTERS_H
#define EBBI_PLATFORM_REGISTERS_H

#include <stdint.h>

/* What a caller's frame is found by. LINK: the return address, where the CPU has no register for it (x86-64) a column alone. */
enum ebbi_register {
	EBBI_REGISTER_STACK,
	EBBI_REGISTER_FRAME,
	EBBI_REGISTER_SPARE, /* saved by callees; some hand-written code has its frame in it */
	EBBI_REGISTER_LINK,
	EBBI_REGISTERS
};

struct ebbi_registers {
	uint64_t pc;
	uint64_t of[EBBI_REGISTERS];
};

#if defined(__x86_64__)

/* By enum ebbi_register: System V ABI for AMD64, figure 3.36. */
#define EBBI_REGISTER_NUMBERS \
	{ \
		7, 6, 3, 16 \
	}

/* All at one place of the code, so that the unwind table's line for it is true for all. */
static inline __attribute__((always_inline)) void ebbi_registers_read(struct ebbi_registers *ret)
{
	__asm__ __volatile__("leaq 0(%%rip), %%rax\n\t"
			     "movq %%rax, %0\n\t"
			     "movq %%rsp, %1\n\t"
			     "movq %%rbp, %2\n\t"
			     "movq %%rbx, %3"
			     : "=m"(ret->pc), "=m"(ret->of[EBBI_REGISTER_STACK]), "=m"(ret->of[EBBI_REGISTER_FRAME]),
			       "=m"(ret->of[EBBI_REGISTER_SPARE])
			     :
			     : "rax");
	ret->of[EBBI_REGISTER_LINK] = 0;
}

#elif defined(__aarch64__)

/* AAPCS64's DWARF numbering. */
#define EBBI_REGISTER_NUMBERS \
	{ \
		31, 29, 19, 30 \
	}

static inline __attribute__((always_inline)) void ebbi_registers_read(struct ebbi_registers *ret)
{
	__asm__ __volatile__("adr x9, .\n\t"
			     "str x9, %0\n\t"
			     "mov x9, sp\n\t"
			     "str x9, %1\n\t"
			     "str x29, %2\n\t"
			     "str x19, %3\n\t"
			     "str x30, %4"
			     : "=m"(ret->pc), "=m"(ret->of[EBBI_REGISTER_STACK]), "=m"(ret->of[EBBI_REGISTER_FRAME]),
			       "=m"(ret->of[EBBI_REGISTER_SPARE]), "=m"(ret->of[EBBI_REGISTER_LINK])
			     :
			     : "x9");
}

#else
#error "Ebb walks stacks of x86-64 and aarch64 only"
#endif

#endif
