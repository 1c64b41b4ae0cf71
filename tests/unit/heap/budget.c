/* The line that the process stays under: what is given, what is refused, who is asked. */
#include "heap/budget.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "heap/fast.h"
#include "heap/inside.h"
#include "platform/clock.h"

#define MIB ((size_t)1 << 20)

/* Blocks in a list, so that a test can take all there is. */
struct block {
	struct block *next;
	size_t bytes;
};

static struct block *blocks;

static bool take_one(size_t bytes, bool touch)
{
	struct block *block;

	errno = 0;
	block = ebbi_fast_alloc(bytes);
	if (block == NULL) {
		CHECK_EQ(errno, ENOMEM);
		return false;
	}
	if (touch)
		memset(block, 1, bytes);
	*block = (struct block){blocks, bytes};
	blocks = block;
	return true;
}

/* Until it is refused; bytes. */
static size_t take_all(size_t bytes, bool touch)
{
	size_t taken = 0;

	while (taken < 4096 * MIB && take_one(bytes, touch))
		taken += bytes;
	return taken;
}

static void free_all(void)
{
	while (blocks != NULL) {
		struct block *next = blocks->next;

		ebbi_fast_free(blocks);
		blocks = next;
	}
}

static struct ebbi_budget_figures figures(void)
{
	struct ebbi_budget_figures now;

	ebbi_budget_figures(&now);
	return now;
}

/* A line with `bytes` for the heap; all that was freed before is gone. */
static void draw_line(size_t bytes)
{
	(void)ebbi_heap_purge();
	CHECK_EQ(ebbi_budget_set(1024 * MIB), 0);
	CHECK_EQ(ebbi_budget_set(figures().process_bytes + bytes), 0);
}

static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%*u %zu", &pages), 1);
	CHECK_EQ(fclose(file), 0);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(without_a_budget)
{
	CHECK_EQ(ebbi_budget_get(), 0u);
	CHECK_EQ(ebbi_budget_pressure(), 0u);
	CHECK(ebbi_budget_has_room(SIZE_MAX / 2));
	CHECK(!ebbi_budget_is_above(SIZE_MAX));
	CHECK(take_one(64 * MIB, /* touch= */ false));
	free_all();
	CHECK_EQ(figures().process_bytes, 0u);
	CHECK_EQ(ebbi_budget_set(1), -EINVAL);
	CHECK_EQ(ebbi_budget_set(4095), -EINVAL);
}

static const size_t shapes[] = {200, 5000, 50000, 300000, 5 * MIB};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* All the way to the line with each shape, after all of another was freed; never above it. */
TEST(every_shape)
{
	draw_line(100 * MIB);
	for (unsigned i = 0; i < SHAPES; i++) {
		size_t taken = take_all(shapes[i], /* touch= */ true);
		size_t line = ebbi_budget_get();

		if (taken < 75 * MIB || taken > 101 * MIB)
			CHECK_FAIL("%zu bytes at a time: %zu MiB", shapes[i], taken / MIB);
		/* A hundredth, and what the kernel's counters are off by. */
		if (resident_bytes() > line + line / 100 + MIB)
			CHECK_FAIL("%zu bytes at a time: %zu resident, the line is %zu", shapes[i], resident_bytes(),
				   line);
		CHECK_GE(ebbi_budget_pressure(), 900u);
		free_all();
		ebbi_heap_check();
	}
	(void)ebbi_heap_purge();
	CHECK_LT(ebbi_budget_pressure(), 800u);
}

/* What is handed out may be touched at any time. */
TEST(untouched_blocks_count)
{
	draw_line(100 * MIB);
	CHECK(take_one(40 * MIB, /* touch= */ false));
	CHECK(take_one(40 * MIB, /* touch= */ false));
	CHECK(!take_one(40 * MIB, /* touch= */ false));
	CHECK(!take_one(3 * MIB + 40 * MIB, /* touch= */ false));
	CHECK(take_one(10 * MIB, /* touch= */ false));
	free_all();
}

