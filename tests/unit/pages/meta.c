/* Metadata memory: alignment, zeros, reuse, guards, refusals. */
#include "pages/meta.h"

#include <signal.h>
#include <sys/resource.h>

#include "check.h"
#include "child.h"
#include "fake_vm.h"

static struct ebbi_meta meta;

static void begin(size_t page_bytes)
{
	memset(&meta, 0, sizeof(meta));
	fake_vm_reset(page_bytes);
	ebbi_meta_init(&meta, &fake_vm, page_bytes);
	CHECK_EQ(fake_vm_calls(FAKE_RESERVE), 0u);
}

static bool is_zero(const void *block, size_t bytes)
{
	const unsigned char *at = block;

	for (size_t i = 0; i < bytes; i++)
		if (at[i] != 0)
			return false;
	return true;
}

TEST(blocks)
{
	char *blocks[EBBI_META_BLOCK_MOST + 1];

	begin(4096);
	for (size_t bytes = 1; bytes <= EBBI_META_BLOCK_MOST; bytes++) {
		blocks[bytes] = ebbi_meta_alloc(&meta, bytes);
		REQUIRE(blocks[bytes] != NULL);
		CHECK_EQ((uintptr_t)blocks[bytes] % EBBI_META_UNIT, 0u);
		CHECK_EQ((uintptr_t)blocks[bytes] >> 48, 0u);
		CHECK(is_zero(blocks[bytes], bytes));
		memset(blocks[bytes], (int)bytes, bytes);
	}
	for (size_t bytes = 1; bytes <= EBBI_META_BLOCK_MOST; bytes++) {
		for (size_t i = 0; i < bytes; i++)
			if (blocks[bytes][i] != (char)bytes)
				CHECK_FAIL("block of %zu bytes was overwritten", bytes);
		ebbi_meta_free(&meta, blocks[bytes], bytes);
	}
	CHECK_EQ(meta.used_bytes, 0u);
}

TEST(reuse_is_zeroed_and_of_the_same_step)
{
	void *first;
	void *other;

	begin(4096);
	first = ebbi_meta_alloc(&meta, 100);
	memset(first, 0xee, 128);
	ebbi_meta_free(&meta, first, 100);
	other = ebbi_meta_alloc(&meta, 129);
	CHECK(other != first);
	CHECK(ebbi_meta_alloc(&meta, 65) == first);
	CHECK(is_zero(first, 128));
	CHECK_EQ(meta.used_bytes, 128u + 192u);
}

TEST(refusals)
{
	char *block;
	char *area;

	begin(4096);
	fake_vm_refuse(FAKE_RESERVE, 0, 1);
	CHECK(ebbi_meta_alloc(&meta, 64) == NULL);
	CHECK_EQ(meta.used_bytes, 0u);
	fake_vm_refuse(FAKE_COMMIT, 0, 1);
	CHECK(ebbi_meta_alloc(&meta, 64) == NULL);
	CHECK_EQ(fake_vm_reserved_bytes(), 0u);
	CHECK_EQ(meta.mapped_bytes, 0u);
	fake_vm_refuse(FAKE_RESERVE, 0, 1);
	CHECK(ebbi_meta_area(&meta, 4096) == NULL);
	block = ebbi_meta_alloc(&meta, 64);
	area = ebbi_meta_area(&meta, 4096);
	CHECK(block != NULL && area != NULL);
	CHECK_EQ(fake_vm_committed_bytes(), meta.mapped_bytes);
	/* Used up and refused: what was handed out stays, and a freed block serves. */
	fake_vm_refuse(FAKE_RESERVE, 0, UINT32_MAX);
	while (ebbi_meta_alloc(&meta, 1024) != NULL)
		continue;
	ebbi_meta_free(&meta, block, 64);
	CHECK(ebbi_meta_alloc(&meta, 64) == block);
}

TEST(areas)
{
	static const size_t units[] = {4096, 16384, 65536};

	for (size_t i = 0; i < 3; i++) {
		char *first;
		char *second;

		begin(units[i]);
		first = ebbi_meta_area(&meta, 5000);
		second = ebbi_meta_area(&meta, 1);
		REQUIRE(first != NULL && second != NULL);
		CHECK_EQ((uintptr_t)first % units[i], 0u);
		CHECK_EQ((size_t)(second - first), ebbi_round_up(5000, units[i]));
		CHECK(is_zero(first, ebbi_round_up(5000, units[i])));
		CHECK_EQ(meta.used_bytes, 0u);
		CHECK_EQ(fake_vm.purge(first, units[i]), 0);
	}
}

static void write_byte(void *at)
{
	/* Sanitizers have handlers of their own; here the bare signal counts. */
	(void)signal(SIGSEGV, SIG_DFL);
	*(volatile char *)at = 1;
}

TEST(guards_on_either_side)
{
	char *first;
	char text[256];

	begin(4096);
	first = ebbi_meta_alloc(&meta, 64);
	REQUIRE(first != NULL);
	CHECK(!fake_vm_is_committed((uintptr_t)first - 4096, 4096));
	CHECK(fake_vm_is_committed((uintptr_t)first, meta.mapped_bytes));
	CHECK(!fake_vm_is_committed((uintptr_t)first + meta.mapped_bytes, 4096));
	CHECK_EQ(child_run(write_byte, first - 1, text, sizeof(text)), SIGSEGV);
	CHECK_EQ(child_run(write_byte, first + meta.mapped_bytes, text, sizeof(text)), SIGSEGV);
	CHECK_EQ(child_run(write_byte, first + meta.mapped_bytes - 1, text, sizeof(text)), 0);
}

int main(void)
{
	RUN(blocks);
	RUN(reuse_is_zeroed_and_of_the_same_step);
	RUN(refusals);
	RUN(areas);
	RUN(guards_on_either_side);
	return check_report();
}
