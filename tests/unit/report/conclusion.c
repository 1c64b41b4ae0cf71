/* What is concluded from groups of runs, in literal figures. */
#include "report/conclusion.h"

#include <stdlib.h>

#include "check.h"

#define MIB 1048576.0

static struct comparison comparison;

static struct group *group_of(const char *label, const char *allocator)
{
	struct group *group = calloc(1, sizeof(*group));

	if (!group)
		abort();
	snprintf(group->label, sizeof(group->label), "%s", label);
	snprintf(group->build.allocator, sizeof(group->build.allocator), "%s", allocator);
	comparison.groups[comparison.group_count++] = group;
	return group;
}

static void give(struct group *group, enum figure figure, double unit, double a, double b, double c, double d)
{
	const double values[] = {a, b, c, d};

	for (size_t i = 0; i < 4; i++)
		ebbi_series_add(&group->series[figure], values[i] * unit);
	group->runs = 4;
}

static struct conclusion concluded(void)
{
	struct conclusion conclusion;

	ebbi_conclude(&comparison, "", &conclusion);
	return conclusion;
}

static void start(void)
{
	ebbi_comparison_free(&comparison);
	comparison = (struct comparison){0};
	comparison.first.rest_seconds[0] = 1;
}

TEST(lowest)
{
	struct conclusion c;

	start();
	give(group_of("a", "x"), FIGURE_PEAK, MIB, 100, 101, 102, 103);
	give(group_of("b", "y"), FIGURE_PEAK, MIB, 50, 51, 52, 53);
	give(group_of("c", "z"), FIGURE_PEAK, MIB, 80, 81, 82, 83);
	c = concluded();
	CHECK_EQ(c.phases[COMPARED_PEAK].verdict, VERDICT_LOWEST);
	CHECK_STR_EQ(c.phases[COMPARED_PEAK].best->label, "b");
	CHECK_STR_EQ(c.phases[COMPARED_PEAK].next->label, "c");
	CHECK(c.phases[COMPARED_PEAK].units == 30 * MIB);
	CHECK(!c.phases[COMPARED_PEAK].few && c.any);
	CHECK_EQ(c.phases[COMPARED_BOOT].verdict, VERDICT_UNKNOWN);
}

/* Two that are the same, one above them; a difference that counters may be off is none. */
TEST(same)
{
	struct conclusion c;

	start();
	comparison.peak_bound_bytes = MIB;
	give(group_of("a", "x"), FIGURE_PEAK, MIB, 50, 50.1, 50.2, 50.3);
	give(group_of("b", "y"), FIGURE_PEAK, MIB, 51.5, 51.6, 51.7, 51.8);
	give(group_of("c", "z"), FIGURE_PEAK, MIB, 80, 81, 82, 83);
	c = concluded();
	CHECK_EQ(c.phases[COMPARED_PEAK].verdict, VERDICT_SAME);
	CHECK_EQ(c.phases[COMPARED_PEAK].tied, 1u);
	CHECK_STR_EQ(c.phases[COMPARED_PEAK].tied_with[0]->label, "b");
	CHECK_STR_EQ(c.phases[COMPARED_PEAK].next->label, "c");
	/* With exact counters it is a difference. */
	comparison.peak_bound_bytes = 0;
	CHECK_EQ(concluded().phases[COMPARED_PEAK].verdict, VERDICT_LOWEST);
}

TEST(noise)
{
	struct conclusion c;

	start();
	give(group_of("a", "x"), FIGURE_CPU, 1, 1.0, 1.8, 1.3, 1.5);
	give(group_of("b", "y"), FIGURE_CPU, 1, 1.2, 1.1, 1.9, 1.7);
	c = concluded();
	CHECK_EQ(c.phases[COMPARED_CPU].verdict, VERDICT_UNSURE);
	CHECK(!c.any);
}

/* A data file grows under one of them: totals apart, anonymous memory alike. */
TEST(pages_of_files)
{
	struct group *a, *b;
	struct conclusion c;
	char text[CONCLUSION_BYTES];

	start();
	a = group_of("mimalloc", "mimalloc");
	b = group_of("glibc", "glibc");
	give(a, FIGURE_REST_FIRST, MIB, 979, 980, 981, 982);
	give(b, FIGURE_REST_FIRST, MIB, 1200, 1201, 1202, 1203);
	give(a, FIGURE_REST_ANONYMOUS, MIB, 202, 202.1, 202.2, 202.3);
	give(b, FIGURE_REST_ANONYMOUS, MIB, 202.4, 202.5, 202.6, 202.7);
	c = concluded();
	CHECK_EQ(c.phases[COMPARED_RESTING].verdict, VERDICT_SAME);
	CHECK(c.phases[COMPARED_RESTING].by_files);
	ebbi_sentence_phase(&c.phases[COMPARED_RESTING], /* exact_bytes= */ false, text, sizeof(text));
	CHECK_STR_EQ(text,
		     "the allocator makes no difference (0.2 %): mimalloc and glibc are within 0.4 MiB of anonymous "
		     "memory; the totals differ in pages of files alone");
}

TEST(other_work)
{
	struct group *a, *b;

	start();
	a = group_of("a", "x");
	b = group_of("b", "y");
	give(a, FIGURE_PEAK, MIB, 1, 1, 1, 1);
	give(b, FIGURE_PEAK, MIB, 9, 9, 9, 9);
	give(a, FIGURE_WORK, 1, 100, 100, 100, 100);
	give(b, FIGURE_WORK, 1, 100, 96, 100, 100);
	CHECK(!concluded().work_differs);
	give(b, FIGURE_WORK, 1, 94, 94, 94, 94);
	CHECK(concluded().work_differs);
	CHECK_EQ(concluded().phases[COMPARED_PEAK].verdict, VERDICT_UNKNOWN);
}

/* Figures of another generation do not count. */
TEST(generations)
{
	struct group *other;
	struct conclusion c;

	start();
	give(group_of("a", "x"), FIGURE_PEAK, MIB, 10, 10, 10, 10);
	give(group_of("b", "y"), FIGURE_PEAK, MIB, 20, 20, 20, 20);
	other = group_of("c", "z");
	snprintf(other->generation, sizeof(other->generation), "reopened");
	give(other, FIGURE_PEAK, MIB, 1, 1, 1, 1);
	c = concluded();
	CHECK_STR_EQ(c.phases[COMPARED_PEAK].best->label, "a");
	ebbi_conclude(&comparison, "reopened", &c);
	CHECK_EQ(c.phases[COMPARED_PEAK].verdict, VERDICT_UNKNOWN);
}

int main(void)
{
	RUN(lowest);
	RUN(same);
	RUN(noise);
	RUN(pages_of_files);
	RUN(other_work);
	RUN(generations);
	ebbi_comparison_free(&comparison);
	return check_report();
}
