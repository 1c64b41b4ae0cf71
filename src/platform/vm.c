#include "platform/vm.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/build.h"
#include "platform/maps.h"
#include "platform/syscall.h"

#ifndef MADV_COLD /* musl's header has it not */
#define MADV_COLD 20
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static size_t page_bytes_cached; /* set once, the same value by every thread; relaxed */

size_t ebbi_vm_page_bytes(void)
{
	size_t bytes = ebbi_load_relaxed(&page_bytes_cached);

	if (EBBI_UNLIKELY(bytes == 0)) {
		bytes = getauxval(AT_PAGESZ);
		if (bytes < 4096 || !ebbi_is_power_of_two(bytes))
			bytes = 4096;
		ebbi_store_relaxed(&page_bytes_cached, bytes);
	}
	return bytes;
}

int ebbi_vm_present(const void *base, size_t bytes, unsigned char *ret_present)
{
	return (int)ebbi_syscall3(SYS_mincore, (long)base, (long)bytes, (long)ret_present);
}

size_t ebbi_vm_address_limit_bytes(void)
{
	struct {
		uint64_t soft;
		uint64_t hard;
	} limit = {UINT64_MAX, UINT64_MAX};

	if (ebbi_syscall4(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit) != 0 || limit.soft == UINT64_MAX)
		return SIZE_MAX;
	return limit.soft;
}

/*
 * ThreadSanitizer must see mappings come and go, or it takes a new owner's accesses for races with those of
 * whoever had these addresses before: its builds call the C library, which it intercepts.
 */
static long map_seen(size_t bytes, int rights)
{
	int saved = errno;
	void *base = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	long result = base == MAP_FAILED ? -errno : (long)base;

	errno = saved;
	return result;
}

static long unmap_seen(void *base, size_t bytes)
{
	int saved = errno;
	long result = munmap(base, bytes) == 0 ? 0 : -errno;

	errno = saved;
	return result;
}

static long map_anonymous(size_t bytes, int rights)
{
	if (EBBI_TSAN)
		return map_seen(bytes, rights);
	return ebbi_syscall6(SYS_mmap, 0, (long)bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* mmap answers with an address or a negative errno; the top page is never an address. */
static bool is_error(long answer)
{
	return answer < 0 && answer > -4096;
}

/* Names show up in /proc/PID/maps; kernels without the feature answer EINVAL, which is fine. */
static void name_mapping(long base, size_t bytes)
{
	(void)ebbi_syscall5(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, base, (long)bytes, (long)"ebb");
}

static int map_aligned(size_t bytes, size_t align_bytes, int rights, void **ret_base)
{
	long base = map_anonymous(bytes, rights);

	if (is_error(base))
		return (int)base;
	if (((size_t)base & (align_bytes - 1)) != 0) {
		size_t wide = bytes + align_bytes;
		size_t start;

		(void)ebbi_syscall2(SYS_munmap, base, (long)bytes);
		if (wide < bytes)
			return -ENOMEM;
		base = map_anonymous(wide, rights);
		if (is_error(base))
			return (int)base;
		start = ebbi_round_up((size_t)base, align_bytes);
		if (start > (size_t)base)
			(void)ebbi_syscall2(SYS_munmap, base, (long)(start - (size_t)base));
		if ((size_t)base + wide > start + bytes)
			(void)ebbi_syscall2(SYS_munmap, (long)(start + bytes),
					    (long)((size_t)base + wide - start - bytes));
		base = (long)start;
	}
	name_mapping(base, bytes);
	*ret_base = (void *)base;
	return 0;
}

static int kernel_reserve(size_t bytes, size_t align_bytes, void **ret_base)
{
	return map_aligned(bytes, align_bytes, PROT_NONE, ret_base);
}

static int kernel_commit(void *base, size_t bytes)
{
	return (int)ebbi_syscall3(SYS_mprotect, (long)base, (long)bytes, PROT_READ | PROT_WRITE);
}

static int kernel_map(size_t bytes, size_t align_bytes, void **ret_base)
{
	return map_aligned(bytes, align_bytes, PROT_READ | PROT_WRITE, ret_base);
}

static int kernel_purge(void *base, size_t bytes)
{
	return (int)ebbi_syscall3(SYS_madvise, (long)base, (long)bytes, MADV_DONTNEED);
}

static int kernel_unmap(void *base, size_t bytes)
{
	if (EBBI_TSAN)
		return (int)unmap_seen(base, bytes);
	return (int)ebbi_syscall2(SYS_munmap, (long)base, (long)bytes);
}

static int kernel_remap(void *base, size_t old_bytes, size_t new_bytes, void *target)
{
	int flags = target == NULL ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED;
	long moved = ebbi_syscall5(SYS_mremap, (long)base, (long)old_bytes, (long)new_bytes, flags, (long)target);

	return is_error(moved) ? (int)moved : 0;
}

static int kernel_guard(void *base, size_t bytes)
{
	return (int)ebbi_syscall3(SYS_mprotect, (long)base, (long)bytes, PROT_NONE);
}

static int kernel_advise_huge(void *base, size_t bytes, int huge)
{
	return (int)ebbi_syscall3(SYS_madvise, (long)base, (long)bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* Of a part of a huge page the kernel can only note that it is cold when it splits it first: see madvise(2). */
static int kernel_split(void *base, size_t bytes)
{
	return (int)ebbi_syscall3(SYS_madvise, (long)base, (long)bytes, MADV_COLD);
}

/*
 * The kernel reads a signal mask from where it is told before it finds that it knows no such way to set one: nothing
 * is changed, no filter refuses it, and no page is touched that is not there.
 */
bool ebbi_vm_is_readable(uint64_t address)
{
	return ebbi_syscall4(SYS_rt_sigprocmask, -1, (long)address, 0, sizeof(uint64_t)) != -EFAULT;
}

const struct ebbi_vm ebbi_vm_kernel = {
	.reserve = kernel_reserve,
	.commit = kernel_commit,
	.map = kernel_map,
	.purge = kernel_purge,
	.unmap = kernel_unmap,
	.remap = kernel_remap,
	.guard = kernel_guard,
	.advise_huge = kernel_advise_huge,
	.split = kernel_split,
	.maps_left = ebbi_maps_left,
};
