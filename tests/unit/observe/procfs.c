/* The parsers of /proc, on real text, on text that was cut, and on text that lies. */
#include "observe/procfs.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"

#define WHOLE(text) (text), sizeof(text) - 1

static const char status_text[] = "Name:\tpuma\n"
				  "Umask:\t0022\n"
				  "State:\tS (sleeping)\n"
				  "Tgid:\t4242\n"
				  "Ngid:\t0\n"
				  "Pid:\t4242\n"
				  "PPid:\t17\n"
				  "VmPeak:\t  400000 kB\n"
				  "VmHWM:\t  288112 kB\n"
				  "VmRSS:\t  270336 kB\n"
				  "RssAnon:\t  250000 kB\n"
				  "RssFile:\t   20300 kB\n"
				  "RssShmem:\t      36 kB\n"
				  "VmSwap:\t     128 kB\n"
				  "Threads:\t12\n"
				  "SigQ:\t0/95000\n";

TEST(status)
{
	struct proc_status status;

	REQUIRE(ebbi_parse_status(WHOLE(status_text), &status) == 0);
	CHECK_EQ(status.tgid, 4242);
	CHECK_EQ(status.ppid, 17);
	CHECK_EQ(status.threads, 12u);
	CHECK(status.has_memory);
	CHECK_EQ(status.hwm_bytes, 288112u * 1024u);
	CHECK_EQ(status.rss_bytes, 270336u * 1024u);
	CHECK_EQ(status.anon_bytes, 250000u * 1024u);
	CHECK_EQ(status.swap_bytes, 128u * 1024u);
}

TEST(status_of_a_zombie_has_no_memory)
{
	struct proc_status status;

	REQUIRE(ebbi_parse_status(WHOLE("Tgid:\t5\nPPid:\t1\nThreads:\t1\n"), &status) == 0);
	CHECK(!status.has_memory);
}

TEST(status_that_lies)
{
	static const char *const wrong[] = {
		"",
		"\n",
		"Tgid:\t5\nPPid:\t1\n",
		"Tgid:\t5\nPPid:\t1\nThreads:\tmany\n",
		"Tgid:\t99999999999\nPPid:\t1\nThreads:\t1\n",
		"Tgid:\t5\nPPid:\t1\nThreads:\t1\nVmHWM:\t12 MB\n",
		"Tgid:\t5\nPPid:\t1\nThreads:\t1\nVmHWM:\t12\n",
		"Tgid:\t5\nPPid:\t1\nThreads:\t1\nVmHWM:\t99999999999999999999 kB\n",
		"Tgid:\t5\nPPid:\t1\nThreads:\t1\nVmHWM:\t18446744073709551615 kB\n",
		/* cut between the two memory lines */
		"Tgid:\t5\nPPid:\t1\nThreads:\t1\nVmHWM:\t12 kB\n",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct proc_status status = {.tgid = 1};

		CHECK_EQ(ebbi_parse_status(wrong[i], strlen(wrong[i]), &status), -EINVAL);
		CHECK_EQ(status.tgid, 1); /* untouched */
	}
}

/* Every prefix in a buffer of exactly its size: a read beyond the end is the sanitizer's to find. */
TEST(status_cut_anywhere)
{
	for (size_t length = 0; length < sizeof(status_text); length++) {
		char *cut = malloc(length + 1);
		struct proc_status status;

		REQUIRE(cut != NULL);
		memcpy(cut, status_text, length);
		(void)ebbi_parse_status(cut, length, &status);
		free(cut);
	}
}

TEST(statm)
{
	struct proc_statm statm;

	REQUIRE(ebbi_parse_statm(WHOLE("1000 250 30 1 0 99 0\n"), 4096, &statm) == 0);
	CHECK_EQ(statm.size_bytes, 1000u * 4096u);
	CHECK_EQ(statm.resident_bytes, 250u * 4096u);
	CHECK_EQ(statm.shared_bytes, 30u * 4096u);
	REQUIRE(ebbi_parse_statm(WHOLE("0 0 0 0 0 0 0\n"), 4096, &statm) == 0);
	CHECK_EQ(statm.size_bytes, 0u);
	CHECK_EQ(ebbi_parse_statm(WHOLE(""), 4096, &statm), -EINVAL);
	CHECK_EQ(ebbi_parse_statm(WHOLE("1000 25"), 4096, &statm), -EINVAL);
	CHECK_EQ(ebbi_parse_statm(WHOLE("1000 250 3"), 4096, &statm), -EINVAL);
	CHECK_EQ(ebbi_parse_statm(WHOLE("-1 2 3 4\n"), 4096, &statm), -EINVAL);
	CHECK_EQ(ebbi_parse_statm(WHOLE("18446744073709551615 2 3 4\n"), 4096, &statm), -EINVAL);
}

