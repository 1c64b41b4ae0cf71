/* The last words of a process, exactly. */
#include "platform/report.h"

#include <unistd.h>

#include "check.h"
#include "child.h"

static void double_free_slot(void *pointer)
{
	ebbi_report_free_slot("free", pointer, 48);
}

static void double_free_run(void *pointer)
{
	ebbi_report_free_run("free", pointer);
}

static void inside_slot(void *pointer)
{
	ebbi_report_inside_slot("free", pointer, 48, (char *)pointer - 8);
}

static void inside_block(void *pointer)
{
	ebbi_report_inside_block("realloc", pointer, 1048576, (char *)pointer - 0x1000);
}

static void foreign(void *pointer)
{
	ebbi_report_foreign("malloc_usable_size", pointer);
}

static void internal(void *text)
{
	ebbi_report_internal(text);
}

static void closed(void *pointer)
{
	(void)close(STDERR_FILENO);
	ebbi_report_foreign("free", pointer);
}

TEST(lines)
{
	void *pointer = (void *)0x7f0012345678;

	CHECK_DIES(double_free_slot, pointer,
		   "ebb: double free of 0x7f0012345678: a 48-byte slot that is already free");
	CHECK_DIES(double_free_run, pointer,
		   "ebb: double free of 0x7f0012345678: a block of large pages that is already free");
	CHECK_DIES(inside_slot, pointer,
		   "ebb: invalid free of 0x7f0012345678: inside a 48-byte slot that starts at 0x7f0012345670");
	CHECK_DIES(
		inside_block, pointer,
		"ebb: invalid realloc of 0x7f0012345678: inside a block of 1048576 bytes that starts at 0x7f0012344678");
	CHECK_DIES(foreign, pointer, "ebb: invalid malloc_usable_size of 0x7f0012345678: not memory of this heap");
	CHECK_DIES(internal, "something is wrong", "ebb: internal error: something is wrong");
}

TEST(without_stderr)
{
	char text[64];

	CHECK_EQ(child_run(closed, NULL, text, sizeof(text)), 6);
	CHECK_STR_EQ(text, "");
}

/* A text beyond the line is cut, and still ends the line. */
TEST(long_text)
{
	char text[1024];
	char what[600];

	memset(what, 'w', sizeof(what) - 1);
	what[sizeof(what) - 1] = '\0';
	CHECK_EQ(child_run(internal, what, text, sizeof(text)), 6);
	CHECK_EQ(strlen(text), 256u);
	CHECK_EQ(text[255], '\n');
}

int main(void)
{
	RUN(lines);
	RUN(without_stderr);
	RUN(long_text);
	return check_report();
}
