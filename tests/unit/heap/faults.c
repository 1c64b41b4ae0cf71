/*
 * Every refusal of the kernel, on a fake one: each call of each kind fails alone, then from some call on for
 * good, with each errno that it can give, and then at random under threads that know what their blocks
 * hold. Nothing may be lost: contents stay, invariants hold, the caller sees ENOMEM or nothing, and
 * when all is freed no more is mapped than after the same work without refusals.
 *
 *	unit.heap.faults [seed [runs]]
 *
 * Every case is a child of its own, since a heap is for ever.
 */
#include "heap/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fake_heap.h"
#include "fake_vm.h"
#include "heap/fast.h"
#include "heap/inside.h"
#include "heap/reclaim.h"
#include "pages/release.h"
#include "pages/runbins.h"
#include "platform/membarrier.h"
#include "seeded.h"

#define MIB ((size_t)1 << 20)
#define KIB ((size_t)1 << 10)

/* In memory that parent and child share: what the same work does without refusals. */
struct calm {
	unsigned calls[FAKE_OPS];
	size_t mapped_bytes;
	size_t maps;
};

static struct calm *calm;

/* What the child says when it fails. */
static char what[160];

static const int answers[] = {-ENOMEM, -EAGAIN, -EPERM, -ENOSYS, -EINVAL};
#define ANSWERS (sizeof(answers) / sizeof(answers[0]))

/* --- Blocks that know what they hold --------------------------------------------------------- */

#define BLOCKS 160u

struct blocks {
	uint64_t state;
	unsigned long refused;
	uint64_t *at[BLOCKS];
	size_t bytes[BLOCKS];
};

/* The first and last word, and one a page: pages are what can be lost. */
static void fill(struct blocks *blocks, unsigned i)
{
	uint64_t *block = blocks->at[i];

	for (size_t word = 0; word < blocks->bytes[i] / 8; word += EBBI_PAGE_BYTES / 8)
		block[word] = (uintptr_t)blocks + i * 31 + word;
	block[blocks->bytes[i] / 8 - 1] = (uintptr_t)blocks + i;
}

static void check_words(const struct blocks *blocks, unsigned i, size_t bytes)
{
	const uint64_t *block = blocks->at[i];

	for (size_t word = 0; word + 1 < bytes / 8; word += EBBI_PAGE_BYTES / 8)
		if (block[word] != (uintptr_t)blocks + i * 31 + word && word != blocks->bytes[i] / 8 - 1)
			CHECK_FAIL("%s: %zu bytes at %p lost word %zu", what, blocks->bytes[i], (void *)block, word);
}

static void check_block(const struct blocks *blocks, unsigned i)
{
	check_words(blocks, i, blocks->bytes[i]);
	if (blocks->at[i][blocks->bytes[i] / 8 - 1] != (uintptr_t)blocks + i)
		CHECK_FAIL("%s: %zu bytes at %p lost their end", what, blocks->bytes[i], (void *)blocks->at[i]);
}

static void drop(struct blocks *blocks, unsigned i)
{
	int saved = errno = 77;

	if (blocks->at[i] == NULL)
		return;
	check_block(blocks, i);
	ebbi_fast_free(blocks->at[i]);
	if (errno != saved)
		CHECK_FAIL("%s: free set errno to %d", what, errno);
	blocks->at[i] = NULL;
}

static bool was_refused(struct blocks *blocks, const void *block)
{
	if (block != NULL)
		return false;
	if (errno != ENOMEM)
		CHECK_FAIL("%s: NULL with errno %d", what, errno);
	blocks->refused++;
	return true;
}

static void take(struct blocks *blocks, unsigned i, size_t bytes, size_t align_bytes, enum ebbi_content content)
{
	uint64_t *block;

	drop(blocks, i);
	errno = 0;
	block = align_bytes == 16 && content == EBBI_CONTENT_ANY ? ebbi_fast_alloc(bytes)
								 : ebbi_heap_alloc(bytes, align_bytes, content);
	if (was_refused(blocks, block))
		return;
	if ((uintptr_t)block % align_bytes != 0)
		CHECK_FAIL("%s: %p is not aligned to %zu", what, (void *)block, align_bytes);
	for (size_t word = 0; content == EBBI_CONTENT_ZERO && word < bytes / 8; word += 61)
		if (block[word] != 0)
			CHECK_FAIL("%s: word %zu of %zu zeroed bytes is set", what, word, bytes);
	blocks->at[i] = block;
	blocks->bytes[i] = bytes;
	fill(blocks, i);
}

