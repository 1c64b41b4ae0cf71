/* Explicit accounts: what counts where, limits, realloc, threads, handlers and forks. */
#include "heap/account.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "heap/fast.h"
#include "heap/inside.h"
#include "heap/misuse.h"
#include "seeded.h"

#define MIB ((size_t)1 << 20)
#define BLOCKS_MOST 4000u
#define OPERATIONS 40000u

static void *blocks[BLOCKS_MOST];

/* A new account of a name that no test had before. */
static int create(size_t limit_bytes)
{
	static unsigned made;
	char name[EBBI_ACCOUNT_NAME_BYTES];
	int account;

	snprintf(name, sizeof(name), "account %u", ++made);
	account = ebbi_account_create(name, limit_bytes);
	CHECK_GE(account, 1);
	return account;
}

static struct ebbi_account_figures figures_of(int account)
{
	struct ebbi_account_figures figures = {0};

	CHECK_EQ(ebbi_account_figures(account, &figures), 0);
	return figures;
}

static size_t live(int account)
{
	return figures_of(account).live_bytes;
}

static unsigned set_number(const void *block)
{
	uint64_t entry = ebbi_pagemap_get((uintptr_t)block);

	return ebbi_entry_kind(entry) < EBBI_CLASSES ? ebbi_entry_set(entry) : ebbi_entry_run_set(entry);
}

/* `count` blocks of all sizes; the bytes they have. */
static size_t fill(unsigned count, uint64_t seed)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t size = (size_t)1 << seeded_below(&seed, 17);

		blocks[i] = ebbi_fast_alloc(size + seeded_below(&seed, size));
		CHECK(blocks[i] != NULL);
		bytes += ebbi_heap_usable_bytes(blocks[i]);
	}
	return bytes;
}

static void empty(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ebbi_fast_free(blocks[i]);
}

TEST(names)
{
	int account = ebbi_account_create("a name of thirty-one characters", 0);

	CHECK_GE(account, 1);
	CHECK_STR_EQ(figures_of(account).name, "a name of thirty-one characters");
	CHECK_EQ(ebbi_account_create("a name of thirty-one characters", 0), -EEXIST);
	CHECK_EQ(ebbi_account_create("a name of thirty-two characters!", 0), -EINVAL);
	CHECK_EQ(ebbi_account_create("", 0), -EINVAL);
	CHECK_EQ(ebbi_account_create("two\nlines", 0), -EINVAL);
	CHECK_EQ(ebbi_account_create(NULL, 0), -EINVAL);
	CHECK_EQ(ebbi_account_enter(33), -EINVAL);
	CHECK_EQ(ebbi_account_enter(-1), -EINVAL);
	CHECK_EQ(ebbi_account_limit(0, 1, 1), -EINVAL);
	CHECK_EQ(ebbi_account_limit(33, 1, 1), -EINVAL);
	CHECK_EQ(ebbi_account_enter(0), 0);
}

TEST(counts_what_is_live)
{
	int account = create(0);
	size_t bytes;

	CHECK_EQ(live(account), 0u);
	CHECK_EQ(ebbi_account_enter(account), 0);
	bytes = fill(BLOCKS_MOST, 1);
	CHECK_EQ(live(account), bytes);
	CHECK_GE(figures_of(account).peak_bytes, bytes);
	/* Outside of it: freed blocks are its own all the same, and others are not. */
	CHECK_EQ(ebbi_account_enter(0), account);
	empty(BLOCKS_MOST / 2);
	for (unsigned i = 0; i < BLOCKS_MOST / 2; i++)
		blocks[i] = ebbi_fast_alloc(100);
	bytes = 0;
	for (unsigned i = BLOCKS_MOST / 2; i < BLOCKS_MOST; i++)
		bytes += ebbi_heap_usable_bytes(blocks[i]);
	CHECK_EQ(live(account), bytes);
	ebbi_heap_check();
	empty(BLOCKS_MOST);
	CHECK_EQ(live(account), 0u);
	(void)ebbi_heap_purge();
	CHECK_EQ(live(account), 0u);
	ebbi_heap_check();
}

