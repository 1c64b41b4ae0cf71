/* Reading live processes: ourselves, children, trees, snapshots. */
#include <ebb/ebb.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "observe/machine.h"
#include "observe/preload.h"
#include "observe/procread.h"
#include "observe/snapshot.h"
#include "observe/tree.h"

/* What a library would publish; this program plays the library. */
extern struct ebb_shared ebb_shared_snapshot;
struct ebb_shared ebb_shared_snapshot;

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(ourselves)
{
	struct proc_status status;
	struct proc_stat stat;
	struct proc_rollup rollup;
	struct proc_statm statm;
	int fd = ebbi_proc_statm_open(getpid());

	REQUIRE(ebbi_proc_status(getpid(), &status) == 0);
	CHECK_EQ(status.tgid, getpid());
	CHECK_EQ(status.ppid, getppid());
	CHECK(status.has_memory && status.hwm_bytes > 0);
	REQUIRE(ebbi_proc_stat(getpid(), &stat) == 0);
	CHECK_EQ(stat.pid, getpid());
	CHECK_EQ(stat.ppid, getppid());
	REQUIRE(ebbi_proc_rollup(getpid(), &rollup) == 0);
	CHECK(rollup.pss_bytes > 0 && rollup.pss_bytes <= rollup.rss_bytes);
	REQUIRE(fd >= 0);
	REQUIRE(ebbi_proc_statm(fd, &statm) == 0);
	CHECK(statm.resident_bytes > 0);
	close(fd);
}

TEST(a_process_that_went_away)
{
	struct proc_status status;
	struct proc_rollup rollup;
	struct proc_statm statm;
	pid_t pid = sleeper();
	int fd = ebbi_proc_statm_open(pid);

	REQUIRE(fd >= 0);
	REQUIRE(ebbi_proc_statm(fd, &statm) == 0);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	/* A zombie: still there, without memory. */
	REQUIRE(ebbi_proc_status(pid, &status) == 0);
	CHECK(!status.has_memory);
	CHECK_EQ(ebbi_proc_rollup(pid, &rollup), -ESRCH);
	waitpid(pid, NULL, 0);
	CHECK_EQ(ebbi_proc_status(pid, &status), -ESRCH);
	CHECK_EQ(ebbi_proc_rollup(pid, &rollup), -ESRCH);
	CHECK_EQ(ebbi_proc_statm(fd, &statm), -ESRCH);
	CHECK_EQ(ebbi_proc_statm_open(pid), -ESRCH);
	close(fd);
}

/* A child that starts a child of its own and ends: the grandchild becomes ours. */
static pid_t orphan(void)
{
	int pipe_fd[2];
	pid_t middle, grandchild = 0;

	if (pipe(pipe_fd) != 0)
		return 0;
	middle = fork();
	if (middle == 0) {
		pid_t pid = sleeper();

		_exit(write(pipe_fd[1], &pid, sizeof(pid)) != sizeof(pid));
	}
	if (read(pipe_fd[0], &grandchild, sizeof(grandchild)) != sizeof(grandchild))
		grandchild = 0;
	waitpid(middle, NULL, 0);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return grandchild;
}

static bool in_tree(const struct tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->processes[i].pid == pid)
			return true;
	}
	return false;
}

TEST(tree)
{
	struct tree tree;
	struct tree_memory memory;
	struct tree_times times;
	pid_t first, helper, lost, late;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	first = sleeper();
	helper = sleeper();
	ebbi_tree_init(&tree, getpid());
	ebbi_tree_exclude(&tree, helper);
	CHECK_EQ(ebbi_tree_add(&tree, first), 0);
	CHECK_EQ(ebbi_tree_add(&tree, first), 0);
	CHECK_EQ(tree.count, 1u);
	CHECK_EQ(ebbi_tree_update(&tree, 1000000000), 0);
	CHECK_EQ(tree.count, 1u);
	lost = orphan();
	late = sleeper();
	CHECK_EQ(ebbi_tree_update(&tree, 2000000000), 0);
	CHECK(in_tree(&tree, lost) && in_tree(&tree, late) && !in_tree(&tree, helper));
	CHECK_EQ(tree.count, 3u);
	CHECK_GT(ebbi_tree_rss(&tree), 0u);
	ebbi_tree_memory(&tree, &memory);
	CHECK_EQ(memory.processes, 3u);
	CHECK_EQ(memory.refused, 0u);
	CHECK_LT(memory.pss_bytes, memory.rss_bytes); /* forked: they share */
	ebbi_tree_times(&tree, &times);
	CHECK_GE(times.threads, 3u); /* a sanitizer may add some of its own */
	CHECK_GT(ebbi_tree_hwm(&tree), 0u);
	end(lost);
	ebbi_tree_rss(&tree);
	CHECK_EQ(tree.count, 2u);
	end(first);
	end(late);
	CHECK_EQ(ebbi_tree_rescan(&tree, 3000000000), 0);
	CHECK_EQ(tree.count, 0u);
	end(helper);
	ebbi_tree_free(&tree);
}

