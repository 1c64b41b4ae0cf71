/*
 * A program under RLIMIT_AS: it fills the limit with blocks of one shape, frees them all, and must reach as
 * far again with blocks of another; free memory in the wrong shape is no excuse for NULL.
 *   limit shapes            blocks from 192 bytes to 24 MiB after one another, by one thread and by several
 *   limit family            calloc, realloc, aligned blocks at the limit
 *   limit live SECONDS      threads allocate and free at the limit
 * The figures it prints can be had for another allocator, which is not judged, by running it without libebb.
 */
#include "churn.h"

#include <sys/resource.h>

#define LIMIT ((size_t)256 << 20)
#define THREADS 3u

/* Of the address space that is not the program's own, this part must be reached: per cent. */
#define MUST_REACH 90

struct block {
	struct block *next;
	size_t bytes;
};

struct filler {
	pthread_t thread;
	size_t bytes;
	size_t reached;
	struct block *blocks;
};

static size_t room;

/* A thread's stack is a mapping like any other: all are there before somebody fills the room. */
static pthread_barrier_t all_there;

static void set_limit(void)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_AS, &limit) == 0, "getrlimit");
	limit.rlim_cur = LIMIT;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
	room = LIMIT - (size_t)proc_status("VmSize:") * 1024;
}

static void *fill(void *argument)
{
	struct filler *filler = argument;
	struct block *block;

	errno = 0;
	while ((block = hide(malloc(filler->bytes))) != NULL) {
		*block = (struct block){filler->blocks, filler->bytes};
		filler->blocks = block;
		filler->reached += filler->bytes;
	}
	CHECK(errno == ENOMEM, "a refusal sets ENOMEM, not %d", errno);
	return NULL;
}

static void *fill_with_others(void *argument)
{
	(void)pthread_barrier_wait(&all_there);
	return fill(argument);
}

static void empty(struct filler *filler)
{
	while (filler->blocks != NULL) {
		struct block *block = filler->blocks;

		CHECK(block->bytes == filler->bytes, "a block of %zu bytes says %zu", filler->bytes, block->bytes);
		filler->blocks = block->next;
		free(block);
	}
	filler->reached = 0;
}

static pthread_t small_thread(void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 128 << 10) == 0, "stack");
	CHECK(pthread_create(&thread, &attributes, run, argument) == 0, "pthread_create");
	CHECK(pthread_attr_destroy(&attributes) == 0, "attributes");
	return thread;
}

