/*
 * huge.h: whether the kernel gives huge pages.
 *
 * Owns: reading /sys/kernel/mm/transparent_hugepage and the process's own switch. Never: allocates, touches
 * errno. Threading: any thread. Errors: where nothing can be read, none are given.
 */
#ifndef EBBI_PLATFORM_HUGE_H
#define EBBI_PLATFORM_HUGE_H

enum ebbi_huge_given {
	EBBI_HUGE_GIVEN_NEVER,
	EBBI_HUGE_GIVEN_ASKED,  /* to memory with advice in favour */
	EBBI_HUGE_GIVEN_ALWAYS, /* to all memory without advice against */
};

enum ebbi_huge_given ebbi_huge_given(void);

#endif
