/* Word and size arithmetic against the slow way to say the same. */
#include "base/bits.h"

#include "check.h"

TEST(ends_of_a_word)
{
	for (unsigned low = 0; low < 64; low++) {
		for (unsigned high = low; high < 64; high++) {
			uint64_t word = (uint64_t)1 << low | (uint64_t)1 << high;

			CHECK_EQ(ebbi_bit_lowest(word), low);
			CHECK_EQ(ebbi_bit_highest(word), high);
			CHECK_EQ(ebbi_bit_count(word), low == high ? 1u : 2u);
		}
	}
}

TEST(ranges)
{
	for (unsigned first = 0; first < 64; first++) {
		for (unsigned count = 1; first + count <= 64; count++) {
			uint64_t expected = 0;

			for (unsigned i = first; i < first + count; i++)
				expected |= (uint64_t)1 << i;
			CHECK_EQ(ebbi_bit_range(first, count), expected);
		}
	}
}

TEST(rounding)
{
	for (size_t unit = 1; unit <= 4096; unit *= 2) {
		for (size_t value = 0; value < 3 * unit; value += unit < 64 ? 1 : unit / 16 - 1) {
			CHECK_EQ(ebbi_round_down(value, unit), value / unit * unit);
			CHECK_EQ(ebbi_round_up(value, unit), (value + unit - 1) / unit * unit);
			CHECK_EQ(ebbi_divide_up(value, unit), (value + unit - 1) / unit);
		}
	}
	CHECK_EQ(ebbi_divide_up(10, 3), 4);
	CHECK_EQ(ebbi_round_up(SIZE_MAX - 4095, 4096), SIZE_MAX - 4095);
}

TEST(powers_of_two)
{
	CHECK(!ebbi_is_power_of_two(0));
	for (unsigned bit = 0; bit < 64; bit++) {
		size_t power = (size_t)1 << bit;

		CHECK(ebbi_is_power_of_two(power));
		CHECK(bit == 1 || bit == 0 || !ebbi_is_power_of_two(power - 1));
		CHECK(bit == 0 || !ebbi_is_power_of_two(power + 1));
	}
}

TEST(smaller_and_larger)
{
	CHECK_EQ(ebbi_min_size(1, 2), 1);
	CHECK_EQ(ebbi_min_size(SIZE_MAX, 0), 0);
	CHECK_EQ(ebbi_max_size(1, 2), 2);
	CHECK_EQ(ebbi_max_size(SIZE_MAX, 0), SIZE_MAX);
}

int main(void)
{
	RUN(ends_of_a_word);
	RUN(ranges);
	RUN(rounding);
	RUN(powers_of_two);
	RUN(smaller_and_larger);
	return check_report();
}