static void resize(struct blocks *blocks, unsigned i, size_t bytes)
{
	uint64_t *block;

	if (blocks->at[i] == NULL) {
		take(blocks, i, bytes, 16, EBBI_CONTENT_ANY);
		return;
	}
	check_block(blocks, i);
	errno = 0;
	block = ebbi_heap_resize(blocks->at[i], bytes);
	if (was_refused(blocks, block)) {
		check_block(blocks, i); /* the old one is whole */
		return;
	}
	blocks->at[i] = block;
	check_words(blocks, i, ebbi_min_size(bytes, blocks->bytes[i]));
	blocks->bytes[i] = bytes;
	fill(blocks, i);
}

static void drop_all(struct blocks *blocks)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		drop(blocks, i);
}

/* --- One piece of work that comes to every kind of call ---------------------------------------- */

static void *other_thread(void *argument)
{
	struct blocks *blocks = argument;

	for (unsigned i = 0; i < 8; i++)
		take(blocks, i, 5 * KIB, 16, EBBI_CONTENT_ANY);
	drop_all(blocks);
	return NULL;
}

/* As a handler that interrupted the allocator. */
static void nested_work(void)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	void *block;

	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		return;
	block = ebbi_fast_alloc(100);
	if (block != NULL)
		ebbi_fast_free(block);
	ebbi_handshake_leave(&cache->handshake);
}

