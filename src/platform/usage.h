/*
 * usage.h: how much memory this process and this machine have.
 *
 * Owns: nothing. Never: allocates, touches errno, keeps a descriptor open. Threading: any thread.
 * Errors: false where the kernel does not say (no /proc, no descriptor left, a filter).
 */
#ifndef EBBI_PLATFORM_USAGE_H
#define EBBI_PLATFORM_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Resident memory in the kernel's pages: all of it, and what is backed by files or shared. */
struct ebbi_usage {
	size_t resident_pages;
	size_t file_pages;
};

/* From /proc/self/statm, in about 6 us; off by what docs of the kernel say of its counters (2 CPUs: 256 KiB). */
bool ebbi_usage_read(struct ebbi_usage *ret_usage);

/* The machine's memory in bytes; UINT64_MAX when unknown. */
uint64_t ebbi_usage_machine_bytes(void);

#endif