/* Blocks that are not touched must not make the rest of the process look smaller. */
TEST(others_are_seen_beside_untouched_blocks)
{
	uint64_t before;
	void *other;
	bool taken = false;

	draw_line(200 * MIB);
	before = figures().other_bytes;
	CHECK(take_one(100 * MIB, /* touch= */ false));
	ebbi_budget_measure(/* exactly= */ true);
	CHECK_LE(figures().other_bytes, before + 2 * MIB);
	CHECK_GE(figures().other_bytes + 2 * MIB, before);
	/* Memory that is not the heap's. */
	other = mmap(NULL, 50 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(other != MAP_FAILED);
	memset(other, 1, 50 * MIB);
	ebbi_budget_measure(/* exactly= */ true);
	CHECK_GE(figures().other_bytes, before + 48 * MIB);
	CHECK(!take_one(70 * MIB, /* touch= */ false));
	CHECK_EQ(munmap(other, 50 * MIB), 0);
	/* Found out before something is refused, but not right after the last time: 20 times as long as that took. */
	for (unsigned i = 0; i < 200 && !taken; i++) {
		usleep(50000);
		taken = take_one(70 * MIB, /* touch= */ false);
	}
	CHECK(taken);
	free_all();
}

/* Refused, perhaps, until the rest of the process is measured exactly again: on a busy machine it was found to be more. */
static bool take_soon(size_t bytes)
{
	bool taken = take_one(bytes, /* touch= */ true);

	for (unsigned i = 0; i < 200 && !taken; i++) {
		usleep(50000);
		taken = take_one(bytes, /* touch= */ true);
	}
	return taken;
}

/* A program that was refused a large block can still say so. */
TEST(small_ones_after_a_large_one_was_refused)
{
	unsigned failed = 0;

	draw_line(100 * MIB);
	(void)take_all(MIB, /* touch= */ true);
	for (unsigned i = 0; i < 100 && failed == 0; i++)
		failed += !take_soon(100 + i * 200);
	CHECK_EQ(failed, 0u);
	/* Large ones are refused as before. */
	CHECK(!take_one(2 * MIB, /* touch= */ true));
	free_all();
}

TEST(growing_blocks)
{
	char *block;
	size_t bytes = MIB;

	draw_line(100 * MIB);
	block = ebbi_fast_alloc(bytes);
	CHECK(block != NULL);
	for (;;) {
		char *more = ebbi_heap_resize(block, bytes + MIB);

		if (more == NULL)
			break;
		block = more;
		memset(block + bytes, 1, MIB);
		bytes += MIB;
		CHECK_LE(bytes, 101 * MIB);
	}
	CHECK_EQ(errno, ENOMEM);
	CHECK_GE(bytes, 45 * MIB);
	block[bytes - 1] = 2;
	block = ebbi_heap_resize(block, 2 * MIB);
	CHECK(block != NULL);
	ebbi_heap_free(block);
	(void)ebbi_heap_purge();
	CHECK_LT(ebbi_budget_pressure(), 900u);
}

/* A new line counts from now on, whatever is in use. */
TEST(the_line_moves)
{
	draw_line(100 * MIB);
	CHECK(take_one(60 * MIB, /* touch= */ true));
	CHECK_EQ(ebbi_budget_set(figures().process_bytes - 10 * MIB), 0);
	CHECK_EQ(ebbi_budget_pressure(), 1000u);
	CHECK(!take_one(MIB, /* touch= */ true));
	CHECK_EQ(ebbi_budget_set(0), 0);
	CHECK_EQ(ebbi_budget_pressure(), 0u);
	CHECK(take_one(200 * MIB, /* touch= */ false));
	free_all();
}

static unsigned calls;
static unsigned called_with;
static bool frees;
static bool allocates;

static void on_pressure(unsigned pressure)
{
	calls++;
	called_with = pressure;
	if (frees)
		free_all();
	/* Must neither hang nor call back. */
	if (allocates)
		while (take_one(100000, /* touch= */ true))
			;
}

TEST(called_when_a_level_is_reached)
{
	CHECK_EQ(ebbi_callbacks_add(NULL, 500), -EINVAL);
	CHECK_EQ(ebbi_callbacks_add(on_pressure, 0), -EINVAL);
	CHECK_EQ(ebbi_callbacks_add(on_pressure, 1001), -EINVAL);
	CHECK_EQ(ebbi_callbacks_remove(on_pressure), -ENOENT);
	draw_line(100 * MIB);
	CHECK_EQ(ebbi_callbacks_add(on_pressure, 850), 0);
	calls = 0;
	while (ebbi_budget_pressure() < 800)
		CHECK(take_one(MIB, /* touch= */ true));
	CHECK_EQ(calls, 0u);
	while (ebbi_budget_pressure() < 900)
		CHECK(take_one(MIB, /* touch= */ true));
	CHECK_EQ(calls, 1u);
	CHECK_GE(called_with, 850u);
	free_all();
	(void)ebbi_heap_purge();
	while (ebbi_budget_pressure() < 900)
		CHECK(take_one(MIB, /* touch= */ true));
	CHECK_EQ(calls, 2u);
	free_all();
	CHECK_EQ(ebbi_callbacks_remove(on_pressure), 0);
	CHECK_EQ(ebbi_callbacks_remove(on_pressure), -ENOENT);
}

TEST(asked_before_a_request_is_refused)
{
	struct ebbi_budget_figures before;

	draw_line(100 * MIB);
	CHECK_EQ(ebbi_callbacks_add(on_pressure, 1000), 0);
	(void)take_all(MIB, /* touch= */ true);
	before = figures();
	CHECK_GT(before.refusals, 0u);
	usleep(20000); /* one that frees nothing is not called at once again */
	calls = 0;
	frees = true;
	CHECK(take_one(5 * MIB, /* touch= */ true));
	CHECK_EQ(calls, 1u);
	CHECK_EQ(called_with, 1000u);
	CHECK_EQ(figures().refusals, before.refusals);
	/* Freed, and taken again by the callback itself: its own requests end, and so does the one that it was called for. */
	frees = false;
	(void)take_all(MIB, /* touch= */ true);
	usleep(20000);
	calls = 0;
	frees = allocates = true;
	CHECK(!take_one(50 * MIB, /* touch= */ true));
	CHECK_EQ(calls, 1u);
	frees = allocates = false;
	CHECK_EQ(ebbi_callbacks_remove(on_pressure), 0);
	free_all();
}

TEST(no_more_than_there_are_places)
{
	unsigned count = 0;

	while (count < 100 && ebbi_callbacks_add(on_pressure, 1000) == 0)
		count++;
	CHECK_EQ(count, EBBI_CALLBACKS_MOST);
	CHECK_EQ(ebbi_callbacks_add(on_pressure, 1000), -ENOSPC);
	CHECK_EQ(ebbi_callbacks_add_descriptor(1000), -ENOSPC);
	while (ebbi_callbacks_remove(on_pressure) == 0)
		count--;
	CHECK_EQ(count, 0u);
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN) != 0;
}

