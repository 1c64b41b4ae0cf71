/*
 * mmap.c: mmap that asks the budget first, in the shared library alone.
 *
 * Python's small objects, among others, lie in memory that no malloc has seen. A line for the whole process must be able to
 * refuse that, too. What is asked for: private anonymous memory that may be written at once. Not asked for: files, shared memory,
 * fixed addresses, reservations (without rights, or without the promise of memory), what is larger than the whole line and so cannot be meant
 * to be used, and all that the C library maps for itself: stacks, libraries.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "api/names.h"
#include "heap/budget.h"
#include "platform/syscall.h"

static bool is_memory(int protection, int flags)
{
	int unlike = MAP_SHARED | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_NORESERVE | MAP_GROWSDOWN;

	return (protection & PROT_WRITE) != 0 && (flags & MAP_ANONYMOUS) != 0 && (flags & unlike) == 0;
}

EBBI_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	long result;

	if (is_memory(protection, flags) && !ebbi_budget_admit(bytes)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	result = ebbi_syscall6(SYS_mmap, (long)address, (long)bytes, protection, flags, fd, offset);
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return MAP_FAILED;
	}
	return (void *)result;
}

/* The same where files have offsets of 64 bits anyway. */
#undef mmap64
EBBI_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));
