/* Distances, chances and weights of samples, and the bound on their cost. */
#include "policy/sampling.h"

#include "check.h"

#define INTERVAL ((uint64_t)512 << 10)

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static double chance(double bytes_by_interval)
{
	uint64_t bytes = (uint64_t)(bytes_by_interval * (double)INTERVAL);

	return (double)ebbi_policy_sample_chance(bytes, INTERVAL) / (double)EBBI_CHANCE_ONE;
}

static bool near(double value, double wanted, double part)
{
	double off = value > wanted ? value - wanted : wanted - value;

	return off <= wanted * part;
}

/* 1 - exp(-x), to as many digits as are given. */
TEST(chances)
{
	CHECK(near(chance(1.0 / 32768), 3.0517112477e-5, 1e-7));
	CHECK(near(chance(1.0 / 256), 3.8986305299e-3, 1e-7));
	CHECK(near(chance(0.125), 0.1175030974, 1e-8));
	CHECK(near(chance(1), 0.6321205588, 1e-8));
	CHECK(near(chance(3), 0.9502129316, 1e-8));
	CHECK(near(chance(20), 0.9999999979, 1e-9));
	CHECK_EQ(ebbi_policy_sample_chance(64 * INTERVAL, INTERVAL), EBBI_CHANCE_ONE);
	CHECK_EQ(ebbi_policy_sample_chance(UINT64_MAX, 1), EBBI_CHANCE_ONE);
	CHECK(ebbi_policy_sample_chance(1, (uint64_t)1 << 50) > 0);
}

TEST(logarithms)
{
	CHECK_EQ(ebbi_policy_log2(1), 0);
	CHECK_EQ(ebbi_policy_log2((uint64_t)1 << 63), (uint64_t)63 << 32);
	CHECK(near((double)ebbi_policy_log2(3) / 4294967296.0, 1.5849625007, 1e-7));
	CHECK(near((double)ebbi_policy_log2(UINT64_MAX) / 4294967296.0, 63.9999999, 1e-8));
}

/* The mean of many is the interval, and as many are above twice of it as should be. */
TEST(distances)
{
	enum { DRAWS = 1000000 };
	uint64_t state = 1;
	double sum = 0;
	unsigned above = 0;

	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t distance = ebbi_policy_sample_distance(next_random(&state), INTERVAL);

		CHECK(distance >= 1);
		sum += (double)distance;
		above += distance > 2 * INTERVAL;
	}
	CHECK(near(sum / DRAWS, (double)INTERVAL, 0.005));
	CHECK(near((double)above / DRAWS, 0.1353352832, 0.015));
	CHECK(ebbi_policy_sample_distance(0, INTERVAL) < 46 * INTERVAL);
	CHECK_EQ(ebbi_policy_sample_distance(UINT64_MAX, INTERVAL), 1);
}

/* Blocks drawn one by one, the way malloc does it: the weights of those that were hit sum up to all of them. */
TEST(weights_are_right_in_the_mean)
{
	static const uint64_t sizes[] = {16, 100, 5000, 100000, 1000000, 20000000};
	uint64_t state = 7;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t part = ebbi_policy_sample_chance(sizes[i], INTERVAL);
		uint64_t blocks = 4000 * ((INTERVAL + sizes[i]) / sizes[i]);
		uint64_t left = ebbi_policy_sample_distance(next_random(&state), INTERVAL);
		double sum = 0;
		double variance = 0;

		for (uint64_t k = 0; k < blocks; k++) {
			uint64_t weight;

			if (sizes[i] < left) {
				left -= sizes[i];
				continue;
			}
			left = ebbi_policy_sample_distance(next_random(&state), INTERVAL);
			weight = ebbi_policy_sample_weight(sizes[i], part);
			sum += (double)weight;
			variance += (double)ebbi_policy_sample_variance(weight, part);
		}
		/* 4000 samples or more: 1.6 % is a standard error. */
		CHECK(near(sum, (double)(sizes[i] * blocks), 0.07));
		if (sizes[i] < INTERVAL / 8)
			CHECK(near(variance * 1048576, (double)(sizes[i] * blocks) * (double)INTERVAL, 0.2));
	}
}

TEST(roots)
{
	CHECK_EQ(ebbi_policy_root(0), 0);
	CHECK_EQ(ebbi_policy_root(1), 1);
	CHECK_EQ(ebbi_policy_root(99), 9);
	CHECK_EQ(ebbi_policy_root(100), 10);
	CHECK_EQ(ebbi_policy_root(UINT64_MAX), UINT32_MAX);
}

/* A burst is let pass; sampling all the time is not, whatever a sample takes. */
TEST(cost)
{
	struct ebbi_sampling_cost cost = {0};
	uint64_t now = UINT64_C(1000000000000);
	unsigned before;

	for (unsigned i = 0; i < 1900; i++)
		ebbi_policy_sampling_pay(&cost, now += 20000, 10000);
	CHECK_EQ(cost.doublings, 0);
	for (unsigned i = 0; i < 1000; i++)
		ebbi_policy_sampling_pay(&cost, now += 20000, 10000);
	CHECK(cost.doublings > 0);
	/* Rare ones are paid at once, and the interval comes back. */
	before = cost.doublings;
	for (unsigned i = 0; i < 100; i++)
		ebbi_policy_sampling_pay(&cost, now += UINT64_C(100000000), 10000);
	CHECK(before > cost.doublings);
	CHECK_EQ(cost.doublings, 0);
}

TEST(cost_of_one_is_bounded)
{
	struct ebbi_sampling_cost cost = {0};

	ebbi_policy_sampling_pay(&cost, UINT64_C(1000000000000), UINT64_C(500000000));
	CHECK_EQ(cost.doublings, 0);
	CHECK_EQ(cost.debt_ns, EBBI_SAMPLING_ONE_MOST_NS);
}

int main(void)
{
	RUN(chances);
	RUN(logarithms);
	RUN(distances);
	RUN(weights_are_right_in_the_mean);
	RUN(roots);
	RUN(cost);
	RUN(cost_of_one_is_bounded);
	return check_report();
}
