#include "platform/membarrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "platform/syscall.h"

static long system_query(void)
{
	return ebbi_syscall3(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
}

static long system_register(void)
{
	return ebbi_syscall3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

static long system_barrier(void)
{
	return ebbi_syscall3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

const struct ebbi_membarrier_ops ebbi_membarrier_system = {
	.query = system_query,
	.register_private = system_register,
	.barrier = system_barrier,
};

/*
 * The ops in use; NULL when not available. Atomic: open stores with release and barrier loads with
 * acquire, so that the registration is done before anybody relies on it.
 */
static const struct ebbi_membarrier_ops *active;

/* Refusals for want of memory that in a row still count as passing. */
#define PASSING_MOST 8u

static uint32_t passing; /* relaxed: such refusals since the last success */

int ebbi_membarrier_open(const struct ebbi_membarrier_ops *ops)
{
	const long needed = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	long result;

	if (ops == NULL)
		ops = &ebbi_membarrier_system;
	ebbi_membarrier_close();
	ebbi_store_relaxed(&passing, 0u);
	result = ops->query();
	if (result < 0)
		return (int)result;
	if ((result & needed) != needed)
		return -ENOSYS;
	result = ops->register_private();
	if (result < 0)
		return (int)result;
	ebbi_store_release(&active, ops);
	return 0;
}

void ebbi_membarrier_close(void)
{
	ebbi_store_release(&active, NULL);
}

bool ebbi_membarrier_available(void)
{
	return ebbi_load_relaxed(&active) != NULL;
}

int ebbi_membarrier_barrier(void)
{
	const struct ebbi_membarrier_ops *ops = ebbi_load_acquire(&active);
	long result;

	if (ops == NULL)
		return -ENOSYS;
	result = ops->barrier();
	/* EPERM from the real call means "not registered": a new process image after fork may need it. */
	if (result == -EPERM && ops->register_private() >= 0)
		result = ops->barrier();
	/* Older kernels allocate for the call: that it finds no memory now says nothing of the next time. */
	if ((result == -ENOMEM || result == -EAGAIN) && ebbi_fetch_add_relaxed(&passing, 1u) < PASSING_MOST)
		return (int)result;
	if (result < 0) {
		ebbi_membarrier_close();
		return (int)result;
	}
	ebbi_store_relaxed(&passing, 0u);
	return 0;
}
