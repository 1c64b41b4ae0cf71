/*
 * A modest program to be run where something is refused (see support/refuse.c): it uses everything an
 * allocator has and must work whatever the kernel says.
 *   modest [no-threads] [off=MASK] [on=MASK] [no-purge] [no-rest]
 * no-threads  do not try to start any, nor fork
 * off=MASK    libebb must say that exactly these features are off among MASK
 * on=MASK     libebb must say that none of these is off
 * no-purge    memory is not expected to go back
 * no-rest     do not wait for the scavenger
 */
#include "stats.h"

#include <sys/wait.h>

#include "churn.h"

#define BLOCKS 100000

static void *block[BLOCKS];

static void *thread_body(void *argument)
{
	struct churn churn;

	churn_init(&churn, (uintptr_t)argument, 20);
	churn_steps(&churn, 4000);
	churn_free_all(&churn);
	return NULL;
}

/* A thread that cannot be started is no failure of malloc. */
static unsigned use_threads(void)
{
	pthread_t thread[3];
	unsigned started = 0;

	for (uintptr_t i = 0; i < 3; i++)
		if (pthread_create(&thread[started], NULL, thread_body, (void *)(i + 1)) == 0)
			started++;
	for (unsigned i = 0; i < started; i++)
		check_join(thread[i]);
	return started;
}

static void use_fork(void)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return; /* refused: no failure of malloc either */
	if (child == 0) {
		thread_body((void *)9);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0, "child: 0x%x", (unsigned)status);
}

/* 20 MiB in small blocks, all freed: the memory goes back when asked for. */
static void give_back(bool expected)
{
	long before = proc_status("RssAnon:");

	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = hide(malloc(200));
		CHECK(block[i] != NULL, "malloc");
		memset(block[i], 1, 200);
	}
	long full = proc_status("RssAnon:");
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
	check_purge();
	long after = proc_status("RssAnon:");
	check_note("RssAnon %ld KiB, full %ld, after %ld\n", before, full, after);
	if (expected)
		CHECK(after < before + 6144, "RssAnon %ld KiB, full %ld, after %ld", before, full, after);
}

static void check_features(unsigned long off, unsigned long on)
{
	struct ebb_snapshot snapshot;

	if (!stats_get(&snapshot))
		return;
	check_note("features_off 0x%lx\n", (unsigned long)snapshot.features_off);
	CHECK((snapshot.features_off & off) == off, "features_off is 0x%lx, not 0x%lx",
	      (unsigned long)snapshot.features_off, off);
	CHECK((snapshot.features_off & on) == 0, "features_off is 0x%lx", (unsigned long)snapshot.features_off);
}

int main(int argc, char **argv)
{
	bool threads = true;
	bool purge = true;
	bool rest = true;
	unsigned long off = 0;
	unsigned long on = 0;

	check_allocator();
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "no-threads") == 0)
			threads = false;
		else if (strcmp(argv[i], "no-purge") == 0)
			purge = false;
		else if (strcmp(argv[i], "no-rest") == 0)
			rest = false;
		else if (strncmp(argv[i], "off=", 4) == 0)
			off = strtoul(argv[i] + 4, NULL, 0);
		else if (strncmp(argv[i], "on=", 3) == 0)
			on = strtoul(argv[i] + 3, NULL, 0);
		else
			CHECK(false, "unknown argument %s", argv[i]);
	}
	thread_body((void *)1);
	if (threads)
		check_note("%u threads started\n", use_threads());
	give_back(purge);
	if (threads)
		use_fork();
	sleep_ms(threads && rest ? 1500 : 0); /* the scavenger has had its turn */
	thread_body((void *)2);
	check_features(off, on);
	return 0;
}
