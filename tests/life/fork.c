/*
 * fork in all its forms, while threads of the parent allocate.
 *   fork threads    children allocate, start threads, free what the parent made
 *   fork scavenge   the child gives memory back by itself: its scavenger starts again
 *   fork purging    children are made while memory is being given back: none of it gets lost in them
 *   fork nested     children fork children
 *   fork vfork      the child allocates in the parent's memory, then execs
 *   fork vfork-scavenge  ... and is the first to free so much that the library starts its thread
 *   fork spawn      posix_spawn, system and popen
 *   fork exec       exec from a thread that is not the first
 */
#include "stats.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "churn.h"

#define NOISE 3
#define PARENTS_BLOCKS 1000

extern char **environ;

static struct churn_thread noise[NOISE];
static uint8_t *parents[PARENTS_BLOCKS];

static void start_noise(void)
{
	for (unsigned i = 0; i < NOISE; i++)
		churn_start(&noise[i], i + 1, 17);
	for (unsigned i = 0; i < PARENTS_BLOCKS; i++) {
		parents[i] = hide(malloc(1 + i * 7));
		pattern_fill(parents[i], 1 + i * 7, i);
	}
}

static void stop_noise(void)
{
	for (unsigned i = 0; i < NOISE; i++)
		churn_stop(&noise[i]);
	for (unsigned i = 0; i < PARENTS_BLOCKS; i++) {
		PATTERN_CHECK(parents[i], 1 + i * 7, i);
		free(parents[i]);
	}
}

/* A child must end, and within half a minute. Returns its status. */
static int status_of(pid_t child)
{
	int status;

	CHECK(child > 0, "fork");
	for (int i = 0; i < 3000; i++) {
		pid_t done = waitpid(child, &status, WNOHANG);

		CHECK(done >= 0, "waitpid");
		if (done == child)
			return status;
		sleep_ms(10);
	}
	kill(child, SIGABRT);
	waitpid(child, &status, 0);
	CHECK(false, "a child did not end");
}

static void wait_for(pid_t child)
{
	int status = status_of(child);

	CHECK(status == 0, "the child's status is 0x%x", (unsigned)status);
}

static void *child_thread(void *argument)
{
	struct churn churn;

	churn_init(&churn, (uint64_t)(uintptr_t)argument, 16);
	churn_steps(&churn, 3000);
	churn_free_all(&churn);
	return NULL;
}

static void child_work(uint64_t seed)
{
	pthread_t thread[2];
	struct churn churn;

	churn_init(&churn, seed, 18);
	churn_steps(&churn, 1000);
	for (unsigned i = 0; i < PARENTS_BLOCKS; i++) {
		PATTERN_CHECK(parents[i], 1 + i * 7, i);
		if (i % 2 == 0)
			free(parents[i]);
	}
	for (uintptr_t i = 0; i < 2; i++)
		thread[i] = check_thread(child_thread, (void *)(seed + i));
	churn_steps(&churn, 1000);
	for (unsigned i = 0; i < 2; i++)
		check_join(thread[i]);
	churn_free_all(&churn);
	if (seed % 4 == 0)
		check_purge();
}

static void test_threads(void)
{
	start_noise();
	for (uint64_t round = 0; round < 30; round++) {
		pid_t child = fork();

		if (child == 0) {
			child_work(round + 1);
			if (round % 2 == 0)
				exit(0); /* with handlers and destructors */
			_exit(0);
		}
		wait_for(child);
	}
	stop_noise();
}

/* Allocates 32 MiB of small blocks, frees them, and sleeps until the memory is gone. */
static void expect_given_back(void)
{
	enum { BLOCKS = 160000 };
	static void *block[BLOCKS];
	long before = proc_status("RssAnon:");

	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = hide(malloc(200));
		memset(block[i], 1, 200);
	}
	long full = proc_status("RssAnon:");
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
	bool given_back = stats_wait_rss(before + (8 << 10), 20);
	CHECK(given_back, "%ld KiB before, %ld full, %ld after 20 s of sleep", before, full, proc_status("RssAnon:"));
}

static void test_scavenge(void)
{
	static void *warm[PARENTS_BLOCKS];

	memset(warm, 1, sizeof(warm));
	start_noise();
	expect_given_back(); /* the parent's scavenger is up */
	for (int round = 0; round < 2; round++) {
		pid_t child = fork();

		if (child == 0) {
			expect_given_back();
			_exit(0);
		}
		wait_for(child);
	}
	stop_noise();
}

#define PURGED_BLOCKS 30000

/* Exchanged atomically, so that a child can free what it finds. */
static void *purged[PURGED_BLOCKS];

static void free_purged(unsigned step)
{
	for (unsigned i = 0; i < PURGED_BLOCKS; i++)
		if (i % step != 0 || step == 1)
			free(__atomic_exchange_n(&purged[i], NULL, __ATOMIC_ACQ_REL));
}

/* Keeps memory on its way back to the kernel, in many small stretches. */
static void *purge_always(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		for (unsigned i = 0; i < PURGED_BLOCKS; i++) {
			void *block = hide(malloc(i % 8 == 0 ? 3000 : 200));

			memset(block, 1, 200);
			__atomic_store_n(&purged[i], block, __ATOMIC_RELEASE);
		}
		free_purged(41);
		check_purge();
		free_purged(1);
		check_purge();
	}
	return NULL;
}

#define LOST 3

/*
 * Everything can be freed and given back in the child, whatever the parent was about; but for what a thread held that
 * got nothing of the CPU while fork waited for it to come out of the allocator: its cache is left behind, and counted.
 */
