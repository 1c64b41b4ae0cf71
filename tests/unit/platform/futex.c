/* The allocator's lock: exclusion, waiting, waking, trying; and what checked builds refuse. */
#include "platform/futex.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Few rounds: each may cost two changes of thread, and other work may leave us little of the CPU. */
enum { THREADS = 4, ROUNDS = EBBI_TSAN ? 500 : 4000 };

static struct ebbi_lock lock = EBBI_LOCK_INIT(EBBI_RANK_BIN);
static unsigned long guarded; /* plain: the lock is what is tested */

static void *add(void *argument)
{
	(void)argument;
	for (int i = 0; i < ROUNDS; i++) {
		ebbi_lock_acquire(&lock);
		guarded++;
		ebbi_lock_release(&lock);
	}
	return NULL;
}

static void *add_by_trying(void *argument)
{
	(void)argument;
	for (int i = 0; i < ROUNDS;) {
		if (!ebbi_lock_acquire_try(&lock)) {
			usleep(50);
			continue;
		}
		guarded++;
		i++;
		ebbi_lock_release(&lock);
	}
	return NULL;
}

TEST(excludes)
{
	pthread_t threads[THREADS];

	guarded = 0;
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, i == 0 ? add_by_trying : add, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(guarded, (unsigned long)THREADS * ROUNDS);
	CHECK_EQ(lock.word, (uint32_t)EBBI_LOCK_FREE);
}

TEST(trying_does_not_wait)
{
	struct ebbi_lock one = EBBI_LOCK_INIT(EBBI_RANK_META);

	CHECK(!ebbi_lock_is_held(&one));
	CHECK(ebbi_lock_acquire_try(&one));
	CHECK(ebbi_lock_is_held(&one));
	CHECK(!ebbi_lock_acquire_try(&one));
	ebbi_lock_release(&one);
	CHECK(ebbi_lock_acquire_try(&one));
	ebbi_lock_release(&one);
}

static uint32_t sleepers; /* atomic */

static void *sleep_for_lock(void *argument)
{
	struct ebbi_lock *wanted = argument;

	(void)ebbi_fetch_add_relaxed(&sleepers, 1);
	ebbi_lock_acquire(wanted);
	ebbi_lock_release(wanted);
	return NULL;
}

/* Several sleep in the kernel; one release after the other wakes them all. */
TEST(wakes_every_sleeper)
{
	pthread_t threads[THREADS];

	ebbi_lock_acquire(&lock);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, sleep_for_lock, &lock) == 0);
	while (ebbi_load_relaxed(&sleepers) < THREADS || ebbi_load_relaxed(&lock.word) != EBBI_LOCK_CONTENDED)
		usleep(1000);
	usleep(10000);
	ebbi_lock_release(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(lock.word, (uint32_t)EBBI_LOCK_FREE);
}

static void *wait_for_free(void *argument)
{
	struct ebbi_lock *wanted = argument;

	(void)ebbi_fetch_add_relaxed(&sleepers, 1);
	ebbi_lock_wait_free(wanted);
	return NULL;
}

/* Those who only wait do not keep a wake from those who want the lock. */
TEST(waiting_passes_the_wake_on)
{
	pthread_t threads[2 * THREADS];

	for (int round = 0; round < 20; round++) {
		ebbi_store_relaxed(&sleepers, 0u);
		ebbi_lock_acquire(&lock);
		for (int i = 0; i < 2 * THREADS; i++)
			REQUIRE(pthread_create(&threads[i], NULL, i % 2 ? sleep_for_lock : wait_for_free, &lock) == 0);
		while (ebbi_load_relaxed(&sleepers) < 2 * THREADS)
			usleep(100);
		usleep(round % 4 * 1000);
		ebbi_lock_release(&lock);
		for (int i = 0; i < 2 * THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	ebbi_lock_wait_free(&lock);
	CHECK_EQ(lock.word, (uint32_t)EBBI_LOCK_FREE);
}

TEST(errno_is_left_alone)
{
	uint32_t word = 1;

	errno = EXDEV;
	CHECK_EQ(ebbi_futex_wait(&word, 0, -1), -EAGAIN);
	CHECK_EQ(ebbi_futex_wait(&word, 1, 1000000), -ETIMEDOUT);
	ebbi_futex_wake(&word, 1);
	CHECK_EQ(errno, EXDEV);
}

/* The child of a fork releases what its thread held. */
TEST(child_releases)
{
	int status = 0;
	pid_t child;

	ebbi_lock_acquire(&lock);
	child = fork();
	if (child == 0) {
		ebbi_lock_release(&lock);
		ebbi_lock_acquire(&lock);
		ebbi_lock_release(&lock);
		_exit(0);
	}
	ebbi_lock_release(&lock);
	REQUIRE(child > 0);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- Ranks: every one of these must end a checked build, and pass in a release build. --------- */

static struct ebbi_lock meta = EBBI_LOCK_INIT(EBBI_RANK_META);
static struct ebbi_lock bin = EBBI_LOCK_INIT(EBBI_RANK_BIN);
static struct ebbi_lock bin_too = EBBI_LOCK_INIT(EBBI_RANK_BIN);
static struct ebbi_lock registry = EBBI_LOCK_INIT(EBBI_RANK_REGISTRY);
static struct ebbi_lock nobody;

static void descend(void)
{
	ebbi_lock_acquire(&meta);
	ebbi_lock_acquire(&bin);
}

static void take_two_of_a_rank(void)
{
	ebbi_lock_acquire(&bin);
	ebbi_lock_acquire(&bin_too);
}

static void take_a_group_without_registry(void)
{
	ebbi_lock_acquire(&bin);
	ebbi_lock_acquire_group(&bin_too);
}

static void take_uninitialised(void)
{
	ebbi_lock_acquire(&nobody);
}

static void release_what_is_not_held(void)
{
	ebbi_lock_release(&bin);
}

static void ascend_and_try(void)
{
	ebbi_lock_acquire(&registry);
	ebbi_lock_acquire_group(&bin);
	ebbi_lock_acquire_group(&bin_too);
	ebbi_lock_acquire(&meta);
	ebbi_lock_release(&bin);
	if (!ebbi_lock_acquire_try(&bin))
		_exit(3);
}

/* Does it end by a signal? */
static bool ends_badly(void (*function)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(2);
		close(2);
		function();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	return WIFSIGNALED(status);
}

TEST(ranks)
{
	bool checked = EBBI_CHECKED;

	CHECK_EQ(ends_badly(descend), checked);
	CHECK_EQ(ends_badly(take_two_of_a_rank), checked);
	CHECK_EQ(ends_badly(take_a_group_without_registry), checked);
	CHECK_EQ(ends_badly(take_uninitialised), checked);
	CHECK_EQ(ends_badly(release_what_is_not_held), checked);
	CHECK_EQ(ends_badly(ascend_and_try), false);
}

TEST(release_builds_are_small)
{
	if (!EBBI_CHECKED)
		CHECK_EQ(sizeof(struct ebbi_lock), sizeof(uint32_t));
}

int main(void)
{
	RUN(excludes);
	RUN(trying_does_not_wait);
	RUN(wakes_every_sleeper);
	RUN(waiting_passes_the_wake_on);
	RUN(errno_is_left_alone);
	RUN(child_releases);
	RUN(ranks);
	RUN(release_builds_are_small);
	return check_report();
}
