/* Effects against values worked out by hand. */
#include "report/effect.h"

#include <math.h>

#include "check.h"

static struct series series_of(size_t count, const double *values)
{
	struct series series = {0};

	for (size_t i = 0; i < count; i++)
		ebbi_series_add(&series, values[i]);
	return series;
}

#define SERIES(...) series_of(sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__})

static void near(double value, double wanted, double slack)
{
	if (fabs(value - wanted) > slack)
		CHECK_FAIL("%.9g is not %.9g", value, wanted);
	CHECK(isfinite(value));
}

static void expect(struct series a, struct series b, double shift, double delta, double chance)
{
	struct effect effect = ebbi_effect(&a, &b);

	near(effect.shift, shift, 1e-12);
	near(effect.delta, delta, 1e-12);
	near(effect.chance, chance, 1e-12);
}

/* 2 of the 20, 70 and 252 ways to choose ranks are as extreme. */
TEST(apart)
{
	expect(SERIES(1, 2, 3), SERIES(11, 12, 13), 10, 1, 2.0 / 20);
	expect(SERIES(11, 12, 13), SERIES(1, 2, 3), -10, -1, 2.0 / 20);
	expect(SERIES(1, 2, 3, 4), SERIES(5, 6, 7, 8), 4, 1, 2.0 / 70);
	expect(SERIES(1, 2, 3, 4, 5), SERIES(6, 7, 8, 9, 10), 5, 1, 2.0 / 252);
}

/*
 * a = 1 3 5, b = 2 4 9: differences 1 3 8 -1 1 6 -3 -1 4, in order -3 -1 -1 1 1 3 4 6 8: the median is 1. b wins 6 and loses 3: delta 1/3.
 * b's ranks 2 4 6 sum up to 12; the middle is 10.5. Of the 20 sums of three ranks, 7 are 12 or more (12 three times, 13 twice, 14,
 * 15) and as many 9 or less: 14 / 20.
 */
TEST(overlapping)
{
	expect(SERIES(1, 3, 5), SERIES(2, 4, 9), 1, 3.0 / 9, 14.0 / 20);
}

TEST(all_the_same)
{
	expect(SERIES(7, 7, 7), SERIES(7, 7, 7), 0, 0, 1);
	expect(SERIES(7), SERIES(7), 0, 0, 1);
}

/*
 * a = 1 1 2, b = 1 2 2: pairs: (1,1)=, (1,2)+, (1,2)+ twice over; (2,1)-, (2,2)=, (2,2)=: 4 - 1 = 3 of 9. Differences 0 1 1 0 1 1 -1 0 0:
 * the median is 0. Ranks 2 2 2 5 5 5: b's 2 5 5 sum up to 12, the middle is 10.5; sums of three: 6 once, 9 nine times, 12 nine times, 15 once:
 * all 20 are 1.5 or more away.
 */
TEST(ties)
{
	expect(SERIES(1, 1, 2), SERIES(1, 2, 2), 0, 3.0 / 9, 1);
	/* Two groups of ties that are apart: ranks 2 2 2 and 5 5 5, one way up and one way down. */
	expect(SERIES(1, 1, 1), SERIES(2, 2, 2), 1, 1, 2.0 / 20);
}

/* One value of each says nothing, whatever they are. */
TEST(one_run)
{
	expect(SERIES(100), SERIES(1), -99, -1, 1);
	/* 1 against 4: the ranks of b are one of five, of which two are as extreme. */
	expect(SERIES(1, 2, 3, 4), SERIES(9), 6.5, 1, 2.0 / 5);
}

/* 20 and 20 values that are apart: U = 0, its mean 200, its variance 20 * 20 * 41 / 12; half a step of correction. */
TEST(many)
{
	struct series a = {0}, b = {0};
	struct effect effect;

	for (int i = 0; i < 20; i++) {
		ebbi_series_add(&a, i);
		ebbi_series_add(&b, 100 + i);
	}
	effect = ebbi_effect(&a, &b);
	near(effect.shift, 100, 1e-12);
	near(effect.delta, 1, 1e-12);
	/* The normal tail is a fraction that is good to 3e-7. */
	near(effect.chance, erfc(199.5 / sqrt(20.0 * 20 * 41 / 12) / sqrt(2)), 3e-7);
	effect = ebbi_effect(&a, &a);
	near(effect.delta, 0, 1e-12);
	CHECK(effect.chance > 0.98);
}

/* At the seam both ways of counting agree: 12 and 12 exact, 13 and 12 approximated. */
TEST(seam)
{
	struct series a = {0}, b = {0};
	double exact;

	for (int i = 0; i < 12; i++) {
		ebbi_series_add(&a, 2 * i);
		ebbi_series_add(&b, 2 * i + 7);
	}
	exact = ebbi_effect(&a, &b).chance;
	ebbi_series_add(&a, 11.5);
	near(ebbi_effect(&a, &b).chance, exact, 0.03);
	CHECK(exact > 0.03 && exact < 0.05);
}

int main(void)
{
	RUN(apart);
	RUN(overlapping);
	RUN(all_the_same);
	RUN(ties);
	RUN(one_run);
	RUN(many);
	RUN(seam);
	return check_report();
}
