/* The kernel behind the table: what each word of the contract means. */
#include "platform/vm.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/build.h"
#include "check.h"
#include "child.h"

#define MIB ((size_t)1 << 20)

static const struct ebbi_vm *const vm = &ebbi_vm_kernel;
static size_t page;

static size_t resident_pages(const void *base, size_t bytes)
{
	static unsigned char here[4096];
	size_t count = 0;

	if (mincore((void *)base, bytes, here) != 0)
		return SIZE_MAX;
	for (size_t i = 0; i < bytes / page; i++)
		count += here[i] & 1;
	return count;
}

static void write_byte(void *at)
{
	(void)signal(SIGSEGV, SIG_DFL);
	*(volatile char *)at = 1;
}

TEST(page_size)
{
	page = ebbi_vm_page_bytes();
	CHECK_EQ(page, (size_t)sysconf(_SC_PAGESIZE));
	CHECK_EQ(ebbi_vm_page_bytes(), page);
}

TEST(reserve_and_commit)
{
	char text[64];
	void *memory = NULL;
	char *base;

	for (size_t align = page; align <= 64 * MIB; align *= 4) {
		REQUIRE(vm->reserve(4 * MIB, align, &memory) == 0);
		CHECK_EQ((uintptr_t)memory % align, 0u);
		CHECK_EQ(vm->unmap(memory, 4 * MIB), 0);
	}
	REQUIRE(vm->reserve(4 * MIB, MIB, &memory) == 0);
	base = memory;
	CHECK_EQ(child_run(write_byte, base, text, sizeof(text)), SIGSEGV);
	CHECK_EQ(vm->commit(base + MIB, MIB), 0);
	CHECK_EQ(resident_pages(base, 4 * MIB), 0u);
	base[MIB] = 1;
	base[2 * MIB - 1] = 2;
	CHECK_EQ(base[MIB + 100], 0);
	CHECK_EQ(child_run(write_byte, base + 2 * MIB, text, sizeof(text)), SIGSEGV);
	CHECK_EQ(vm->unmap(base, 4 * MIB), 0);
	CHECK_NE(vm->commit(base, page), 0);
}

TEST(purge)
{
	void *memory = NULL;
	char *base;

	REQUIRE(vm->map(4 * MIB, page, &memory) == 0);
	base = memory;
	/* Without huge pages, so that the count below is one of ordinary pages. */
	(void)vm->advise_huge(base, 4 * MIB, 0);
	for (size_t at = 0; at < 16 * page; at += page)
		base[at] = 1;
	CHECK_EQ(resident_pages(base, 16 * page), 16u);
	CHECK_EQ(vm->purge(base + page, 4 * page), 0);
	CHECK_EQ(resident_pages(base, 16 * page), 12u);
	CHECK_EQ(base[page], 0);
	CHECK_EQ(base[5 * page], 1);
	CHECK_EQ(vm->unmap(base, 4 * MIB), 0);
	CHECK_EQ(vm->purge(base, page), -ENOMEM);
}

TEST(remap)
{
	void *memory = NULL;
	void *target = NULL;
	char *base;

	REQUIRE(vm->map(8 * page, page, &memory) == 0);
	base = memory;
	base[7 * page] = 7;
	CHECK_EQ(vm->remap(base, 8 * page, 4 * page, NULL), 0);
	CHECK_EQ(resident_pages(base, 8 * page), SIZE_MAX);
	/* The place is free again, unless somebody took it. */
	if (vm->remap(base, 4 * page, 8 * page, NULL) == 0)
		CHECK_EQ(base[7 * page], 0);
	CHECK_EQ(vm->unmap(base, 8 * page), 0);

	REQUIRE(vm->map(4 * page, page, &memory) == 0);
	REQUIRE(vm->reserve(64 * page, page, &target) == 0);
	((char *)memory)[3 * page] = 3;
	CHECK_EQ(vm->remap(memory, 4 * page, 64 * page, target), 0);
	CHECK_EQ(((char *)target)[3 * page], 3);
	((char *)target)[63 * page] = 1;
	CHECK_EQ(resident_pages(memory, page), SIZE_MAX);
	CHECK_EQ(vm->unmap(target, 64 * page), 0);
}

TEST(absurd_sizes)
{
	void *memory = (void *)1;

	CHECK_EQ(vm->reserve((size_t)1 << 60, page, &memory), -ENOMEM);
	CHECK_EQ(vm->map((size_t)1 << 60, page, &memory), -ENOMEM);
	CHECK_EQ(vm->reserve(SIZE_MAX - page + 1, (size_t)1 << 30, &memory), -ENOMEM);
	CHECK(memory == (void *)1);
}

TEST(errno_is_left_alone)
{
	void *memory = NULL;

	errno = 42;
	CHECK_NE(vm->map((size_t)1 << 60, page, &memory), 0);
	CHECK_NE(vm->purge((void *)page, page), 0);
	CHECK_EQ(errno, 42);
}

static void limit_it(void *argument)
{
	const struct rlimit limit = {300 * MIB, 300 * MIB};
	void *memory;

	(void)argument;
	(void)setrlimit(RLIMIT_AS, &limit);
	if (ebbi_vm_address_limit_bytes() == 300 * MIB && vm->map(400 * MIB, page, &memory) == -ENOMEM &&
	    vm->map(64 * MIB, page, &memory) == 0)
		fprintf(stderr, "limited");
}

TEST(address_limit)
{
	char text[64];

	CHECK_EQ(ebbi_vm_address_limit_bytes(), SIZE_MAX);
	if (EBBI_ASAN || EBBI_TSAN)
		return; /* their own reservations are beyond any limit */
	CHECK_EQ(child_run(limit_it, NULL, text, sizeof(text)), 0);
	CHECK_STR_EQ(text, "limited");
}

int main(void)
{
	RUN(page_size);
	RUN(reserve_and_commit);
	RUN(purge);
	RUN(remap);
	RUN(absurd_sizes);
	RUN(errno_is_left_alone);
	RUN(address_limit);
	return check_report();
}
