/*
 * vm.h: address space and pages, as a table of operations that tests replace by a fake.
 *
 * Owns: the contract with the kernel's memory calls. Never: reads an option, keeps state beyond
 * the page size, touches errno, allocates. Threading: every operation may be called from any
 * thread; none may be called while a lock is held that malloc or free may need.
 * Errors: 0 or a negative errno; on failure nothing has changed.
 *
 * Words. Reserved: address space without rights, costs nothing. Committed: readable and writable,
 * pages appear zeroed at their first touch. Purged: committed, its pages given back; they read as
 * zeros and appear anew at the next touch.
 */
#ifndef EBBI_PLATFORM_VM_H
#define EBBI_PLATFORM_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ebbi_vm {
	/* Reserve `bytes` (a multiple of the page size), aligned to `align_bytes` (a power of two). */
	int (*reserve)(size_t bytes, size_t align_bytes, void **ret_base);
	/* Commit a page-aligned part of a reservation. -ENOMEM when the kernel will not promise it. */
	int (*commit)(void *base, size_t bytes);
	/* Reserve and commit in one step. */
	int (*map)(size_t bytes, size_t align_bytes, void **ret_base);
	/* Give the pages back and keep the address range committed and zeroed. */
	int (*purge)(void *base, size_t bytes);
	/* Give pages and address range back. */
	int (*unmap)(void *base, size_t bytes);
	/*
	 * Resize a mapping made by `map`, or a part of one, keeping its contents: in place when `target` is NULL,
	 * else onto `target`, a reservation of new_bytes that it replaces. Refused over two of the kernel's mappings.
	 */
	int (*remap)(void *base, size_t old_bytes, size_t new_bytes, void *target);
	/* Take the rights off a committed part: whoever touches it dies. Its pages stay until they are purged; commit undoes it. */
	int (*guard)(void *base, size_t bytes);
	/* Ask for (huge = 1) or against (huge = 0) huge pages; a hint. */
	int (*advise_huge)(void *base, size_t bytes, int huge);
	/*
	 * Break the huge page that this part of it (a page of the kernel's, in use) lies in up into small ones, so
	 * that each can go back alone; a hint, and nothing where the page is small.
	 */
	int (*split)(void *base, size_t bytes);
	/*
	 * How many more mappings the process may make before it comes near the kernel's limit (an eighth of which is
	 * left to the program). Reads /proc, which takes long in a process of many mappings: for rare occasions.
	 */
	size_t (*maps_left)(void);
};

extern const struct ebbi_vm ebbi_vm_kernel;

/* The kernel's page size: 4, 16 or 64 KiB. Constant after the first call; any thread. */
size_t ebbi_vm_page_bytes(void);

/*
 * One byte into `ret_present` for each of the kernel's pages: odd when it holds memory. 0 or a negative errno: -ENOMEM where
 * nothing is mapped.
 */
int ebbi_vm_present(const void *base, size_t bytes, unsigned char *ret_present);

/* May the word at `address` (a multiple of 8) be read? Asks the kernel, some 100 ns. */
bool ebbi_vm_is_readable(uint64_t address);

/* Soft RLIMIT_AS, SIZE_MAX when there is none or it cannot be read. */
size_t ebbi_vm_address_limit_bytes(void);

#endif