static const char *own_name(void)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[length > 0 ? length : 0] = 0;
	return strrchr(path, '/') + 1;
}

static void publish_head(void)
{
	ebb_shared_snapshot.magic = EBB_SHARED_MAGIC;
	ebb_shared_snapshot.snapshot.size_bytes = sizeof(struct ebb_snapshot);
	ebb_shared_snapshot.snapshot.version = EBB_SNAPSHOT_VERSION;
	ebb_shared_snapshot.snapshot.stats = EBB_SNAPSHOT_STATS;
	ebb_shared_snapshot.snapshot.classes_room = EBB_SNAPSHOT_CLASSES;
	ebb_shared_snapshot.snapshot.accounts_room = EBB_SNAPSHOT_ACCOUNTS;
	ebb_shared_snapshot.snapshot.owners_room = EBB_SNAPSHOT_OWNERS;
}

TEST(snapshot)
{
	struct ebb_snapshot snapshot;
	uint64_t address = 0;

	/* As a library before its first word, and after. */
	REQUIRE(ebbi_snapshot_find(getpid(), own_name(), &address) == 0);
	CHECK_EQ(address, (uint64_t)(uintptr_t)&ebb_shared_snapshot);
	CHECK_EQ(ebbi_snapshot_read(getpid(), address, &snapshot), -EPROTO);
	ebb_shared_snapshot.magic = EBB_SHARED_MAGIC;
	CHECK_EQ(ebbi_snapshot_read(getpid(), address, &snapshot), -ENODATA);
	ebb_shared_snapshot.sequence = 2;
	publish_head();
	ebb_shared_snapshot.snapshot.live_bytes = 1234;
	ebb_shared_snapshot.snapshot.held_cache_bytes = 1;
	ebb_shared_snapshot.snapshot.held_hole_bytes = 20;
	ebb_shared_snapshot.snapshot.held_slack_bytes = 300;
	ebb_shared_snapshot.snapshot.held_run_bytes = 4000;
	strcpy(ebb_shared_snapshot.snapshot.accounts[0].name, "tally");
	ebb_shared_snapshot.snapshot.accounts[0].limit_bytes = 77;
	memset(ebb_shared_snapshot.snapshot.owners[0].name, 'x', sizeof(ebb_shared_snapshot.snapshot.owners[0].name));
	REQUIRE(ebbi_snapshot_read(getpid(), address, &snapshot) == 0);
	CHECK_EQ(snapshot.live_bytes, 1234u);
	CHECK_EQ(ebbi_snapshot_held(&snapshot), 4321u);
	/* A write under way. */
	ebb_shared_snapshot.sequence = 3;
	CHECK_EQ(ebbi_snapshot_read(getpid(), address, &snapshot), -EAGAIN);
	CHECK_STR_EQ(snapshot.accounts[0].name, "tally");
	CHECK_EQ(snapshot.accounts[0].limit_bytes, 77u);
	CHECK_EQ(strlen(snapshot.owners[0].name), sizeof(snapshot.owners[0].name) - 1);
	/* Another version, and sizes from another world. */
	ebb_shared_snapshot.sequence = 4;
	CHECK_EQ(ebbi_snapshot_version(getpid(), address), EBB_SNAPSHOT_VERSION);
	ebb_shared_snapshot.snapshot.version = 9;
	CHECK_EQ(ebbi_snapshot_version(getpid(), address), 9u);
	CHECK_EQ(ebbi_snapshot_read(getpid(), address, &snapshot), -EPROTO);
	ebb_shared_snapshot.snapshot.version = EBB_SNAPSHOT_VERSION;
	ebb_shared_snapshot.snapshot.size_bytes = 0xffffffff;
	CHECK_EQ(ebbi_snapshot_read(getpid(), address, &snapshot), -EPROTO);
	ebb_shared_snapshot.snapshot.size_bytes = 16;
	CHECK_EQ(ebbi_snapshot_read(getpid(), address, &snapshot), -EPROTO);
}

