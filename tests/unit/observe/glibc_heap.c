/*
 * A heap of glibc walked from outside, against what the process itself knows: its live bytes, and what malloc_trim(0)
 * really returns. The process is this program again, on glibc's malloc.
 */
#include "observe/glibc_heap.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "observe/procread.h"

#if defined(__GLIBC__) && !EBB_SANITIZED
#define ON_GLIBC 1
#else
#define ON_GLIBC 0
#endif

/* --- The process that is looked at -------------------------------------------------------------- */

struct plan {
	size_t threads; /* 0: the first one alone */
	size_t blocks;  /* of each thread */
	size_t least;
	size_t most;
	size_t keep;  /* one of so many lives on; 0: none */
	size_t churn; /* threads that allocate and free all the time */
};

static size_t live_bytes;
static struct plan plan;
static pthread_barrier_t made;

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void allocate(uint32_t seed)
{
	void **blocks = malloc(plan.blocks * sizeof(*blocks));

	if (!blocks)
		abort();
	for (size_t i = 0; i < plan.blocks; i++) {
		size_t size = plan.least + next_random(&seed) % (plan.most - plan.least + 1);

		blocks[i] = malloc(size);
		memset(blocks[i], 1, size);
	}
	for (size_t i = 0; i < plan.blocks; i++) {
		if (plan.keep == 0 || i % plan.keep != 0)
			free(blocks[i]);
		else
			__atomic_fetch_add(&live_bytes, malloc_usable_size(blocks[i]) + 8, __ATOMIC_RELAXED);
	}
	/* What points to the blocks is one, too, and stays. */
	__atomic_fetch_add(&live_bytes, malloc_usable_size(blocks) + 8, __ATOMIC_RELAXED);
}

static void *one_thread(void *number)
{
	allocate((uint32_t)(uintptr_t)number);
	pthread_barrier_wait(&made);
	pause();
	return NULL;
}

static void *churning(void *number)
{
	static _Thread_local void *blocks[512];
	uint32_t seed = (uint32_t)(uintptr_t)number;

	for (;;) {
		uint32_t at = next_random(&seed) % 512;

		free(blocks[at]);
		blocks[at] = malloc(next_random(&seed) % 4000);
	}
	return NULL;
}

static uint64_t anonymous_bytes(void)
{
	struct proc_status status;

	return ebbi_proc_status(getpid(), &status) == 0 ? status.anon_bytes : 0;
}

/* Says how much is live; then, asked, how much a trim returned. */
static int be_looked_at(void)
{
	pthread_t thread;
	uint64_t answer;
	char byte;

	pthread_barrier_init(&made, NULL, (unsigned)plan.threads + 1);
	for (size_t i = 0; i < plan.threads; i++)
		pthread_create(&thread, NULL, one_thread, (void *)(i + 1));
	for (size_t i = 0; i < plan.churn; i++)
		pthread_create(&thread, NULL, churning, (void *)(i + 1));
	if (plan.threads == 0)
		allocate(1);
	pthread_barrier_wait(&made);
	answer = live_bytes;
	if (write(1, &answer, sizeof(answer)) != sizeof(answer))
		return 1;
	while (read(0, &byte, 1) == 1) {
		uint64_t before = anonymous_bytes(), after;

		malloc_trim(0);
		after = anonymous_bytes();
		answer = before > after ? before - after : 0;
		if (write(1, &answer, sizeof(answer)) != sizeof(answer))
			return 1;
	}
	return 0;
}

/* --- Looking ---------------------------------------------------------------------------------- */

static const char *self;

struct process {
	pid_t pid;
	int to;
	int from;
	uint64_t live_bytes;
};

