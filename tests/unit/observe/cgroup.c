/* The control group's files, both versions, and its place in the mounts. */
#include "observe/cgroup.h"

#include <errno.h>
#include <unistd.h>

#include "check.h"

static int parse(struct cgroup_memory *memory, const char *name, const char *text)
{
	return ebbi_parse_cgroup_file(memory, name, text, strlen(text));
}

TEST(path)
{
	static const char first[] = "12:pids:/a\n4:cpu,memory:/user/b\n1:name=systemd:/c\n0::/d\n";
	static const char second[] = "0::/system.slice/x.service\n";
	bool v1;
	char path[64];

	CHECK(ebbi_parse_cgroup(first, sizeof(first) - 1, &v1, path, sizeof(path)) && v1);
	CHECK(strcmp(path, "/user/b") == 0);
	CHECK(ebbi_parse_cgroup(second, sizeof(second) - 1, &v1, path, sizeof(path)) && !v1);
	CHECK(strcmp(path, "/system.slice/x.service") == 0);
	CHECK(!ebbi_parse_cgroup("nonsense\n", 9, &v1, path, sizeof(path)));
}

static bool mount(const char *line, bool v1, char *root, char *where)
{
	struct text text = ebbi_text(line, strlen(line));

	return ebbi_parse_cgroup_mount(&text, v1, root, where, 64);
}

TEST(mounts)
{
	char root[64] = "", where[64] = "";

	CHECK(mount("30 23 0:26 / /sys/fs/cgroup rw shared:9 master:2 - cgroup2 none rw,nsdelegate", false, root,
		    where));
	CHECK(strcmp(root, "/") == 0 && strcmp(where, "/sys/fs/cgroup") == 0);
	CHECK(mount("36 23 0:31 /docker/abc /cg/memory ro - cgroup cgroup rw,memory", true, root, where));
	CHECK(strcmp(root, "/docker/abc") == 0 && strcmp(where, "/cg/memory") == 0);
	CHECK(!mount("36 23 0:31 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct", true, root, where));
	CHECK(!mount("36 23 0:31 / /cg/x rw - cgroup cgroup rw,memory", false, root, where));
	CHECK(!mount("36 23 0:31 / /cg/x rw cgroup cgroup rw,memory", true, root, where));
	CHECK(!mount("36 23 0:31 / /cg/x rw -", true, root, where));
	CHECK(!mount("", true, root, where));
}

TEST(version_two)
{
	struct cgroup_memory memory = {0};

	CHECK_EQ(parse(&memory, "memory.current", "38453248\n"), 0);
	CHECK_EQ(parse(&memory, "memory.max", "max\n"), 0);
	CHECK_EQ(parse(&memory, "memory.swap.max", "0\n"), 0);
	CHECK_EQ(parse(&memory, "memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"), 0);
	CHECK_EQ(parse(&memory, "memory.stat",
		       "anon 100\nfile 200\nkernel 50\nkernel_stack 10\npagetables 11\nsock 12\nshmem 13\n"
		       "file_mapped 14\nfile_dirty 15\ninactive_file 16\nactive_file 17\nslab_reclaimable 18\n"
		       "slab_unreclaimable 19\nslab 37\nworkingset_refault_anon 1\n"),
		 0);
	CHECK_EQ(memory.value[CGROUP_USAGE], 38453248);
	CHECK(!memory.has[CGROUP_LIMIT]);
	CHECK(memory.has[CGROUP_SWAP_LIMIT] && memory.value[CGROUP_SWAP_LIMIT] == 0);
	CHECK_EQ(memory.value[CGROUP_KILLS], 2);
	CHECK_EQ(memory.value[CGROUP_LIMIT_HITS], 12);
	CHECK_EQ(memory.value[CGROUP_ANON], 100);
	CHECK_EQ(memory.value[CGROUP_FILE], 200);
	CHECK_EQ(memory.value[CGROUP_KERNEL], 50);
	CHECK_EQ(memory.value[CGROUP_KERNEL_STACKS], 10);
	CHECK_EQ(memory.value[CGROUP_PAGE_TABLES], 11);
	CHECK_EQ(memory.value[CGROUP_SOCKETS], 12);
	CHECK_EQ(memory.value[CGROUP_SHMEM], 13);
	CHECK_EQ(memory.value[CGROUP_FILE_MAPPED], 14);
	CHECK_EQ(memory.value[CGROUP_FILE_DIRTY], 15);
	CHECK_EQ(memory.value[CGROUP_FILE_INACTIVE], 16);
	CHECK_EQ(memory.value[CGROUP_FILE_ACTIVE], 17);
	CHECK_EQ(memory.value[CGROUP_SLAB_RECLAIMABLE], 18);
	CHECK_EQ(memory.value[CGROUP_SLAB_UNRECLAIMABLE], 19);
	CHECK_EQ(memory.value[CGROUP_SLAB], 37);
	CHECK(!memory.has[CGROUP_SWAP] && !memory.has[CGROUP_ZSWAP]);
}