static void expect_nothing_held(void)
{
	struct ebb_snapshot snapshot;

	free_purged(1);
	check_purge();
	check_purge();
	if (!stats_get(&snapshot))
		return;
	uint64_t needed = snapshot.live_bytes + snapshot.metadata_bytes;
	if (snapshot.caches_lost > 0)
		_exit(LOST);
	CHECK(snapshot.resident_bytes < needed + (512 << 10) && proc_status("RssAnon:") < 6144,
	      "resident %lu; live and metadata %lu; held: %lu in runs, %lu in holes, %lu in caches, %lu slack; RssAnon %ld KiB",
	      (unsigned long)snapshot.resident_bytes, (unsigned long)needed, (unsigned long)snapshot.held_run_bytes,
	      (unsigned long)snapshot.held_hole_bytes, (unsigned long)snapshot.held_cache_bytes,
	      (unsigned long)snapshot.held_slack_bytes, proc_status("RssAnon:"));
}

static void test_purging(void)
{
	int stop = 0;
	pthread_t thread = check_thread(purge_always, &stop);
	unsigned whole = 0;

	for (unsigned round = 0; round < 1000 && whole < 150; round++) {
		pid_t child = fork();

		if (child == 0) {
			expect_nothing_held();
			_exit(0);
		}
		int status = status_of(child);
		CHECK(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == LOST), "child: 0x%x",
		      (unsigned)status);
		whole += status == 0;
	}
	CHECK(whole >= 150, "only %u of 1000 forks found everybody outside", whole);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	check_join(thread);
}

static void fork_deeper(unsigned depth)
{
	if (depth == 0)
		return;
	pid_t child = fork();
	if (child == 0) {
		struct churn_thread mine;

		churn_start(&mine, depth, 14);
		child_thread((void *)(uintptr_t)depth);
		fork_deeper(depth - 1);
		churn_stop(&mine);
		_exit(0);
	}
	wait_for(child);
}

static void test_nested(void)
{
	start_noise();
	for (int round = 0; round < 5; round++)
		fork_deeper(8);
	stop_noise();
}

static void vfork_once(char **arguments)
{
	void *volatile from_child = NULL;
	void *volatile from_parent = malloc(4000);
	pid_t child = vfork();

	CHECK(child >= 0, "vfork");
	if (child == 0) {
		from_child = malloc(3000);
		free(malloc(200000));
		free(from_parent);
		execve(arguments[0], arguments, environ);
		_exit(127);
	}
	wait_for(child);
	CHECK(from_child != NULL, "malloc in a vfork child");
	memset(from_child, 1, 3000);
	free(from_child);
}

static void test_vfork(void)
{
	char program[] = "/bin/true";
	char *arguments[] = {program, NULL};

	start_noise();
	for (int round = 0; round < 100; round++)
		vfork_once(arguments);
	stop_noise();
}

/* A thread that was started in the child is gone after the exec; the parent must get its own. */
static void test_vfork_scavenge(void)
{
	char program[] = "/bin/true";
	char *arguments[] = {program, NULL};

	for (volatile int round = 0; round < 5; round++) {
		void *volatile block[8];
		pid_t child = vfork();

		CHECK(child >= 0, "vfork");
		if (child == 0) {
			for (volatile unsigned i = 0; i < 8; i++)
				block[i] = malloc(900000);
			for (volatile unsigned i = 0; i < 8; i++)
				free(block[i]);
			execve(arguments[0], arguments, environ);
			_exit(127);
		}
		wait_for(child);
	}
	expect_given_back();
}

static void *spawn_some(void *ignored)
{
	char program[] = "/bin/true";
	char *arguments[] = {program, NULL};
	char line[100];

	for (int round = 0; round < 25; round++) {
		pid_t child;

		CHECK(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0, "posix_spawn");
		wait_for(child);
		CHECK(system("exit 0") == 0, "system");
		FILE *stream = popen("echo hello", "r");
		CHECK(stream != NULL && fgets(line, sizeof(line), stream) != NULL, "popen");
		CHECK(strcmp(line, "hello\n") == 0 && pclose(stream) == 0, "popen's text");
	}
	return ignored;
}

static void test_spawn(void)
{
	pthread_t thread[2];

	start_noise();
	for (unsigned i = 0; i < 2; i++)
		thread[i] = check_thread(spawn_some, NULL);
	for (unsigned i = 0; i < 2; i++)
		check_join(thread[i]);
	stop_noise();
}

static void *exec_self(void *self)
{
	char quit[] = "quit";
	char *arguments[] = {(char *)self, quit, NULL};

	free(hide(malloc(100000)));
	execve("/proc/self/exe", arguments, environ);
	CHECK(false, "execve");
}

static void test_exec(char *self)
{
	for (int round = 0; round < 20; round++) {
		pid_t child = fork();

		if (child == 0) {
			start_noise();
			sleep_ms(5);
			check_join(check_thread(exec_self, self));
		}
		wait_for(child);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	check_allocator();
	if (strcmp(mode, "quit") == 0)
		return 0;
	if (strcmp(mode, "threads") == 0)
		test_threads();
	else if (strcmp(mode, "scavenge") == 0)
		test_scavenge();
	else if (strcmp(mode, "purging") == 0)
		test_purging();
	else if (strcmp(mode, "nested") == 0)
		test_nested();
	else if (strcmp(mode, "vfork") == 0)
		test_vfork();
	else if (strcmp(mode, "vfork-scavenge") == 0)
		test_vfork_scavenge();
	else if (strcmp(mode, "spawn") == 0)
		test_spawn();
	else if (strcmp(mode, "exec") == 0)
		test_exec(argv[0]);
	else
		CHECK(false, "unknown mode '%s'", mode);
	return 0;
}