/* A library that was built with `stats` figures and lists of other lengths. */
static size_t foreign(char *bytes, uint32_t stats, uint32_t classes, uint32_t accounts, uint32_t owners)
{
	struct ebb_snapshot head = {.version = EBB_SNAPSHOT_VERSION,
				    .stats = stats,
				    .classes_room = classes,
				    .accounts_room = accounts,
				    .owners_room = owners};
	char *at = bytes + offsetof(struct ebb_snapshot, live_bytes);

	memset(bytes, 0, 65536);
	for (uint64_t i = 0; i < stats; i++, at += sizeof(i))
		memcpy(at, &(uint64_t){1000 + i}, sizeof(i));
	memcpy(at, &(struct ebb_class){.size_bytes = 16, .live_slots = 5}, sizeof(struct ebb_class));
	at += classes * sizeof(struct ebb_class);
	memcpy(at, &(struct ebb_account){.name = "tally", .peak_bytes = 6}, sizeof(struct ebb_account));
	at += accounts * sizeof(struct ebb_account);
	memcpy(at, &(struct ebb_owner){.name = "libx", .samples = 7}, sizeof(struct ebb_owner));
	at += owners * sizeof(struct ebb_owner);
	head.size_bytes = (uint32_t)(at - bytes);
	memcpy(bytes, &head, offsetof(struct ebb_snapshot, live_bytes));
	return head.size_bytes;
}

TEST(snapshots_of_other_layouts)
{
	static char bytes[65536];
	struct ebb_snapshot snapshot;
	const uint32_t stats[] = {3, EBB_SNAPSHOT_STATS, EBB_SNAPSHOT_STATS + 20};
	const uint32_t rooms[] = {2, 64, 100};

	for (unsigned i = 0; i < 3; i++) {
		size_t length = foreign(bytes, stats[i], rooms[i], rooms[i], rooms[i]);

		REQUIRE(ebbi_snapshot_parse(bytes, length, &snapshot) == 0);
		CHECK_EQ(snapshot.size_bytes, sizeof(snapshot));
		CHECK_EQ(snapshot.live_bytes, 1000u);
		CHECK_EQ(snapshot.resident_bytes, 1002u);
		CHECK_EQ(snapshot.mapped_bytes, stats[i] > 3 ? 1003u : 0u);
		CHECK_EQ(snapshot.classes[0].live_slots, 5u);
		CHECK_STR_EQ(snapshot.accounts[0].name, "tally");
		CHECK_EQ(snapshot.accounts[0].peak_bytes, 6u);
		CHECK_STR_EQ(snapshot.owners[0].name, "libx");
		CHECK_EQ(snapshot.owners[0].samples, 7u);
		CHECK_EQ(snapshot.owners[1].name[0], 0);
		CHECK_EQ(ebbi_snapshot_parse(bytes, length - 1, &snapshot), -EPROTO);
	}
	/* A head that promises other lists than there are. */
	((struct ebb_snapshot *)(void *)bytes)->owners_room++;
	CHECK_EQ(ebbi_snapshot_parse(bytes, sizeof(bytes), &snapshot), -EPROTO);
}

/* A writer that never rests, as a program that asks for its own figures all the time. */
static void write_on(void)
{
	struct ebb_snapshot *snapshot = &ebb_shared_snapshot.snapshot;

	for (uint64_t i = 1;; i++) {
		__atomic_fetch_add(&ebb_shared_snapshot.sequence, 1, __ATOMIC_SEQ_CST);
		snapshot->live_bytes = i;
		snapshot->owners[EBB_SNAPSHOT_OWNERS - 1].live_bytes = i;
		__atomic_fetch_add(&ebb_shared_snapshot.sequence, 1, __ATOMIC_SEQ_CST);
		for (volatile unsigned wait = 0; wait < 2000; wait++)
			;
	}
}