/* Two accounts and none, all operations in any order: each byte stands where it was taken. */
TEST(at_random)
{
	int accounts[3] = {0, create(0), create(0)};
	unsigned of[BLOCKS_MOST] = {0};
	size_t sums[3] = {0};
	uint64_t seed = 2;

	memset(blocks, 0, sizeof(blocks));
	for (unsigned i = 0; i < OPERATIONS; i++) {
		unsigned at = (unsigned)seeded_below(&seed, BLOCKS_MOST / 8);
		unsigned which = (unsigned)seeded_below(&seed, 3);
		size_t size = (size_t)1 << seeded_below(&seed, 18);

		size += seeded_below(&seed, size);
		(void)ebbi_account_enter(accounts[which]);
		if (blocks[at] == NULL) {
			blocks[at] = seeded_below(&seed, 4) == 0 ? ebbi_heap_alloc(size, 64, EBBI_CONTENT_ZERO)
								 : ebbi_fast_alloc(size);
			of[at] = which;
			sums[which] += ebbi_heap_usable_bytes(blocks[at]);
			continue;
		}
		sums[of[at]] -= ebbi_heap_usable_bytes(blocks[at]);
		if (seeded_below(&seed, 2) == 0) {
			/* It stays where it was, whoever asks. */
			blocks[at] = ebbi_heap_resize(blocks[at], size);
			sums[of[at]] += ebbi_heap_usable_bytes(blocks[at]);
			CHECK_EQ(ebbi_account_enter(accounts[which]), accounts[which]);
		} else {
			ebbi_fast_free(blocks[at]);
			blocks[at] = NULL;
		}
	}
	(void)ebbi_account_enter(0);
	CHECK_EQ(live(accounts[1]), sums[1]);
	CHECK_EQ(live(accounts[2]), sums[2]);
	ebbi_heap_check();
	for (unsigned i = 0; i < BLOCKS_MOST; i++)
		if (blocks[i] != NULL)
			ebbi_fast_free(blocks[i]);
	CHECK_EQ(live(accounts[1]) + live(accounts[2]), 0u);
}

TEST(large_blocks)
{
	int account = create(0);
	void *block;

	(void)ebbi_account_enter(account);
	block = ebbi_fast_alloc(3 * MIB);
	CHECK_EQ(live(account), ebbi_heap_usable_bytes(block));
	(void)ebbi_account_enter(0);
	block = ebbi_heap_resize(block, 9 * MIB);
	CHECK_EQ(live(account), ebbi_heap_usable_bytes(block));
	CHECK_GE(ebbi_heap_usable_bytes(block), 9 * MIB);
	block = ebbi_heap_resize(block, 40 * MIB);
	CHECK_EQ(live(account), ebbi_heap_usable_bytes(block));
	block = ebbi_heap_resize(block, 5 * MIB);
	CHECK_EQ(live(account), ebbi_heap_usable_bytes(block));
	block = ebbi_heap_resize(block, 100);
	CHECK_EQ(live(account), ebbi_heap_usable_bytes(block));
	ebbi_fast_free(block);
	CHECK_EQ(live(account), 0u);
	block = ebbi_fast_alloc(9 * MIB);
	CHECK_EQ(set_number(block), 0u);
	ebbi_fast_free(block);
}

static unsigned said;
static size_t said_bytes;
static int said_account;

static void say(size_t bytes, int account)
{
	said++;
	said_bytes = bytes;
	said_account = account;
}