static void work(struct blocks *blocks, struct blocks *others)
{
	pthread_t thread;

	for (unsigned i = 0; i < 40; i++)
		take(blocks, i, (size_t)16 << i % 12, 16, i % 3 == 0 ? EBBI_CONTENT_ZERO : EBBI_CONTENT_ANY);
	take(blocks, 40, 100 * KIB, 16, EBBI_CONTENT_ZERO);
	take(blocks, 41, 300 * KIB, 64 * KIB, EBBI_CONTENT_ANY);
	take(blocks, 42, 5 * MIB, 16, EBBI_CONTENT_ZERO);
	take(blocks, 43, 6 * MIB, 2 * MIB, EBBI_CONTENT_ANY);
	nested_work();
	resize(blocks, 42, 9 * MIB);
	resize(blocks, 40, 3 * MIB);
	resize(blocks, 3, 20 * KIB);
	CHECK_EQ(pthread_create(&thread, NULL, other_thread, others), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	for (unsigned i = 0; i < 40; i += 2)
		drop(blocks, i);
	(void)ebbi_heap_purge();
	resize(blocks, 42, 5 * MIB);
	drop(blocks, 43);
	take(blocks, 44, 7 * MIB, 16, EBBI_CONTENT_ANY);
	drop(blocks, 42);
	(void)ebbi_heap_purge();
	for (unsigned i = 50; i < 80; i++)
		take(blocks, i, 30 * KIB, 16, EBBI_CONTENT_ANY);
	(void)ebbi_reclaim(NULL, 1);
	ebbi_heap_check();
	drop_all(blocks);
}

/* Address space in free runs too short to be unmapped: not lost. */
static size_t free_run_bytes(void)
{
	const struct ebbi_pages *pages = &ebbi_heap.store.pages;
	size_t sum = 0;

	for (unsigned bin = 0; bin < EBBI_RUN_BINS; bin++) {
		for (uintptr_t run = pages->clean.first[bin]; run != 0; run = ebbi_run_next_locked(run))
			sum += ebbi_entry_run_pages(ebbi_pagemap_get(run));
		for (uintptr_t run = pages->dirty.first[bin]; run != 0; run = ebbi_run_next_locked(run))
			sum += ebbi_entry_run_pages(ebbi_pagemap_get(run));
	}
	return sum << EBBI_PAGE_SHIFT;
}

/* With nothing refused: all goes through, and what is mapped in the end is what calm work leaves. */
static void check_calm_again(struct blocks *blocks, struct blocks *others, size_t *ret_mapped)
{
	fake_vm_refuse_randomly(0, 0, 0);
	for (unsigned op = 0; op < FAKE_OPS; op++)
		fake_vm_refuse(op, 0, 0);
	blocks->refused = others->refused = 0;
	work(blocks, others);
	if (blocks->refused + others->refused != 0)
		CHECK_FAIL("%s: %lu refused afterwards", what, blocks->refused + others->refused);
	(void)ebbi_heap_purge();
	(void)ebbi_pages_release(&ebbi_heap.store.pages);
	ebbi_heap_check();
	if (ebbi_heap.store.pages.live_pages != 0 || ebbi_heap.store.pages.leftover_count != 0)
		CHECK_FAIL("%s: %zu pages live, %u leftovers", what, ebbi_heap.store.pages.live_pages,
			   ebbi_heap.store.pages.leftover_count);
	*ret_mapped = fake_vm_reserved_bytes() - ebbi_pagemap_mapped_bytes() - free_run_bytes();
}

static struct blocks blocks[4];

static void run_calm(void)
{
	boot_on_fake();
	work(&blocks[0], &blocks[1]);
	for (unsigned op = 0; op < FAKE_OPS; op++)
		calm->calls[op] = fake_vm_calls(op);
	CHECK_EQ(blocks[0].refused, 0u);
	check_calm_again(&blocks[0], &blocks[1], &calm->mapped_bytes);
}

struct fault {
	unsigned op;
	unsigned after;
	unsigned count;
	int answer;
};

static void run_fault(const struct fault *fault)
{
	size_t mapped;

	boot_on_fake();
	snprintf(what, sizeof(what), "op %u, %u pass, %u fail with %d", fault->op, fault->after, fault->count,
		 fault->answer);
	fake_vm_refuse_with(fault->op, fault->answer);
	fake_vm_refuse(fault->op, fault->after, fault->count);
	work(&blocks[0], &blocks[1]);
	CHECK(fake_vm_refused(fault->op) > 0 || fault->count == UINT32_MAX);
	check_calm_again(&blocks[0], &blocks[1], &mapped);
	if (mapped > calm->mapped_bytes)
		CHECK_FAIL("%s: %zu bytes mapped in the end, not %zu", what, mapped, calm->mapped_bytes);
}

/* In a child; its verdict. */
static void in_child(void (*body)(const struct fault *), const struct fault *fault)
{
	int status;
	pid_t child = fork();

	CHECK_GE(child, 0);
	if (child == 0) {
		check_failed = 0;
		body(fault);
		fflush(stderr);
		_exit(check_failed != 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (status != 0)
		CHECK_FAIL("status 0x%x: op %u, %u pass, %u fail with %d", (unsigned)status, fault->op, fault->after,
			   fault->count, fault->answer);
}

static void calm_body(const struct fault *fault)
{
	(void)fault;
	run_calm();
}

TEST(calm)
{
	struct fault none = {0};

	in_child(calm_body, &none);
	CHECK_GT(calm->calls[FAKE_RESERVE], 1u);
	CHECK_GT(calm->calls[FAKE_COMMIT], 1u);
	CHECK_GT(calm->calls[FAKE_MAP], 1u);
	CHECK_GT(calm->calls[FAKE_PURGE], 1u);
	CHECK_GT(calm->calls[FAKE_UNMAP], 1u);
	CHECK_GT(calm->calls[FAKE_REMAP], 1u);
}

/* The same answer for every call would do: nobody looks at it. That is what all of them show. */
TEST(one_at_a_time)
{
	for (unsigned op = 0; op < FAKE_OPS; op++)
		for (unsigned after = 0; after < calm->calls[op]; after++)
			for (unsigned i = 0; i < ANSWERS; i++)
				if (i == after % ANSWERS || after < 2)
					in_child(run_fault, &(struct fault){op, after, 1, answers[i]});
}

TEST(from_one_on)
{
	for (unsigned op = 0; op < FAKE_OPS; op++)
		for (unsigned after = 0; after < calm->calls[op]; after += 1 + after / 2)
			in_child(run_fault, &(struct fault){op, after, UINT32_MAX, answers[after % ANSWERS]});
}

/* --- At random, with threads ------------------------------------------------------------------- */

static uint64_t seed = 1;
static unsigned runs = EBBI_TSAN || EBBI_ASAN ? 6 : 16;

static uint32_t barrier_per_mille; /* relaxed */
static uint64_t barrier_state;     /* relaxed; races do no harm to a die */

static long shaky_barrier(void)
{
	uint64_t state = ebbi_fetch_add_relaxed(&barrier_state, 7);

	if (seeded_below(&state, 1000) < ebbi_load_relaxed(&barrier_per_mille))
		return state % 2 == 0 ? -ENOMEM : -EPERM;
	return ebbi_membarrier_system.barrier();
}

static long shaky_query(void)
{
	return ebbi_membarrier_system.query();
}

static long shaky_register(void)
{
	return ebbi_membarrier_system.register_private();
}

static const struct ebbi_membarrier_ops shaky = {shaky_query, shaky_register, shaky_barrier};

static size_t some_bytes(uint64_t *state)
{
	size_t most = (size_t)16 << seeded_below(state, seeded_below(state, 8) == 0 ? 20 : 14);

	return ebbi_round_up(8 + seeded_below(state, most), 8);
}

static void random_step(struct blocks *own)
{
	unsigned i = (unsigned)seeded_below(&own->state, BLOCKS);

	switch (seeded_below(&own->state, 64)) {
	default:
		take(own, i, some_bytes(&own->state), 16, EBBI_CONTENT_ANY);
		break;
	case 0 ... 23:
		drop(own, i);
		break;
	case 24 ... 31:
		resize(own, i, some_bytes(&own->state));
		break;
	case 32 ... 35:
		take(own, i, some_bytes(&own->state), 16, EBBI_CONTENT_ZERO);
		break;
	case 36 ... 38:
		take(own, i, some_bytes(&own->state), (size_t)16 << seeded_below(&own->state, 14), EBBI_CONTENT_ANY);
		break;
	case 39:
		if (seeded_below(&own->state, 8) == 0)
			(void)ebbi_heap_purge();
		break;
	case 40:
		if (seeded_below(&own->state, 16) == 0)
			drop_all(own);
		break;
	case 41:
		if (seeded_below(&own->state, 8) == 0)
			(void)ebbi_reclaim(NULL, some_bytes(&own->state));
		break;
	case 42:
		nested_work();
		break;
	}
}

static void *random_thread(void *argument)
{
	struct blocks *own = argument;

	for (unsigned step = 0; step < 1000; step++) {
		random_step(own);
		if (step % 256 == 255)
			ebbi_heap_check();
	}
	drop_all(own);
	return NULL;
}

/* `after` is the seed here. */
static void run_random(const struct fault *fault)
{
	static const unsigned per_mille[] = {5, 50, 300, 900};
	uint64_t state = fault->after;
	unsigned threads = 1 + (unsigned)seeded_below(&state, 3);
	pthread_t thread[3];
	size_t mapped;

	boot_on_fake();
	snprintf(what, sizeof(what), "seed %u", fault->after);
	barrier_state = seeded_next(&state);
	barrier_per_mille = (uint32_t)seeded_below(&state, 3) * 20;
	CHECK_EQ(ebbi_membarrier_open(&shaky), 0);
	for (unsigned op = 0; op < FAKE_OPS; op++)
		fake_vm_refuse_with(op, answers[seeded_below(&state, ANSWERS)]);
	if (seeded_below(&state, 4) == 0)
		fake_vm_limit_maps(12 + seeded_below(&state, 40));
	fake_vm_refuse_randomly((unsigned)seeded_below(&state, FAKE_ALL) + 1, per_mille[seeded_below(&state, 4)],
				seeded_next(&state));
	for (unsigned i = 0; i < threads; i++) {
		blocks[i].state = seeded_next(&state);
		CHECK_EQ(pthread_create(&thread[i], NULL, random_thread, &blocks[i]), 0);
	}
	for (unsigned i = 0; i < threads; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	fake_vm_limit_maps(0);
	check_calm_again(&blocks[0], &blocks[1], &mapped);
	/* Descriptors and caches of more threads and blocks than the calm work has. */
	if (mapped > calm->mapped_bytes + 6 * MIB)
		CHECK_FAIL("%s: %zu bytes mapped in the end, not %zu", what, mapped, calm->mapped_bytes);
}

TEST(at_random)
{
	for (unsigned run = 0; run < runs; run++)
		in_child(run_random, &(struct fault){.after = (unsigned)seed + run});
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		runs = (unsigned)strtoul(argv[2], NULL, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	calm = mmap(NULL, sizeof(*calm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (calm == MAP_FAILED)
		return 1;
	RUN(calm);
	if (argc <= 1) {
		RUN(one_at_a_time);
		RUN(from_one_on);
	}
	RUN(at_random);
	return check_report();
}
