/*
 * cpu.h: what differs between the CPUs that Ebb runs on.
 *
 * Owns: constants. Never: holds code. Threading, errors: none.
 */
#ifndef EBBI_PLATFORM_CPU_H
#define EBBI_PLATFORM_CPU_H

/*
 * User space lies below 2^this unless a program asks mmap(2) for higher addresses by name: Linux,
 * Documentation/arch/x86/x86_64/5level-paging.rst and Documentation/arch/arm64/memory.rst.
 */
#if defined(__x86_64__)
#define EBBI_CPU_ADDRESS_BITS 47u
#else
#define EBBI_CPU_ADDRESS_BITS 48u
#endif

#endif