TEST(rollup)
{
	struct proc_rollup rollup;
	static const char text[] = "55d0c0000000-7ffd1a5f9000 ---p 00000000 00:00 0  [rollup]\n"
				   "Rss:              101000 kB\n"
				   "Pss:               90500 kB\n"
				   "Pss_Dirty:          8000 kB\n"
				   "Pss_Anon:          80000 kB\n"
				   "Shared_Clean:        100 kB\n"
				   "Anonymous:         80000 kB\n"
				   "KSM:                   0 kB\n"
				   "LazyFree:           4096 kB\n"
				   "AnonHugePages:      2048 kB\n"
				   "Swap:                 12 kB\n"
				   "SwapPss:               6 kB\n"
				   "SomethingNew:          6 furlongs\n"
				   "Locked:                0 kB\n";

	REQUIRE(ebbi_parse_rollup(WHOLE(text), &rollup) == 0);
	CHECK_EQ(rollup.rss_bytes, 101000u * 1024u);
	CHECK_EQ(rollup.pss_bytes, 90500u * 1024u); /* and not Pss_Dirty or Pss_Anon */
	CHECK_EQ(rollup.anonymous_bytes, 80000u * 1024u);
	CHECK_EQ(rollup.lazyfree_bytes, 4096u * 1024u);
	CHECK_EQ(rollup.huge_bytes, 2048u * 1024u);
	CHECK_EQ(rollup.swap_bytes, 12u * 1024u);
	CHECK_EQ(rollup.swap_pss_bytes, 6u * 1024u);
	CHECK_EQ(ebbi_parse_rollup(WHOLE(""), &rollup), -EINVAL);
	CHECK_EQ(ebbi_parse_rollup(WHOLE("Rss: 1 kB\nPss: 1 kB\n"), &rollup), -EINVAL);
	CHECK_EQ(ebbi_parse_rollup(WHOLE("Rss: 1 kB\nPss: x kB\nAnonymous: 0 kB\n"), &rollup), -EINVAL);
}

TEST(stat_with_a_hostile_name)
{
	struct proc_stat stat;
	static const char text[] =
		"77 (a) S 1 (b) S 3 4 5 6 -1 4194560 100 200 3 4 50 60 70 80 20 -5 9 0 12345 999 0\n";

	REQUIRE(ebbi_parse_stat(WHOLE(text), &stat) == 0);
	CHECK_EQ(stat.pid, 77);
	CHECK_STR_EQ(stat.command, "a) S 1 (b");
	CHECK_EQ(stat.state, 'S');
	CHECK_EQ(stat.ppid, 3);
	CHECK_EQ(stat.minor_faults, 100u);
	CHECK_EQ(stat.child_minor_faults, 200u);
	CHECK_EQ(stat.major_faults, 3u);
	CHECK_EQ(stat.user_ticks, 50u);
	CHECK_EQ(stat.system_ticks, 60u);
	CHECK_EQ(stat.child_user_ticks, 70u);
	CHECK_EQ(stat.threads, 9u);
	CHECK_EQ(stat.start_ticks, 12345u);
}

TEST(stat_cut_anywhere)
{
	static const char text[] = "7 (x\033[1m) R 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 1 1\n";
	struct proc_stat stat;

	for (size_t length = 0; length + 5 < sizeof(text); length++)
		CHECK_EQ(ebbi_parse_stat(text, length, &stat), -EINVAL);
	REQUIRE(ebbi_parse_stat(WHOLE(text), &stat) == 0);
	CHECK_STR_EQ(stat.command, "x?[1m");
	CHECK_EQ(ebbi_parse_stat(WHOLE("7 x R 1"), &stat), -EINVAL);
	CHECK_EQ(ebbi_parse_stat(WHOLE("7 ()"), &stat), -EINVAL);
}

