/*
 * A daemon that starts as root and gives that up, and one that changes users all the time: the library's
 * own thread follows at the next work it is given, and nothing piles up on the way. Needs root.
 */
#include "churn.h"

#include <dirent.h>
#include <grp.h>

#define SOMEBODY 61234

static void work(void)
{
	enum { BLOCKS = 4000 };
	static void *block[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = hide(malloc(500));
		memset(block[i], 1, 500);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
}

/* Threads of this process whose effective user is not `user`. */
static unsigned threads_not_of(long user)
{
	char path[64];
	char text[4096];
	unsigned count = 0;
	DIR *tasks = opendir("/proc/self/task");

	CHECK(tasks != NULL, "/proc/self/task");
	for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
		long real;
		long effective;

		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", task->d_name);
		if (proc_read(path, text, sizeof(text)) <= 0)
			continue; /* it has just ended */
		const char *found = strstr(text, "Uid:");
		CHECK(found != NULL && sscanf(found, "Uid: %ld %ld", &real, &effective) == 2, "%s", path);
		count += effective != user;
	}
	closedir(tasks);
	return count;
}

static void change_users_often(void)
{
	long threads = 0;

	for (unsigned round = 0; round < 20; round++)
		work();
	long before = proc_status("VmSize:");
	for (unsigned round = 0; round < 100; round++) {
		CHECK(seteuid(round % 2 == 0 ? SOMEBODY : 0) == 0, "seteuid");
		work();
		sleep_ms(25);
		if (proc_status("Threads:") > threads)
			threads = proc_status("Threads:");
	}
	CHECK(seteuid(0) == 0, "seteuid");
	long after = proc_status("VmSize:");
	check_note("%ld threads at most; VmSize %ld KiB, then %ld\n", threads, before, after);
	CHECK(threads <= 3, "%ld threads", threads);
	CHECK(after - before < 8192, "VmSize %ld KiB, then %ld", before, after);
}

static void give_root_up(void)
{
	unsigned others = 0;

	CHECK(setgroups(0, NULL) == 0 && setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0, "setuid");
	for (unsigned i = 0; i < 100; i++) {
		work();
		sleep_ms(50);
		others = threads_not_of(SOMEBODY);
		if (others == 0)
			break;
	}
	CHECK(others == 0, "%u threads still run as another user", others);
}

int main(void)
{
	check_allocator();
	CHECK(geteuid() == 0, "this test changes users and so must be run by root");
	change_users_often();
	give_root_up();
	return 0;
}