/* Up to the limit to the byte, small or large, and not a byte more. */
TEST(hard_limit)
{
	static const size_t sizes[] = {16, 100, 1000, 4096, 30000, 100000, 1 << 20};

	ebbi_heap.explain = say;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int account = create(4 * MIB);
		size_t one = 0;
		unsigned count = 0;

		said = 0;
		(void)ebbi_account_enter(account);
		for (; count < 4 * MIB / sizes[i] + 1; count++) {
			void **block = ebbi_fast_alloc(sizes[i]);

			if (block == NULL)
				break;
			*block = count == 0 ? NULL : blocks[0];
			blocks[0] = block;
			one = ebbi_heap_usable_bytes(block);
		}
		CHECK_EQ(count, 4 * MIB / one);
		CHECK_EQ(errno, ENOMEM);
		CHECK_EQ(figures_of(account).refusals, 1u);
		CHECK_LE(figures_of(account).peak_bytes, 4 * MIB);
		CHECK_EQ(said, 1u);
		CHECK_EQ(said_bytes, sizes[i] > EBBI_SMALL_MOST ? sizes[i] : one);
		CHECK_EQ(said_account, account);
		/* Not once more within a second; others do not suffer. */
		CHECK(ebbi_fast_alloc(sizes[i]) == NULL);
		CHECK_EQ(said, 1u);
		(void)ebbi_account_enter(0);
		CHECK((blocks[1] = ebbi_fast_alloc(sizes[i])) != NULL);
		ebbi_fast_free(blocks[1]);
		/* What one size gave back serves another one. */
		while (count > 0) {
			void **block = blocks[0];

			blocks[0] = *block;
			ebbi_fast_free(block);
			count--;
		}
		(void)ebbi_account_enter(account);
		CHECK((blocks[1] = ebbi_fast_alloc(3 * MIB)) != NULL);
		ebbi_fast_free(blocks[1]);
		(void)ebbi_account_enter(0);
		CHECK_EQ(live(account), 0u);
	}
	ebbi_heap.explain = NULL;
}

/* Who meets the limit and makes its buffer shorter has room again. */
TEST(shrinks_at_the_limit)
{
	static const size_t sizes[][2] = {{4, 40000}, {4, 100}, {8, 1 << 20}, {8, 5 << 20}, {2, 40000}, {3, 10}};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t bytes = sizes[i][0] * MIB;
		int account = create(bytes + MIB / 4);
		char *block;

		(void)ebbi_account_enter(account);
		block = ebbi_fast_alloc(bytes);
		REQUIRE(block != NULL);
		memset(block, 7, bytes);
		CHECK(ebbi_fast_alloc(MIB / 2) == NULL);
		(void)ebbi_account_limit(account, 0, live(account));
		block = ebbi_heap_resize(block, sizes[i][1]);
		REQUIRE(block != NULL);
		CHECK_LE(ebbi_heap_usable_bytes(block), ebbi_round_up(sizes[i][1], 4096));
		CHECK_EQ(live(account), ebbi_heap_usable_bytes(block));
		CHECK_EQ(block[0], 7);
		CHECK_EQ(block[sizes[i][1] - 1], 7);
		CHECK((blocks[0] = ebbi_fast_alloc(bytes / 2 - MIB / 2)) != NULL || sizes[i][1] > bytes / 2);
		if (blocks[0] != NULL)
			ebbi_fast_free(blocks[0]);
		ebbi_fast_free(block);
		(void)ebbi_account_enter(0);
		CHECK_EQ(live(account), 0u);
	}
	ebbi_heap_check();
}

TEST(limit_below_what_is_there)
{
	int account = create(0);

	(void)ebbi_account_enter(account);
	for (unsigned i = 0; i < 1000; i++)
		blocks[i] = ebbi_fast_alloc(1000);
	CHECK_EQ(ebbi_account_limit(account, 0, 100000), 0);
	CHECK(ebbi_fast_alloc(1000) == NULL);
	CHECK(ebbi_fast_alloc(10) == NULL);
	empty(1000);
	CHECK((blocks[0] = ebbi_fast_alloc(1000)) != NULL);
	ebbi_fast_free(blocks[0]);
	(void)ebbi_account_enter(0);
}

TEST(soft_limit)
{
	int account = create(0);

	ebbi_heap.explain = say;
	said = 0;
	CHECK_EQ(ebbi_account_limit(account, MIB, 0), 0);
	CHECK_EQ(figures_of(account).soft_bytes, MIB);
	CHECK_EQ(figures_of(account).limit_bytes, 0u);
	(void)ebbi_account_enter(account);
	for (unsigned i = 0; i < 1000; i++)
		blocks[i] = ebbi_fast_alloc(1000);
	CHECK_EQ(said, 0u);
	for (unsigned i = 1000; i < 3000; i++)
		blocks[i] = ebbi_fast_alloc(1000);
	CHECK_EQ(said, 1u);
	CHECK_EQ(said_bytes, 0u);
	CHECK_EQ(said_account, account);
	(void)ebbi_account_enter(0);
	empty(3000);
	ebbi_heap.explain = NULL;
}

