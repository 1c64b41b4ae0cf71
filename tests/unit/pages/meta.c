/* Metadata memory: alignment, zeros, reuse, what goes back to the kernel, guards, refusals. */
#include "pages/meta.h"

#include <signal.h>
#include <sys/resource.h>

#include "check.h"
#include "child.h"
#include "fake_vm.h"
#include "seeded.h"

static struct ebbi_meta meta;

static void begin(size_t page_bytes)
{
	memset(&meta, 0, sizeof(meta));
	fake_vm_reset(page_bytes);
	ebbi_meta_init(&meta, &fake_vm, page_bytes);
	CHECK_EQ(fake_vm_calls(FAKE_RESERVE), 0u);
}

static void *get(size_t bytes)
{
	return ebbi_meta_alloc(&meta, bytes, EBBI_META_BRIEF);
}

static uintptr_t chunk_of(const void *block)
{
	return ebbi_round_down((uintptr_t)block, EBBI_META_CHUNK_BYTES);
}

static uintptr_t page_of(const void *block)
{
	return ebbi_round_down((uintptr_t)block, EBBI_PAGE_BYTES);
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
		blocks[bytes] = get(bytes);
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

TEST(lowest_first_and_zeroed)
{
	void *first;
	void *second;

	begin(4096);
	first = get(100);
	second = get(100);
	CHECK((uintptr_t)second > (uintptr_t)first);
	memset(first, 0xee, 128);
	ebbi_meta_free(&meta, first, 100);
	/* Three units do not fit where two were. */
	CHECK((uintptr_t)get(129) > (uintptr_t)second);
	CHECK(get(65) == first);
	CHECK(is_zero(first, 128));
	CHECK_EQ(meta.used_bytes, 128u + 128u + 192u);
	ebbi_meta_check(&meta);
}

TEST(no_block_crosses_a_page)
{
	begin(4096);
	for (unsigned i = 0; i < 2000; i++) {
		size_t bytes = 1 + i * 37 % EBBI_META_BLOCK_MOST;
		uintptr_t block = (uintptr_t)get(bytes);

		REQUIRE(block != 0);
		CHECK_EQ(block >> EBBI_PAGE_SHIFT, (block + bytes - 1) >> EBBI_PAGE_SHIFT);
	}
	ebbi_meta_check(&meta);
}

/* Blocks that stay and blocks that go do not share a page, so that the latter's pages can go. */
TEST(lives_apart)
{
	void *lasting[40];
	void *brief[40];

	begin(4096);
	for (unsigned i = 0; i < 40; i++) {
		lasting[i] = ebbi_meta_alloc(&meta, 128, EBBI_META_LASTING);
		brief[i] = get(128);
	}
	for (unsigned i = 0; i < 40; i++)
		for (unsigned k = 0; k < 40; k++)
			CHECK(page_of(lasting[i]) != page_of(brief[k]));
	for (unsigned i = 0; i < 40; i++)
		ebbi_meta_free(&meta, brief[i], 128);
	CHECK_EQ(meta.idle_pages, 2u);
	ebbi_meta_check(&meta);
}

TEST(idle_pages_go_back)
{
	static void *blocks[1024];
	size_t refused;

	begin(4096);
	for (unsigned i = 0; i < 1024; i++) {
		blocks[i] = get(256);
		memset(blocks[i], 0xee, 256);
	}
	CHECK_EQ(ebbi_meta_purge(&meta, &refused), 0u);
	CHECK_EQ(fake_vm_calls(FAKE_PURGE), 0u);
	/* All but the last block of each page: nothing can go yet. */
	for (unsigned i = 0; i + 1 < 1024; i++)
		if (page_of(blocks[i]) == page_of(blocks[i + 1]))
			ebbi_meta_free(&meta, blocks[i], 256);
	CHECK_EQ(ebbi_meta_purge(&meta, &refused), 0u);
	for (unsigned i = 0; i < 1024; i++)
		if (i + 1 == 1024 || page_of(blocks[i]) != page_of(blocks[i + 1]))
			ebbi_meta_free(&meta, blocks[i], 256);
	CHECK(meta.idle_pages >= 1024 / 16 - 1);
	CHECK(ebbi_meta_purge(&meta, &refused) >= 1024 / 16 - 1);
	CHECK_EQ(refused, 0u);
	CHECK_EQ(meta.idle_pages, 0u);
	CHECK_EQ(fake_vm_resident_pages(chunk_of(blocks[0]) + 4096, EBBI_META_CHUNK_BYTES - 4096), 1u);
	CHECK_EQ(ebbi_meta_purge(&meta, &refused), 0u);
	ebbi_meta_check(&meta);
	/* And serve again, lowest first, zeroed. */
	CHECK(get(256) == blocks[0]);
	CHECK(is_zero(blocks[0], 256));
}

/* Where the kernel's page has 64 KiB, one block keeps sixteen of ours. */
TEST(idle_pages_of_a_large_kernel_page)
{
	static void *blocks[150];
	size_t refused;

	begin(65536);
	for (unsigned i = 0; i < 150; i++) {
		blocks[i] = get(1024);
		REQUIRE(blocks[i] != NULL);
	}
	CHECK(chunk_of(blocks[149]) == chunk_of(blocks[0]));
	for (unsigned i = 1; i < 150; i++)
		ebbi_meta_free(&meta, blocks[i], 1024);
	/* The second and third of the chunk's three pages; the first has blocks[0]. */
	CHECK(ebbi_meta_purge(&meta, &refused) > 0);
	CHECK_EQ(fake_vm_resident_pages(chunk_of(blocks[0]) + 131072, 131072), 0u);
	CHECK(fake_vm_resident_pages(chunk_of(blocks[0]) + 65536, 65536) > 0u);
	ebbi_meta_check(&meta);
}

TEST(refused_purges_lose_nothing)
{
	static void *blocks[64];
	size_t refused;

	begin(4096);
	for (unsigned i = 0; i < 64; i++)
		blocks[i] = get(1024);
	for (unsigned i = 0; i < 64; i++)
		ebbi_meta_free(&meta, blocks[i], 1024);
	fake_vm_refuse(FAKE_PURGE, 0, UINT32_MAX);
	CHECK_EQ(ebbi_meta_purge(&meta, &refused), 0u);
	CHECK(refused >= 15);
	CHECK_EQ(refused, meta.idle_pages);
	ebbi_meta_check(&meta);
	for (unsigned i = 0; i < 64; i++)
		CHECK(get(1024) == blocks[i]);
}

struct held {
	unsigned char *block;
	size_t bytes;
	unsigned char fill;
};

static void hold_another(struct held *held, uint64_t *random)
{
	held->bytes = 1 + seeded_below(random, EBBI_META_BLOCK_MOST);
	held->block =
		ebbi_meta_alloc(&meta, held->bytes, seeded_below(random, 4) == 0 ? EBBI_META_LASTING : EBBI_META_BRIEF);
	held->fill = (unsigned char)seeded_below(random, 256);
	REQUIRE(held->block != NULL);
	CHECK(is_zero(held->block, held->bytes));
	memset(held->block, held->fill, held->bytes);
}

static void give_up(struct held *held)
{
	for (size_t i = 0; i < held->bytes; i++)
		if (held->block[i] != held->fill)
			CHECK_FAIL("a block of %zu bytes was overwritten", held->bytes);
	ebbi_meta_free(&meta, held->block, held->bytes);
	held->block = NULL;
}

TEST(random_against_what_was_written)
{
	static struct held held[3000];
	uint64_t random = 11;

	begin(4096);
	for (unsigned step = 0; step < 40000; step++) {
		struct held *at = &held[seeded_below(&random, 3000)];
		size_t refused;

		if (at->block != NULL)
			give_up(at);
		else if (seeded_below(&random, 3) > step / 10000 % 2)
			hold_another(at, &random);
		if (step % 500 == 0) {
			fake_vm_refuse(FAKE_PURGE, 1, 1);
			(void)ebbi_meta_purge(&meta, &refused);
			ebbi_meta_check(&meta);
		}
	}
	for (unsigned i = 0; i < 3000; i++)
		if (held[i].block != NULL)
			give_up(&held[i]);
	CHECK_EQ(meta.used_bytes, 0u);
	ebbi_meta_check(&meta);
}

static void free_twice(void *at)
{
	ebbi_meta_free(&meta, at, 64);
	ebbi_meta_free(&meta, at, 64);
}

TEST(twice_is_seen)
{
	char text[256];

	begin(4096);
	CHECK_EQ(child_run(free_twice, get(64), text, sizeof(text)), SIGABRT);
	CHECK(strstr(text, "freed twice") != NULL);
}

TEST(refusals)
{
	char *block;
	char *area;

	begin(4096);
	fake_vm_refuse(FAKE_RESERVE, 0, 1);
	CHECK(get(64) == NULL);
	CHECK_EQ(meta.used_bytes, 0u);
	fake_vm_refuse(FAKE_COMMIT, 0, 1);
	CHECK(get(64) == NULL);
	CHECK_EQ(fake_vm_reserved_bytes(), 0u);
	CHECK_EQ(meta.mapped_bytes, 0u);
	fake_vm_refuse(FAKE_RESERVE, 0, 1);
	CHECK(ebbi_meta_area(&meta, 4096) == NULL);
	block = get(64);
	area = ebbi_meta_area(&meta, 4096);
	CHECK(block != NULL && area != NULL);
	CHECK_EQ(fake_vm_committed_bytes(), meta.mapped_bytes);
	/* Used up and refused: what was handed out stays, and a freed block serves. */
	fake_vm_refuse(FAKE_RESERVE, 0, UINT32_MAX);
	while (get(1024) != NULL)
		continue;
	ebbi_meta_free(&meta, block, 64);
	CHECK(get(64) == block);
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
	char *lowest;
	char text[256];

	begin(4096);
	first = get(64);
	REQUIRE(first != NULL);
	lowest = (char *)chunk_of(first) + 4096;
	CHECK(!fake_vm_is_committed((uintptr_t)lowest - 4096, 4096));
	CHECK(fake_vm_is_committed((uintptr_t)lowest, meta.mapped_bytes));
	CHECK(!fake_vm_is_committed((uintptr_t)lowest + meta.mapped_bytes, 4096));
	CHECK_EQ(child_run(write_byte, lowest - 1, text, sizeof(text)), SIGSEGV);
	CHECK_EQ(child_run(write_byte, lowest + meta.mapped_bytes, text, sizeof(text)), SIGSEGV);
	CHECK_EQ(child_run(write_byte, lowest + meta.mapped_bytes - 1, text, sizeof(text)), 0);
}

int main(void)
{
	RUN(blocks);
	RUN(lowest_first_and_zeroed);
	RUN(no_block_crosses_a_page);
	RUN(lives_apart);
	RUN(idle_pages_go_back);
	RUN(idle_pages_of_a_large_kernel_page);
	RUN(refused_purges_lose_nothing);
	RUN(random_against_what_was_written);
	RUN(twice_is_seen);
	RUN(refusals);
	RUN(areas);
	RUN(guards_on_either_side);
	return check_report();
}
