/* membarrier behind its table: what a refusal at each step leads to, and the real one. */
#include "platform/membarrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stddef.h>

#include "check.h"

/* A kernel that answers as told. */
static struct {
	long query, registration, barrier;
	int barriers, registrations;
	int refuse_until_registrations; /* -EPERM from barrier until there were so many */
} kernel;

static long fake_query(void)
{
	return kernel.query;
}

static long fake_register(void)
{
	kernel.registrations++;
	return kernel.registration;
}

static long fake_barrier(void)
{
	kernel.barriers++;
	if (kernel.registrations < kernel.refuse_until_registrations)
		return -EPERM;
	return kernel.barrier;
}

static const struct ebbi_membarrier_ops fake = {fake_query, fake_register, fake_barrier};

static void kernel_reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.query = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
}

TEST(works)
{
	kernel_reset();
	CHECK_EQ(ebbi_membarrier_open(&fake), 0);
	CHECK(ebbi_membarrier_available());
	CHECK_EQ(ebbi_membarrier_barrier(), 0);
	CHECK_EQ(kernel.barriers, 1);
	CHECK_EQ(kernel.registrations, 1);
}

/* An old kernel or a seccomp filter, at the first step or the second. */
TEST(refused_at_open)
{
	kernel_reset();
	kernel.query = -ENOSYS;
	CHECK_EQ(ebbi_membarrier_open(&fake), -ENOSYS);
	CHECK(!ebbi_membarrier_available());
	CHECK_EQ(ebbi_membarrier_barrier(), -ENOSYS);

	kernel_reset();
	kernel.query = MEMBARRIER_CMD_GLOBAL; /* knows the call, not the private kind */
	CHECK_EQ(ebbi_membarrier_open(&fake), -ENOSYS);
	CHECK(!ebbi_membarrier_available());

	kernel_reset();
	kernel.registration = -EPERM;
	CHECK_EQ(ebbi_membarrier_open(&fake), -EPERM);
	CHECK(!ebbi_membarrier_available());
	CHECK_EQ(kernel.barriers, 0);
}

/* Refused once the process runs (a filter installed late): remembered, never asked again. */
TEST(refused_later)
{
	kernel_reset();
	CHECK_EQ(ebbi_membarrier_open(&fake), 0);
	CHECK_EQ(ebbi_membarrier_barrier(), 0);
	kernel.barrier = -ENOSYS;
	CHECK_EQ(ebbi_membarrier_barrier(), -ENOSYS);
	CHECK(!ebbi_membarrier_available());
	CHECK_EQ(ebbi_membarrier_barrier(), -ENOSYS);
	CHECK_EQ(kernel.barriers, 2);
	kernel.barrier = 0;
	CHECK_EQ(ebbi_membarrier_open(&fake), 0);
	CHECK_EQ(ebbi_membarrier_barrier(), 0);
}

/* EPERM may mean that this process image is not registered: register, ask once more. */
/* For want of memory: another time it works, unless it never does. */
TEST(refused_in_passing)
{
	kernel_reset();
	CHECK_EQ(ebbi_membarrier_open(&fake), 0);
	for (unsigned i = 0; i < 3; i++) {
		kernel.barrier = i % 2 == 0 ? -ENOMEM : -EAGAIN;
		CHECK_EQ(ebbi_membarrier_barrier(), kernel.barrier);
		CHECK(ebbi_membarrier_available());
		kernel.barrier = 0;
		CHECK_EQ(ebbi_membarrier_barrier(), 0);
	}
	kernel.barrier = -ENOMEM;
	for (unsigned i = 0; i < 8; i++)
		CHECK_EQ(ebbi_membarrier_barrier(), -ENOMEM);
	CHECK(ebbi_membarrier_available());
	CHECK_EQ(ebbi_membarrier_barrier(), -ENOMEM);
	CHECK(!ebbi_membarrier_available());
}

TEST(registers_again)
{
	kernel_reset();
	kernel.refuse_until_registrations = 2;
	CHECK_EQ(ebbi_membarrier_open(&fake), 0);
	CHECK_EQ(ebbi_membarrier_barrier(), 0);
	CHECK_EQ(kernel.registrations, 2);
	CHECK_EQ(kernel.barriers, 2);

	kernel_reset();
	kernel.refuse_until_registrations = 100;
	CHECK_EQ(ebbi_membarrier_open(&fake), 0);
	CHECK_EQ(ebbi_membarrier_barrier(), -EPERM);
	CHECK(!ebbi_membarrier_available());
	CHECK_EQ(kernel.barriers, 2);
}

TEST(closed)
{
	kernel_reset();
	CHECK_EQ(ebbi_membarrier_open(&fake), 0);
	ebbi_membarrier_close();
	CHECK(!ebbi_membarrier_available());
	CHECK_EQ(ebbi_membarrier_barrier(), -ENOSYS);
	CHECK_EQ(kernel.barriers, 0);
}

/* The real kernel either grants it or refuses it; both are in order, and errno is left alone. */
TEST(real)
{
	int opened;

	errno = EXDEV;
	opened = ebbi_membarrier_open(NULL);
	CHECK_EQ(ebbi_membarrier_available(), opened == 0);
	CHECK_EQ(ebbi_membarrier_barrier() == 0, opened == 0);
	CHECK_EQ(errno, EXDEV);
}

int main(void)
{
	RUN(works);
	RUN(refused_at_open);
	RUN(refused_later);
	RUN(refused_in_passing);
	RUN(registers_again);
	RUN(closed);
	RUN(real);
	return check_report();
}