TEST(torn_snapshots_are_not_seen)
{
	uint64_t address = (uint64_t)(uintptr_t)&ebb_shared_snapshot;
	uint64_t last = 0;
	unsigned seen = 0;
	pid_t pid;

	publish_head();
	ebb_shared_snapshot.sequence = 2;
	ebb_shared_snapshot.snapshot.live_bytes = 0;
	pid = fork();
	if (pid == 0) {
		alarm(60);
		write_on();
	}
	/* Until a hundred different ones were read, however the two are scheduled. */
	while (seen < 100) {
		struct ebb_snapshot snapshot;
		int error = ebbi_snapshot_read(pid, address, &snapshot);

		if (error == -EAGAIN)
			continue;
		REQUIRE(error == 0);
		CHECK_EQ(snapshot.live_bytes, snapshot.owners[EBB_SNAPSHOT_OWNERS - 1].live_bytes);
		CHECK_GE(snapshot.live_bytes, last);
		seen += snapshot.live_bytes > last;
		last = snapshot.live_bytes;
	}
	end(pid);
}

TEST(snapshot_of_nobody)
{
	struct ebb_snapshot snapshot;
	uint64_t address;
	pid_t pid = sleeper();

	CHECK_EQ(ebbi_snapshot_find(pid, "libnowhere.so", &address), -ENOENT);
	CHECK_EQ(ebbi_snapshot_read(pid, 16, &snapshot), -EFAULT);
	end(pid);
	CHECK_EQ(ebbi_snapshot_find(pid, "libebb.so", &address), -ESRCH);
	CHECK_EQ(ebbi_snapshot_read(pid, 16, &snapshot), -ESRCH);
}

TEST(preload)
{
	struct preload_look look;
	char path[4096];

	CHECK_EQ(ebbi_preload_look(getpid(), "/usr/lib/libnowhere.so", &look), 0);
	CHECK_EQ(look.state, PRELOAD_MISSED);
	CHECK_EQ(ebbi_preload_look(getpid(), NULL, &look), 0);
	CHECK_EQ(look.state, PRELOAD_NONE);
	CHECK(ebbi_preload_which("sh", path, sizeof(path)));
	CHECK_EQ(ebbi_preload_obstacle(path), REASON_NONE);
	CHECK(!ebbi_preload_which("no-such-command-anywhere", path, sizeof(path)));
	CHECK_EQ(ebbi_preload_obstacle("/nowhere"), REASON_NONE);
}

TEST(bound)
{
	/* 256 KiB a counter at two CPUs, 32 MiB at 64, three counters. */
	CHECK_EQ(ebbi_counter_bound("6.18.44-x", 2, 4096, 10), 3u * 256u * 1024u);
	CHECK_EQ(ebbi_counter_bound("6.2.0", 64, 4096, 1), 3u * 32u * 1024u * 1024u);
	CHECK_EQ(ebbi_counter_bound("7.0", 2, 4096, 1), 3u * 256u * 1024u);
	/* Before 6.2: 64 pages a thread. */
	CHECK_EQ(ebbi_counter_bound("6.1.0-37-amd64", 64, 4096, 10), 3u * 64u * 10u * 4096u);
	CHECK_EQ(ebbi_counter_bound("5.10", 1, 4096, 1), 3u * 64u * 4096u);
	CHECK_EQ(ebbi_counter_bound("unknown", 2, 4096, 1), 3u * 256u * 1024u);
}

TEST(machine)
{
	struct machine machine;

	ebbi_machine_read(&machine);
	CHECK(machine.kernel[0] && machine.architecture[0] && machine.thp[0]);
	CHECK_GT(machine.cpus, 0u);
	CHECK_GE(machine.page_bytes, 4096u);
	CHECK_GT(machine.memory_bytes, 0u);
}

int main(void)
{
	RUN(ourselves);
	RUN(a_process_that_went_away);
	RUN(tree);
	RUN(snapshot);
	RUN(snapshots_of_other_layouts);
	RUN(torn_snapshots_are_not_seen);
	RUN(snapshot_of_nobody);
	RUN(preload);
	RUN(bound);
	RUN(machine);
	return check_report();
}