/* The group that case 31 of the doctor is about. */
TEST(version_one)
{
	struct cgroup_memory memory = {0};

	CHECK_EQ(parse(&memory, "memory.usage_in_bytes", "2869575680\n"), 0);
	CHECK_EQ(parse(&memory, "memory.limit_in_bytes", "9223372036854771712\n"), 0);
	CHECK_EQ(parse(&memory, "memory.kmem.usage_in_bytes", "16547840\n"), 0);
	CHECK_EQ(parse(&memory, "memory.kmem.tcp.usage_in_bytes", "4096\n"), 0);
	CHECK_EQ(parse(&memory, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 0);
	CHECK_EQ(parse(&memory, "memory.stat",
		       "cache 1\nrss 2\ninactive_file 3\nhierarchical_memory_limit 9223372036854771712\n"
		       "total_cache 2842775552\ntotal_rss 675840\ntotal_mapped_file 0\ntotal_inactive_file 2653802496\n"
		       "total_active_file 188973056\ntotal_dirty 8192\n"),
		 0);
	CHECK(!memory.has[CGROUP_LIMIT]);
	CHECK_EQ(memory.value[CGROUP_USAGE], 2869575680);
	CHECK_EQ(memory.value[CGROUP_KERNEL], 16547840);
	CHECK_EQ(memory.value[CGROUP_SOCKETS], 4096);
	CHECK_EQ(memory.value[CGROUP_KILLS], 7);
	CHECK_EQ(memory.value[CGROUP_FILE], 2842775552);
	CHECK_EQ(memory.value[CGROUP_ANON], 675840);
	CHECK_EQ(memory.value[CGROUP_FILE_INACTIVE], 2653802496);
	CHECK_EQ(memory.value[CGROUP_FILE_ACTIVE], 188973056);
	CHECK_EQ(memory.value[CGROUP_FILE_DIRTY], 8192);
	CHECK(memory.has[CGROUP_FILE_MAPPED] && memory.value[CGROUP_FILE_MAPPED] == 0);
}

TEST(not_these_files)
{
	struct cgroup_memory memory = {0};

	CHECK_EQ(parse(&memory, "memory.numa_stat", "1\n"), -ENOENT);
	CHECK_EQ(parse(&memory, "memory.current", ""), -EINVAL);
	CHECK_EQ(parse(&memory, "memory.current", "12 apples\n"), -EINVAL);
	CHECK_EQ(parse(&memory, "memory.current", "max\n"), -EINVAL);
	CHECK_EQ(parse(&memory, "memory.current", "-1\n"), -EINVAL);
	CHECK_EQ(parse(&memory, "memory.current", "99999999999999999999999\n"), -EINVAL);
	CHECK_EQ(parse(&memory, "memory.max", "maximum\n"), -EINVAL);
	CHECK_EQ(parse(&memory, "memory.stat", "nothing known\n"), -EINVAL);
	CHECK_EQ(parse(&memory, "memory.stat", "anon 12\nfile\nfile x\n"), -EINVAL);
	/* Nothing is kept of a file that is refused. */
	for (size_t i = 0; i < CGROUP_FIGURE_COUNT; i++)
		CHECK(!memory.has[i]);
	CHECK_EQ(parse(&memory, "memory.stat", "anon 12\nanonymous 3\n"), 0);
	CHECK_EQ(parse(&memory, "memory.stat", "anon 13\n"), 0);
	CHECK_EQ(memory.value[CGROUP_ANON], 12);
}

TEST(files_are_named_once)
{
	size_t count = 0;

	for (const char *name; (name = ebbi_cgroup_file(count)); count++) {
		for (size_t i = 0; i < count; i++)
			CHECK(strcmp(name, ebbi_cgroup_file(i)) != 0);
	}
	CHECK(count > 10);
}

/* Whatever this machine has: what is known makes sense. */
TEST(our_own)
{
	struct cgroup_memory memory;
	struct cgroup_figures figures;

	ebbi_cgroup_memory(getpid(), &memory);
	ebbi_cgroup_read(getpid(), &figures);
	if (!memory.known)
		return;
	CHECK(memory.path[0] == '/');
	CHECK(strcmp(memory.path, figures.path) == 0);
	if (memory.bites.known) {
		CHECK(memory.bites.limit_bytes >= memory.lowest_limit_bytes);
		CHECK_EQ(figures.limit_bytes, memory.lowest_limit_bytes);
	}
	if (!memory.root && memory.has[CGROUP_USAGE])
		CHECK(memory.value[CGROUP_USAGE] > 0);
}

int main(void)
{
	RUN(path);
	RUN(mounts);
	RUN(version_two);
	RUN(version_one);
	RUN(not_these_files);
	RUN(files_are_named_once);
	RUN(our_own);
	return check_report();
}