static int map_of(const char *text, struct proc_map *ret_map)
{
	struct text line = ebbi_text(text, strlen(text));

	return ebbi_parse_map(&line, ret_map);
}

TEST(maps)
{
	struct proc_map map;

	REQUIRE(map_of("7f65dee02000-7f65dee0e000 r-xp 00002000 fe:00 5359511   /usr/lib/lib a.so (deleted)", &map) ==
		0);
	CHECK_EQ(map.start, 0x7f65dee02000u);
	CHECK_EQ(map.end, 0x7f65dee0e000u);
	CHECK_EQ(map.offset_bytes, 0x2000u);
	CHECK_EQ(map.inode, 5359511u);
	CHECK(map.executable);
	CHECK(map.deleted);
	CHECK_EQ(ebbi_text_length(&map.path), strlen("/usr/lib/lib a.so"));
	REQUIRE(map_of("7f65dee02000-7f65dee0e000 rw-p 00000000 00:00 0 ", &map) == 0);
	CHECK_EQ(ebbi_text_length(&map.path), 0u);
	CHECK(!map.executable && !map.deleted);
	CHECK_EQ(map_of("", &map), -EINVAL);
	CHECK_EQ(map_of("7f65dee02000", &map), -EINVAL);
	CHECK_EQ(map_of("2000-1000 r-xp 0 0:0 0", &map), -EINVAL);
	CHECK_EQ(map_of("1000-2000 r-x 0 0:0 0", &map), -EINVAL);
	CHECK_EQ(map_of("1000-2000 r-xp 0", &map), -EINVAL);
	CHECK_EQ(map_of("11112222333344445-2 r-xp 0 0:0 0", &map), -EINVAL);
}

TEST(loadavg)
{
	pid_t newest;

	REQUIRE(ebbi_parse_loadavg(WHOLE("1.33 0.57 0.21 4/124 12502\n"), &newest) == 0);
	CHECK_EQ(newest, 12502);
	CHECK_EQ(ebbi_parse_loadavg(WHOLE("1.33 0.57 0.21 4/124 12502"), &newest), -EINVAL);
	CHECK_EQ(ebbi_parse_loadavg(WHOLE("1.33 0.57 0.21\n"), &newest), -EINVAL);
}

TEST(choice_and_environ)
{
	char word[8];
	struct text value;
	static const char environ_text[] = "A=1\0LD_PRELOAD_X=no\0LD_PRELOAD=/x.so\0B=";

	REQUIRE(ebbi_parse_choice(WHOLE("always [madvise] never\n"), word, sizeof(word)) == 0);
	CHECK_STR_EQ(word, "madvise");
	REQUIRE(ebbi_parse_choice(WHOLE("[something-far-too-long]"), word, sizeof(word)) == 0);
	CHECK_STR_EQ(word, "somethi");
	CHECK_EQ(ebbi_parse_choice(WHOLE("always madvise never"), word, sizeof(word)), -EINVAL);
	CHECK_EQ(ebbi_parse_choice(WHOLE("a] [b"), word, sizeof(word)), -EINVAL);
	REQUIRE(ebbi_parse_environ(WHOLE(environ_text), "LD_PRELOAD", &value) == 0);
	CHECK_EQ(ebbi_text_length(&value), 5u);
	REQUIRE(ebbi_parse_environ(WHOLE(environ_text), "B", &value) == 0);
	CHECK_EQ(ebbi_text_length(&value), 0u);
	CHECK_EQ(ebbi_parse_environ(WHOLE(environ_text), "PRELOAD", &value), -EINVAL);
	CHECK_EQ(ebbi_parse_environ("", 0, "B", &value), -EINVAL);
}

int main(void)
{
	RUN(status);
	RUN(status_of_a_zombie_has_no_memory);
	RUN(status_that_lies);
	RUN(status_cut_anywhere);
	RUN(statm);
	RUN(rollup);
	RUN(stat_with_a_hostile_name);
	RUN(stat_cut_anywhere);
	RUN(maps);
	RUN(loadavg);
	RUN(choice_and_environ);
	return check_report();
}
