/* The progress line: its words and its time with a clock of ours, and what a terminal is sent. */
#include "report/progress.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define SECOND 1000000000ull

static uint64_t clock_ns;

static uint64_t fake_now(void)
{
	return clock_ns;
}

static void start(struct progress *progress, unsigned runs)
{
	ebbi_progress_open(progress, -1, "ebb compare", runs);
	progress->now = fake_now;
	clock_ns = 1000 * SECOND;
}

static const char *line_of(const struct progress *progress)
{
	static char line[PROGRESS_LINE];

	ebbi_progress_line(progress, clock_ns, line, sizeof(line));
	return line;
}

TEST(words)
{
	struct progress progress;

	start(&progress, 10);
	CHECK_STR_EQ(line_of(&progress), "ebb compare");
	ebbi_progress_phase(&progress, "reading");
	CHECK_STR_EQ(line_of(&progress), "ebb compare: reading");
	ebbi_progress_run(&progress, 1, NULL);
	CHECK_STR_EQ(line_of(&progress), "ebb compare: run 1 of 10");
	ebbi_progress_run(&progress, 2, "je\033malloc");
	ebbi_progress_phase(&progress, "load: a\nb");
	CHECK_STR_EQ(line_of(&progress), "ebb compare: run 2 of 10, je?malloc, load: a?b, about 0 s left");
	start(&progress, 0);
	ebbi_progress_run(&progress, 7, NULL);
	CHECK_STR_EQ(line_of(&progress), "ebb compare: run 7");
}

TEST(time_left)
{
	struct progress progress;
	uint64_t left_ns = 1;

	start(&progress, 4);
	ebbi_progress_run(&progress, 1, NULL);
	clock_ns += 10 * SECOND;
	CHECK(!ebbi_progress_left(&progress, clock_ns, &left_ns));
	CHECK_EQ(left_ns, 1);
	ebbi_progress_run(&progress, 2, NULL);
	CHECK(ebbi_progress_left(&progress, clock_ns, &left_ns));
	CHECK_EQ(left_ns, 30 * SECOND);
	clock_ns += 4 * SECOND;
	CHECK_STR_EQ(line_of(&progress), "ebb compare: run 2 of 4, about 26 s left");
	/* Longer than the mean: about to end. */
	clock_ns += 16 * SECOND;
	CHECK_STR_EQ(line_of(&progress), "ebb compare: run 2 of 4, about 20 s left");
	/* The mean of 10 and 20. */
	ebbi_progress_run(&progress, 3, NULL);
	CHECK_STR_EQ(line_of(&progress), "ebb compare: run 3 of 4, about 30 s left");
	clock_ns += 15 * SECOND;
	ebbi_progress_run(&progress, 4, NULL);
	clock_ns += 20 * SECOND;
	CHECK_STR_EQ(line_of(&progress), "ebb compare: run 4 of 4, about 0 s left");
}

TEST(units)
{
	static const struct {
		uint64_t seconds;
		const char *end;
	} cases[] = {
		{59, "about 59 s left"},         {60, "about 1 min 0 s left"}, {599, "about 9 min 59 s left"},
		{600, "about 10 min left"},      {3569, "about 59 min left"},  {3570, "about 1 h 0 min left"},
		{9000, "about 2 h 30 min left"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct progress progress;
		char expected[80];

		start(&progress, 2);
		ebbi_progress_run(&progress, 1, NULL);
		clock_ns += cases[i].seconds * SECOND;
		ebbi_progress_run(&progress, 2, NULL);
		snprintf(expected, sizeof(expected), "ebb compare: run 2 of 2, %s", cases[i].end);
		CHECK_STR_EQ(line_of(&progress), expected);
	}
}

/* What the terminal was sent since the last call. */
static const char *sent(int master)
{
	static char text[4096];
	ssize_t got = read(master, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = 0;
	return text;
}

TEST(terminal)
{
	struct winsize window = {.ws_col = 30, .ws_row = 24};
	struct progress progress;
	int master, slave;

	REQUIRE(openpty(&master, &slave, NULL, NULL, &window) == 0);
	fcntl(master, F_SETFL, O_NONBLOCK);
	setenv("TERM", "xterm", 1);
	ebbi_progress_open(&progress, slave, "ebb size", 3);
	CHECK(progress.on);
	ebbi_progress_run(&progress, 1, "\303\244\303\244");
	CHECK_STR_EQ(sent(master), "\r\033[Kebb size: run 1 of 3, \303\244\303\244");
	/* Nothing changed: nothing is sent. */
	ebbi_progress_tick(&progress);
	CHECK_STR_EQ(sent(master), "");
	/* Never into the last column, and no half of a character. */
	ebbi_progress_phase(&progress, "\303\266\303\266\303\266\303\266\303\266\303\266\303\266\303\266");
	CHECK_STR_EQ(sent(master), "\r\033[Kebb size: run 1 of 3, \303\244\303\244, \303\266\303\266\303\266");
	ebbi_progress_clear(&progress);
	CHECK_STR_EQ(sent(master), "\r\033[K");
	ebbi_progress_clear(&progress);
	CHECK_STR_EQ(sent(master), "");
	/* Drawn again though its words are the same. */
	ebbi_progress_tick(&progress);
	CHECK_NE(strlen(sent(master)), 0);
	setenv("TERM", "dumb", 1);
	ebbi_progress_open(&progress, slave, "ebb size", 3);
	ebbi_progress_run(&progress, 1, NULL);
	CHECK_STR_EQ(sent(master), "");
	close(slave);
	close(master);
}

TEST(no_terminal)
{
	struct progress progress;
	int fds[2];
	char byte;

	REQUIRE(pipe2(fds, O_NONBLOCK) == 0);
	setenv("TERM", "xterm", 1);
	ebbi_progress_open(&progress, fds[1], "ebb check", 2);
	ebbi_progress_run(&progress, 1, NULL);
	ebbi_progress_phase(&progress, "load");
	ebbi_progress_clear(&progress);
	CHECK_EQ(read(fds[0], &byte, 1), -1);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	RUN(words);
	RUN(time_left);
	RUN(units);
	RUN(terminal);
	RUN(no_terminal);
	return check_report();
}
