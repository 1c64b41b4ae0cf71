/* The work that a load says it did. */
#include "lab/workscan.h"

#include <string.h>

#include "check.h"
#include "lab/allocator.h"

static double work_in(const char *expression, const char *const *pieces)
{
	struct workscan scan;

	if (ebbi_workscan_start(&scan, expression) != 0)
		return -2;
	for (size_t i = 0; pieces[i]; i++)
		ebbi_workscan_feed(&scan, pieces[i], strlen(pieces[i]));
	ebbi_workscan_end(&scan);
	return scan.found ? scan.work : -1;
}

#define WORK(expression, ...) work_in(expression, (const char *const[]){__VA_ARGS__, NULL})

TEST(a_number_in_a_line)
{
	CHECK(WORK("served ([0-9]+)", "hello\nserved 42 requests\nbye\n") == 42);
	CHECK(WORK("served ([0-9]+)", "nothing\n") == -1);
	CHECK(WORK("([0-9.]+) req/s", "0.25 req/s") == 0.25);
	CHECK(WORK("n=([0-9.e+]+)", "n=1.5e+3\n") == 1500);
}

TEST(a_line_that_comes_in_pieces)
{
	CHECK(WORK("served ([0-9]+)", "ser", "ved 1", "23", "\n") == 123);
	CHECK(WORK("served ([0-9]+)", "served 1", "23") == 123);
}

TEST(the_last_line_that_matches_counts)
{
	CHECK(WORK("served ([0-9]+)", "served 1\nserved 2\nserved 3\nend\n") == 3);
	/* A progress bar that returns the carriage. */
	CHECK(WORK("served ([0-9]+)", "served 10\rserved 20\rserved 30\r") == 30);
}

TEST(commas_between_digits)
{
	CHECK(WORK("([0-9,]+) done", "1,234,567 done\n") == 1234567);
}

TEST(what_is_no_number_is_stepped_over)
{
	CHECK(WORK("served (.*)", "served 7\nserved many\n") == 7);
	CHECK(WORK("served (.*)", "served -7\n") == -1);
	CHECK(WORK("served (.*)", "served 1e999\n") == -1);
	CHECK(WORK("served (.*)", "served ,\n") == -1);
	CHECK(WORK("served (x)?", "served 1\n") == -1);
}

TEST(a_line_without_end_costs_no_memory)
{
	struct workscan scan;
	char bytes[1000];

	memset(bytes, 'x', sizeof(bytes));
	CHECK_EQ(ebbi_workscan_start(&scan, "^(1)"), 0);
	for (int i = 0; i < 100; i++)
		ebbi_workscan_feed(&scan, bytes, sizeof(bytes));
	ebbi_workscan_feed(&scan, "\n1\n", 3);
	ebbi_workscan_end(&scan);
	CHECK(scan.found && scan.work == 1);
}

TEST(an_expression_that_cannot_be_used)
{
	char message[LAB_MESSAGE];

	CHECK_EQ(ebbi_workscan_check("served ([0-9]+)", message), 0);
	CHECK(ebbi_workscan_check("served ([0-9]+", message) != 0);
	CHECK(strstr(message, "--work 'served ([0-9]+'") != NULL);
	CHECK(ebbi_workscan_check("served [0-9]+", message) != 0);
	CHECK(strstr(message, "parentheses") != NULL);
}

int main(void)
{
	RUN(a_number_in_a_line);
	RUN(a_line_that_comes_in_pieces);
	RUN(the_last_line_that_matches_counts);
	RUN(commas_between_digits);
	RUN(what_is_no_number_is_stepped_over);
	RUN(a_line_without_end_costs_no_memory);
	RUN(an_expression_that_cannot_be_used);
	return check_report();
}
