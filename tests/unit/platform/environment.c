/* One variable, from `environ` and, before there is one, from the kernel. */
#include "platform/environment.h"

#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static char value[64];

TEST(from_environ)
{
	memset(value, 'x', sizeof(value));
	CHECK_EQ(setenv("EBB_TEST", "delay:1s", 1), 0);
	CHECK_EQ(setenv("EBB_TEST_LONGER", "no", 1), 0);
	CHECK(ebbi_environment_read("EBB_TEST", value, sizeof(value)));
	CHECK_STR_EQ(value, "delay:1s");
	CHECK(!ebbi_environment_read("EBB_TES", value, sizeof(value)));
	CHECK(!ebbi_environment_read("EBB_TEST_LONG", value, sizeof(value)));
	CHECK_STR_EQ(value, "delay:1s");
	CHECK_EQ(setenv("EBB_TEST", "", 1), 0);
	CHECK(ebbi_environment_read("EBB_TEST", value, sizeof(value)));
	CHECK_STR_EQ(value, "");
}

TEST(cut_to_fit)
{
	CHECK_EQ(setenv("EBB_TEST", "0123456789", 1), 0);
	memset(value, 'x', sizeof(value));
	CHECK(ebbi_environment_read("EBB_TEST", value, 5));
	CHECK_STR_EQ(value, "0123");
	CHECK_EQ(value[5], 'x');
	CHECK(ebbi_environment_read("EBB_TEST", value, 1));
	CHECK_STR_EQ(value, "");
}

/* The kernel has what the process was started with: this test starts itself again for that. */
TEST(from_the_kernel)
{
	char **saved = environ;

	environ = NULL;
	CHECK(ebbi_environment_read("EBB_TEST_FIRST", value, sizeof(value)));
	CHECK_STR_EQ(value, "one");
	CHECK(ebbi_environment_read("EBB_TEST_LAST", value, sizeof(value)));
	CHECK_STR_EQ(value, "two=2");
	CHECK(ebbi_environment_read("EBB_TEST_LAST", value, 4));
	CHECK_STR_EQ(value, "two");
	/* Entries longer than any buffer on the way are cut, and skipped when they are somebody else's. */
	CHECK(ebbi_environment_read("EBB_TEST_HUGE", value, sizeof(value)));
	CHECK_EQ(strlen(value), sizeof(value) - 1);
	CHECK(!ebbi_environment_read("EBB_TEST_NOT", value, sizeof(value)));
	CHECK(!ebbi_environment_read("EBB_TEST_", value, sizeof(value)));
	environ = saved;
}

/* An environment in which the interesting entries are first, behind a very long one, and last. */
static void start_again(char **argv)
{
	static char longest[5000];
	static char filler[3000];
	char *entries[] = {"EBB_TEST_FIRST=one", longest, filler, "EBB_TEST_LAST=two=2", NULL};

	memset(longest, 'l', sizeof(longest) - 1);
	memcpy(longest, "EBB_TEST_HUGE=", 14);
	memset(filler, 'f', sizeof(filler) - 1);
	filler[10] = '=';
	(void)execve("/proc/self/exe", argv, entries);
	CHECK_FAIL("cannot start again");
}

int main(int argc, char **argv)
{
	if (getenv("EBB_TEST_FIRST") == NULL)
		start_again(argv);
	(void)argc;
	RUN(from_the_kernel);
	RUN(from_environ);
	RUN(cut_to_fit);
	return check_report();
}