static bool start(const struct plan *wanted, const char *preload, struct process *ret_process)
{
	int in[2], out[2];
	char words[sizeof(*wanted) / sizeof(size_t)][24];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		snprintf(words[i], sizeof(words[i]), "%zu", ((const size_t *)wanted)[i]);
	if (pipe(in) != 0 || pipe(out) != 0)
		return false;
	ret_process->pid = fork();
	if (ret_process->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		else
			unsetenv("LD_PRELOAD");
		execl(self, self, words[0], words[1], words[2], words[3], words[4], words[5], (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	ret_process->to = in[1];
	ret_process->from = out[0];
	return read(out[0], &ret_process->live_bytes, 8) == 8;
}

static uint64_t trim(const struct process *process)
{
	uint64_t returned = 0;

	CHECK(write(process->to, "t", 1) == 1);
	CHECK(read(process->from, &returned, 8) == 8);
	return returned;
}

static void stop(const struct process *process)
{
	close(process->to);
	close(process->from);
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
}

static bool near(uint64_t a, uint64_t b, uint64_t percent, uint64_t bytes)
{
	uint64_t apart = a > b ? a - b : b - a;

	return apart <= b / 100 * percent + bytes;
}

static struct glibc_heap heap;

/* Predicts, then lets it happen. */
static void check_plan(const struct plan *wanted, bool standing)
{
	struct process process;
	uint64_t live, returned;

	REQUIRE(start(wanted, NULL, &process));
	CHECK_EQ(ebbi_glibc_heap(process.pid, standing, &heap), 0);
	CHECK_EQ(heap.stopped, standing);
	CHECK(heap.fast_known && heap.caches_known);
	CHECK_EQ(heap.total.not_walked_bytes, 0);
	live = heap.total.live_bytes - heap.cached_bytes + heap.mapped_bytes;
	/* Records of threads and of standard streams are live, too. */
	CHECK(near(live, process.live_bytes, 1, 32768 + wanted->threads * 8192));
	returned = trim(&process);
	CHECK(near(heap.total.trimmable_bytes, returned, 2, 65536));
	if (!near(heap.total.trimmable_bytes, returned, 2, 65536) || !near(live, process.live_bytes, 1, 65536))
		fprintf(stderr, "live %llu of %llu, trim %llu of %llu\n", (unsigned long long)live,
			(unsigned long long)process.live_bytes, (unsigned long long)heap.total.trimmable_bytes,
			(unsigned long long)returned);
	/* What was returned is not there to be returned again. */
	CHECK_EQ(ebbi_glibc_heap(process.pid, false, &heap), 0);
	CHECK(heap.total.trimmable_bytes <= 65536);
	CHECK_EQ(heap.total.not_walked_bytes, 0);
	stop(&process);
}

TEST(nearly_all_freed)
{
	check_plan(&(struct plan){0, 50000, 1000, 1000, 64, 0}, false);
	CHECK_EQ(heap.arena_count, 1);
	CHECK(heap.arenas[0].main);
}

TEST(scattered)
{
	check_plan(&(struct plan){0, 100000, 16, 1000, 3, 0}, false);
}

TEST(all_in_fastbins)
{
	check_plan(&(struct plan){0, 100000, 24, 100, 0, 0}, false);
}

TEST(large_blocks)
{
	check_plan(&(struct plan){0, 1500, 20000, 120000, 5, 0}, true);
}

TEST(threads)
{
	check_plan(&(struct plan){4, 30000, 16, 4000, 9, 0}, false);
	CHECK(heap.arena_count >= 4);
	CHECK(heap.total.top_kept_bytes > 0);
}

/* Arenas of several heaps each. */
TEST(long_arenas)
{
	check_plan(&(struct plan){2, 40000, 2000, 3000, 2, 0}, true);
	CHECK(heap.total.heaps >= 5);
}

/* A process that goes on allocating: what holds still is counted whatever moves beside it. */
TEST(running)
{
	struct process process;

	REQUIRE(start(&(struct plan){2, 50000, 16, 2000, 3, 2}, NULL, &process));
	for (int i = 0; i < 5; i++) {
		uint64_t live;

		CHECK_EQ(ebbi_glibc_heap(process.pid, false, &heap), 0);
		live = heap.total.live_bytes + heap.mapped_bytes;
		CHECK(heap.total.not_walked_bytes <= heap.total.system_bytes / 10);
		if (heap.total.not_walked_bytes == 0)
			CHECK(near(live, process.live_bytes, 15, 0));
	}
	stop(&process);
}

/* Stopped for the look alone. */
TEST(goes_on)
{
	struct process process;
	struct proc_stat before, after;
	struct timespec pause = {.tv_nsec = 50000000};

	REQUIRE(start(&(struct plan){1, 1000, 16, 2000, 3, 1}, NULL, &process));
	CHECK_EQ(ebbi_glibc_heap(process.pid, true, &heap), 0);
	CHECK(heap.stopped);
	CHECK_EQ(heap.retries, 0);
	CHECK_EQ(ebbi_proc_stat(process.pid, &before), 0);
	for (int i = 0; i < 40; i++) {
		nanosleep(&pause, NULL);
		CHECK_EQ(ebbi_proc_stat(process.pid, &after), 0);
		if (after.user_ticks + after.system_ticks > before.user_ticks + before.system_ticks)
			break;
	}
	CHECK(after.user_ticks + after.system_ticks > before.user_ticks + before.system_ticks);
	CHECK(after.state == 'R' || after.state == 'S');
	stop(&process);
}

TEST(another_allocator)
{
	static const char library[] = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
	struct process process;

	if (access(library, R_OK) != 0)
		return;
	REQUIRE(start(&(struct plan){0, 50000, 16, 2000, 3, 0}, library, &process));
	/* Nothing of glibc's, or the little that was taken before it. */
	if (ebbi_glibc_heap(process.pid, false, &heap) == 0)
		CHECK(heap.total.live_bytes < process.live_bytes / 10);
	stop(&process);
}

TEST(nobody)
{
	CHECK_EQ(ebbi_glibc_heap(0x7ffffff0, false, &heap), -ESRCH);
}

int main(int argc, char **argv)
{
	if (argc == 7) {
		for (int i = 0; i < 6; i++)
			((size_t *)&plan)[i] = (size_t)atol(argv[i + 1]);
		return be_looked_at();
	}
	self = argv[0];
	RUN(nobody);
	if (!ON_GLIBC)
		return check_report();
	RUN(nearly_all_freed);
	RUN(scattered);
	RUN(all_in_fastbins);
	RUN(large_blocks);
	RUN(threads);
	RUN(long_arenas);
	RUN(running);
	RUN(goes_on);
	RUN(another_allocator);
	return check_report();
}