struct job {
	int account;
	unsigned seed;
	struct job *other; /* frees its blocks, too */
	void *blocks[BLOCKS_MOST];
	size_t bytes;
	pthread_barrier_t *barrier;
};

static void *work(void *argument)
{
	struct job *job = argument;
	uint64_t seed = job->seed;

	(void)ebbi_account_enter(job->account);
	for (unsigned i = 0; i < BLOCKS_MOST; i++) {
		job->blocks[i] = ebbi_fast_alloc(1 + seeded_below(&seed, 3000));
		/* Some come and go at once, and some are freed in another account. */
		if (i % 7 == 0) {
			int before = ebbi_account_enter(0);

			ebbi_fast_free(job->blocks[i]);
			job->blocks[i] = ebbi_fast_alloc(200);
			CHECK_EQ(ebbi_account_enter(before), 0);
		}
		if (set_number(job->blocks[i]) != 0)
			job->bytes += ebbi_heap_usable_bytes(job->blocks[i]);
	}
	pthread_barrier_wait(job->barrier);
	/* Looked at by the main thread here. */
	pthread_barrier_wait(job->barrier);
	for (unsigned i = 0; i < BLOCKS_MOST; i++)
		ebbi_fast_free(job->other->blocks[i]);
	return NULL;
}

TEST(threads_free_each_others)
{
	static struct job jobs[4];
	pthread_barrier_t barrier;
	pthread_t threads[4];

	pthread_barrier_init(&barrier, NULL, 5);
	for (unsigned i = 0; i < 4; i++) {
		jobs[i] =
			(struct job){.account = create(0), .seed = i, .other = &jobs[(i + 1) % 4], .barrier = &barrier};
		REQUIRE(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
	}
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(live(jobs[i].account), jobs[i].bytes);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(live(jobs[i].account), 0u);
	(void)ebbi_heap_purge();
	ebbi_heap_check();
	pthread_barrier_destroy(&barrier);
}

/* A thread that takes over another one's cache finds itself in no account. */
static void *in_none(void *argument)
{
	void *block = ebbi_fast_alloc(64);

	for (unsigned i = 0; i < 100; i++)
		ebbi_fast_free(ebbi_fast_alloc(64));
	*(unsigned *)argument = set_number(block);
	ebbi_fast_free(block);
	return NULL;
}

static void *in_one(void *argument)
{
	(void)ebbi_account_enter(*(int *)argument);
	for (unsigned i = 0; i < 100; i++)
		blocks[i] = ebbi_fast_alloc(64);
	for (unsigned i = 0; i < 100; i++)
		ebbi_fast_free(blocks[i]);
	return NULL;
}

TEST(threads_start_in_none)
{
	int account = create(0);
	unsigned number = 1;
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, in_one, &account) == 0);
	pthread_join(thread, NULL);
	REQUIRE(pthread_create(&thread, NULL, in_none, &number) == 0);
	pthread_join(thread, NULL);
	CHECK_EQ(number, 0u);
	CHECK_EQ(live(account), 0u);
}