TEST(descriptor)
{
	uint64_t value;
	int fd;

	draw_line(100 * MIB);
	CHECK_EQ(ebbi_callbacks_add_descriptor(0), -EINVAL);
	fd = ebbi_callbacks_add_descriptor(900);
	CHECK_GE(fd, 0);
	CHECK(!is_readable(fd));
	(void)take_all(MIB, /* touch= */ true);
	CHECK(is_readable(fd));
	CHECK_EQ(read(fd, &value, sizeof(value)), (ssize_t)sizeof(value));
	free_all();
	(void)ebbi_heap_purge();
	CHECK(!is_readable(fd));
	CHECK_EQ(close(fd), 0);
	/* Its place is free again when that was noticed. */
	(void)take_all(MIB, /* touch= */ true);
	free_all();
	(void)ebbi_heap_purge();
}

static unsigned explained;

static void explain(size_t bytes, int account)
{
	(void)account;
	char line[64];

	explained++;
	/* It may ask for figures and for memory. */
	(void)figures();
	snprintf(line, sizeof(line), "explained %zu\n", bytes);
	CHECK_EQ(write(2, line, strlen(line)), (ssize_t)strlen(line));
}

TEST(said_once_a_second)
{
	draw_line(100 * MIB);
	usleep(1100000);
	explained = 0;
	ebbi_heap.explain = explain;
	(void)take_all(MIB, /* touch= */ true);
	for (unsigned i = 0; i < 50; i++)
		CHECK(!take_one(20 * MIB, /* touch= */ false));
	CHECK_EQ(explained, 1u);
	ebbi_heap.explain = NULL;
	free_all();
}