/* Returns per cent of the room; everything is freed again, by this thread. */
static size_t fill_and_empty(size_t bytes, unsigned threads)
{
	struct filler fillers[THREADS] = {0};
	size_t reached = 0;

	CHECK(pthread_barrier_init(&all_there, NULL, threads) == 0, "barrier");
	for (unsigned i = 0; i < threads; i++) {
		fillers[i].bytes = bytes;
		if (threads > 1)
			fillers[i].thread = small_thread(fill_with_others, &fillers[i]);
		else
			fill(&fillers[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		if (threads > 1)
			check_join(fillers[i].thread);
		reached += fillers[i].reached;
	}
	CHECK(pthread_barrier_destroy(&all_there) == 0, "barrier");
	for (unsigned i = 0; i < threads; i++)
		empty(&fillers[i]);
	check_note("%u thread(s), blocks of %zu bytes: %zu MiB, %zu %% of the room\n", threads, bytes, reached >> 20,
		   reached * 100 / room);
	return reached * 100 / room;
}

static void test_shapes(void)
{
	static const struct {
		size_t bytes;
		unsigned threads;
	} shapes[] = {
		{1024, 1},      {1 << 20, 1}, {1024, 1},        {6 << 20, 1},       {50000, 1}, {24 << 20, 1},
		{192, THREADS}, {6 << 20, 1}, {1024, 1},        {1 << 20, THREADS}, {3000, 1},  {6 << 20, THREADS},
		{192, 1},       {300000, 1},  {20000, THREADS}, {5 << 20, 1},
	};

	set_limit();
	/* Nobody gets a block, but the C library keeps the threads' stacks for later ones. */
	(void)fill_and_empty(PTRDIFF_MAX, THREADS);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		size_t reached = fill_and_empty(shapes[i].bytes, shapes[i].threads);
		/* Blocks of 24 MiB: the last that does not fit is more than a tenth of the room. */
		size_t must = MUST_REACH - (shapes[i].bytes > (size_t)16 << 20 ? 10 : 0);

		/* Of blocks of 50000 bytes whole pages alone take 6 %. */
		if (shapes[i].bytes > 32768)
			must = must * shapes[i].bytes / ((shapes[i].bytes + 4095) / 4096 * 4096);

		CHECK(!check_on_ebb() || reached >= must, "only %zu %% with blocks of %zu bytes", reached,
		      shapes[i].bytes);
	}
}

/* Each step begins with its offset. */
static void check_steps(const uint8_t *block, size_t bytes, size_t step)
{
	for (size_t at = 0; at < bytes; at += step)
		CHECK(*(const size_t *)(const void *)(block + at) == at, "contents lost at %zu of %zu bytes", at,
		      bytes);
}

/* Grow one block as far as it goes; returns per cent of the room. */
static size_t grow(size_t step)
{
	size_t bytes = step;
	uint8_t *block = hide(malloc(bytes));
	uint8_t *more;

	CHECK(block != NULL, "the first %zu bytes", bytes);
	memset(block, 0, bytes);
	while ((more = hide(realloc(block, bytes + step))) != NULL) {
		block = more;
		check_steps(block, bytes, step);
		*(size_t *)(void *)(block + bytes) = bytes;
		bytes += step;
	}
	check_steps(block, bytes, step);
	free(block);
	check_note("realloc by %zu KiB: %zu MiB, %zu %% of the room\n", step >> 10, bytes >> 20, bytes * 100 / room);
	return bytes * 100 / room;
}

static size_t fill_other(size_t bytes, bool aligned)
{
	static void *blocks[4000];
	size_t count = 0;

	for (; count < 4000; count++) {
		void *block = NULL;

		if (aligned)
			(void)posix_memalign(&block, 64 << 10, bytes);
		else
			block = hide(calloc(1, bytes));
		if (block == NULL)
			break;
		CHECK(aligned ? (uintptr_t)block % (64 << 10) == 0 : pattern_find_range(block, 0, 0, 0) == SIZE_MAX,
		      "%p", block);
		for (size_t i = 0; !aligned && i < bytes; i += 4096)
			CHECK(((uint8_t *)block)[i] == 0, "calloc: byte %zu of %zu", i, bytes);
		memset(block, 0x77, bytes < 8192 ? bytes : 8192);
		blocks[count] = block;
	}
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
	check_note("%s of %zu bytes: %zu MiB, %zu %% of the room\n", aligned ? "posix_memalign" : "calloc", bytes,
		   count * bytes >> 20, count * bytes * 100 / room);
	return count * bytes * 100 / room;
}

static void test_family(void)
{
	set_limit();
	for (unsigned round = 0; round < 2; round++) {
		size_t grown = grow(512 << 10);

		/* Moved without a copy, as long as the old and the new place fit side by side. */
		CHECK(!check_on_ebb() || grown >= 45, "only %zu %% by realloc", grown);
		CHECK(fill_other(3 << 20, /* aligned= */ false) >= 85 || !check_on_ebb(), "calloc");
		CHECK(fill_other(120 << 10, /* aligned= */ true) >= 45 || !check_on_ebb(), "posix_memalign");
		CHECK(fill_other(600 << 10, /* aligned= */ true) >= 80 || !check_on_ebb(), "posix_memalign");
		CHECK(fill_other(100 << 10, /* aligned= */ false) >= MUST_REACH || !check_on_ebb(), "calloc");
	}
}

/* Something is always refused, something always goes. */
static void test_live(unsigned seconds)
{
	struct filler ballast = {.bytes = 900};
	struct churn_thread noise[THREADS];
	struct churn churn;
	uint64_t end;

	for (unsigned i = 0; i < THREADS; i++) {
		noise[i] = (struct churn_thread){.seed = i + 1, .max_bits = 21, .may_fail = true};
		noise[i].thread = small_thread(churn_run, &noise[i]);
	}
	set_limit();
	fill(&ballast);
	for (size_t freed = 0; freed < room / 64;) {
		struct block *block = ballast.blocks;

		ballast.blocks = block->next;
		freed += block->bytes;
		free(block);
	}
	churn_init(&churn, 9, 22);
	churn.may_fail = true;
	end = now_ns() + seconds * UINT64_C(1000000000);
	unsigned long steps = 0;
	for (; now_ns() < end; steps += 64)
		churn_steps(&churn, 64);
	for (unsigned i = 0; i < THREADS; i++)
		churn_stop(&noise[i]);
	churn_free_all(&churn);
	check_note("%lu operations, %lu refused\n", steps, churn.refused);
	CHECK(churn.refused < steps / 2, "%lu of %lu refused", churn.refused, steps);
	empty(&ballast);
	CHECK(!check_on_ebb() || fill_and_empty(6 << 20, 1) >= MUST_REACH, "the room is not there again");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (getenv("EBB_TEST_EXPECT") != NULL)
		check_allocator();
	if (strcmp(mode, "shapes") == 0)
		test_shapes();
	else if (strcmp(mode, "family") == 0)
		test_family();
	else if (strcmp(mode, "live") == 0)
		test_live(argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5);
	else
		CHECK(false, "unknown mode '%s'", mode);
	return 0;
}