TEST(a_child_counts_on)
{
	int account = create(0);
	size_t before;
	pid_t child;
	int status;

	(void)ebbi_account_enter(account);
	/* Less than what starts a thread, which the child under TSan may not. */
	for (unsigned i = 0; i < 500; i++)
		blocks[i] = ebbi_fast_alloc(1 + i * 3 % 1500);
	before = live(account);
	ebbi_heap_fork_prepare();
	child = fork();
	if (child == 0) {
		ebbi_heap_fork_child();
		empty(250);
		(void)ebbi_account_enter(0);
		ebbi_heap_check();
		for (unsigned i = 250; i < 500; i++)
			ebbi_fast_free(blocks[i]);
		_exit(live(account) == 0 ? 0 : 1);
	}
	ebbi_heap_fork_parent();
	(void)ebbi_account_enter(0);
	REQUIRE(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(live(account), before);
	empty(500);
	CHECK_EQ(live(account), 0u);
}

/* As a handler finds the thread that it interrupted within the allocator. */
TEST(nested)
{
	int known = create(0);
	int fresh = create(0);
	struct ebbi_cache *cache = ebbi_thread_cache();
	void *block;

	(void)ebbi_account_enter(known);
	(void)ebbi_account_enter(0);
	block = ebbi_fast_alloc(100);
	REQUIRE(ebbi_heap_enter(cache) == EBBI_ENTERED);
	CHECK_EQ(ebbi_account_create("nested", 0), -EAGAIN);
	CHECK_EQ(ebbi_account_enter(fresh), -EAGAIN);
	CHECK_EQ(ebbi_account_enter(known), 0);
	blocks[0] = ebbi_fast_alloc(100);
	CHECK_EQ(set_number(blocks[0]), 0u);
	CHECK_EQ(ebbi_account_enter(0), known);
	ebbi_handshake_leave(&cache->handshake);
	ebbi_fast_free(blocks[0]);
	ebbi_fast_free(block);
	CHECK_EQ(live(known), 0u);
}

static void twice(void *which)
{
	void *block;

	(void)ebbi_account_enter(create(0));
	block = ebbi_fast_alloc(100);
	if (*(int *)which == 1)
		(void)ebbi_account_enter(0);
	ebbi_fast_free(block);
	ebbi_fast_free(block);
}

static void inside(void *which)
{
	char *block;

	(void)which;
	(void)ebbi_account_enter(create(0));
	block = ebbi_fast_alloc(100);
	ebbi_fast_free(block + 16);
}

TEST(misuse_is_found)
{
	char text[1024];
	int which = 0;

	for (; which < 2; which++) {
		CHECK_EQ(child_run(twice, &which, text, sizeof(text)), 6);
		CHECK(strstr(text, "a 112-byte slot that is already free\n") != NULL);
	}
	CHECK_EQ(child_run(inside, NULL, text, sizeof(text)), 6);
	CHECK(strstr(text, "inside a 112-byte slot that starts at") != NULL);
}

/* Options that want each operation to pass by. */
static void checked(void *unused)
{
	int account;

	(void)unused;
	ebbi_heap.config.check = EBB_CHECK_FULL;
	ebbi_heap.config.zero_on_free = true;
	account = create(0);
	(void)ebbi_account_enter(account);
	if (fill(1000, 4) != live(account))
		abort();
	empty(500);
	(void)ebbi_account_enter(0);
	for (unsigned i = 500; i < 1000; i++)
		ebbi_fast_free(blocks[i]);
	if (live(account) != 0)
		abort();
}

TEST(with_full_checks)
{
	char text[1024];

	setenv("EBB_CONF", "check:full", 1);
	CHECK_EQ(child_run(checked, NULL, text, sizeof(text)), 0);
	CHECK_STR_EQ(text, "");
}

TEST(no_more_than_there_are_places)
{
	int last = 0;
	int next;

	for (unsigned i = 0; i < 100; i++) {
		char name[EBBI_ACCOUNT_NAME_BYTES];

		snprintf(name, sizeof(name), "filler %u", i);
		next = ebbi_account_create(name, 0);
		if (next < 0)
			break;
		last = next;
	}
	CHECK_EQ(next, -ENOSPC);
	CHECK_EQ(last, (int)EBBI_ACCOUNTS_MOST);
	CHECK_EQ(ebbi_account_enter(last), 0);
	blocks[0] = ebbi_fast_alloc(1000);
	CHECK_EQ(live(last), ebbi_heap_usable_bytes(blocks[0]));
	ebbi_fast_free(blocks[0]);
	CHECK_EQ(ebbi_account_enter(0), last);
	ebbi_heap_check();
}

int main(void)
{
	RUN(names);
	RUN(counts_what_is_live);
	RUN(at_random);
	RUN(large_blocks);
	RUN(hard_limit);
	RUN(shrinks_at_the_limit);
	RUN(limit_below_what_is_there);
	RUN(soft_limit);
	RUN(threads_free_each_others);
	RUN(threads_start_in_none);
	RUN(a_child_counts_on);
	RUN(nested);
	RUN(misuse_is_found);
	RUN(with_full_checks);
	RUN(no_more_than_there_are_places);
	return check_report();
}