TEST(log_only)
{
	uint64_t line, start_ns;

	draw_line(100 * MIB);
	usleep(1100000);
	line = ebbi_budget_get();
	explained = 0;
	start_ns = ebbi_clock_now_ns();
	ebbi_heap.explain = explain;
	ebbi_heap.config.on_limit = EBB_ON_LIMIT_LOG;
	CHECK_EQ(ebbi_budget_set(line), 0);
	for (unsigned i = 0; i < 150; i++)
		CHECK(take_one(MIB, /* touch= */ true));
	CHECK(take_one(400 * MIB, /* touch= */ false));
	CHECK_EQ(ebbi_budget_pressure(), 1000u);
	CHECK_GT(figures().process_bytes, line);
	CHECK_GT(figures().over_line, 0u);
	/* One line a second. */
	CHECK_GE(explained, 1u);
	CHECK_LE(explained, 1u + (ebbi_clock_now_ns() - start_ns) / UINT64_C(1000000000));
	ebbi_heap.config.on_limit = EBB_ON_LIMIT_REFUSE;
	ebbi_heap.explain = NULL;
	free_all();
}

static void abort_body(void *argument)
{
	(void)argument;
	ebbi_heap.explain = explain;
	ebbi_heap.config.on_limit = EBB_ON_LIMIT_ABORT;
	(void)take_one(300 * MIB, /* touch= */ false);
}

TEST(abort_instead)
{
	draw_line(100 * MIB);
	CHECK_DIES(abort_body, NULL, "explained 314572800");
}

static void *thread_takes(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;
	void *mine[64] = {0};

	for (unsigned i = 0; i < 3000; i++) {
		unsigned place = (seed = seed * 1103515245u + 12345u) >> 16 & 63;
		size_t bytes = (size_t)64 << (seed >> 8 & 15);

		ebbi_fast_free(mine[place]);
		mine[place] = ebbi_fast_alloc(bytes);
		if (mine[place] != NULL)
			memset(mine[place], 3, bytes);
	}
	for (unsigned i = 0; i < 64; i++)
		ebbi_fast_free(mine[i]);
	return NULL;
}

TEST(threads_at_the_line)
{
	pthread_t threads[4];
	size_t line;

	draw_line(40 * MIB);
	line = ebbi_budget_get();
	for (uintptr_t i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, thread_takes, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK_LE(figures().most_bytes, line + 1100 * MIB); /* the line that was drawn first was higher */
	ebbi_heap_check();
	(void)ebbi_heap_purge();
	CHECK_EQ(ebbi_budget_set(0), 0);
	CHECK(take_one(20 * MIB, /* touch= */ true));
	free_all();
}

int main(void)
{
	CHECK_EQ(setenv("EBB_CONF", "scavenger:0,delay:86400s", 1), 0);
	ebbi_heap_boot();
	RUN(without_a_budget);
	RUN(no_more_than_there_are_places);
	RUN(threads_at_the_line);
	/* A sanitizer's own memory, several times ours, is the process's, too: what fits is not to be foretold. */
	if (EBBI_TSAN || EBBI_ASAN)
		return check_report();
	RUN(every_shape);
	RUN(untouched_blocks_count);
	RUN(others_are_seen_beside_untouched_blocks);
	RUN(small_ones_after_a_large_one_was_refused);
	RUN(growing_blocks);
	RUN(the_line_moves);
	RUN(called_when_a_level_is_reached);
	RUN(asked_before_a_request_is_refused);
	RUN(descriptor);
	RUN(said_once_a_second);
	RUN(log_only);
	RUN(abort_instead);
	return check_report();
}
