/* The limit of a control group, read from trees of files as the kernel shows them. */
#include "platform/cgroup.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define MIB ((uint64_t)1 << 20)

static char root[64];

/* A file below `root`, with the directories on the way. */
static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	CHECK(file != NULL);
	fputs(text, file);
	CHECK_EQ(fclose(file), 0);
}

/* A new, empty tree. */
static void begin(const char *cgroup, const char *mountinfo)
{
	static unsigned count;

	snprintf(root, sizeof(root), "cgroup-test.%ld.%u", (long)getpid(), count++);
	CHECK_EQ(mkdir(root, 0700), 0);
	if (cgroup != NULL)
		put("/proc/self/cgroup", cgroup);
	if (mountinfo != NULL)
		put("/proc/self/mountinfo", mountinfo);
}

static uint64_t limit(void)
{
	char command[128];
	uint64_t bytes = ebbi_cgroup_limit_bytes(root);

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	CHECK_EQ(system(command), 0);
	return bytes;
}

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT \
	"31 23 0:27 / /sys/fs/cgroup/cpu rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n" \
	"36 23 0:31 / /sys/fs/cgroup/memory rw shared:15 - cgroup cgroup rw,memory\n"

TEST(nothing_to_read)
{
	begin(NULL, NULL);
	CHECK_EQ(limit(), UINT64_MAX);
	begin("0::/user.slice\n", NULL);
	CHECK_EQ(limit(), UINT64_MAX);
	begin(NULL, V2_MOUNT);
	CHECK_EQ(limit(), UINT64_MAX);
	begin("0::/a/b\n", V2_MOUNT);
	CHECK_EQ(limit(), UINT64_MAX);
	begin("rubbish\n::\n:\n\n0::relative\n", "rubbish\n - \n1 2 - cgroup2\n" V2_MOUNT);
	CHECK_EQ(limit(), UINT64_MAX);
}

TEST(version_2_up_the_tree)
{
	begin("0::/a/b/c\n", V2_MOUNT);
	put("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
	put("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
	put("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	CHECK_EQ(limit(), 512 * MIB);
	begin("0::/a/b/c\n", V2_MOUNT);
	put("/sys/fs/cgroup/a/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.high", "268435456\n");
	put("/sys/fs/cgroup/a/b/c/memory.max", "536870912\n");
	CHECK_EQ(limit(), 256 * MIB);
}

/* In a container the root of the mount is the container's own group. */
TEST(version_2_container)
{
	begin("0::/\n", V2_MOUNT);
	put("/sys/fs/cgroup/memory.max", "268435456\n");
	CHECK_EQ(limit(), 256 * MIB);
	/* Without a name space: the path is the host's, of which only the end is mounted. */
	begin("0::/docker/abc/x\n", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	put("/sys/fs/cgroup/x/memory.max", "max\n");
	put("/sys/fs/cgroup/memory.max", "134217728\n");
	CHECK_EQ(limit(), 128 * MIB);
	/* A path that the mount does not show. */
	begin("0::/../other\n", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	put("/sys/fs/cgroup/memory.max", "134217728\n");
	CHECK_EQ(limit(), 128 * MIB);
	/* The same beginning is not the same group. */
	begin("0::/docker/abcd\n", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	put("/sys/fs/cgroup/d/memory.max", "1048576\n");
	put("/sys/fs/cgroup/memory.max", "134217728\n");
	CHECK_EQ(limit(), 128 * MIB);
}

TEST(version_1)
{
	begin("5:cpu,cpuacct:/x\n4:memory:/jobs/one\n0::/\n", V1_MOUNT);
	put("/sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "268435456\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "1\n");
	CHECK_EQ(limit(), 256 * MIB);
	/* What lies above the part that is mounted. */
	begin("4:memory:/docker/abc\n", "36 23 0:31 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/memory.stat", "cache 1\nrss 5\nhierarchical_memory_limit 67108864\ntotal_rss 7\n");
	CHECK_EQ(limit(), 64 * MIB);
}

TEST(both_versions)
{
	begin("4:memory:/m\n0::/u\n", V1_MOUNT V2_MOUNT);
	put("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "268435456\n");
	put("/sys/fs/cgroup/u/memory.max", "134217728\n");
	CHECK_EQ(limit(), 128 * MIB);
}

/* Names with blanks are written in octal; a list of controllers is searched by whole words. */
TEST(odd_names)
{
	begin("4:memory2,xmemory:/no\n3:cpu,memory:/my jobs\n",
	      "36 23 0:31 / /sys/fs/my\\040cgroups rw - cgroup cgroup rw,cpu,memory\n");
	put("/sys/fs/my cgroups/my jobs/memory.limit_in_bytes", "1048576\n");
	CHECK_EQ(limit(), MIB);
}

/* Some thousand mounts, and a line of more than a buffer before the one that matters. */
TEST(long_files)
{
	static char text[400000];
	size_t length = 0;

	for (unsigned i = 0; i < 3000; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "%u 23 0:%u / /var/lib/overlay/%u rw - overlay overlay rw\n", i, i, i);
	memset(text + length, 'x', 9000);
	length += 9000;
	snprintf(text + length, sizeof(text) - length, "\n%s", V2_MOUNT);
	begin("0::/a\n", text);
	put("/sys/fs/cgroup/a/memory.max", "1048576");
	CHECK_EQ(limit(), MIB);
}

int main(void)
{
	RUN(nothing_to_read);
	RUN(version_2_up_the_tree);
	RUN(version_2_container);
	RUN(version_1);
	RUN(both_versions);
	RUN(odd_names);
	RUN(long_files);
	return check_report();
}
