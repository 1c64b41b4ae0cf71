/* How much a thread keeps of each slot size: bounds that must hold for every size. */
#include "policy/cachesize.h"

#include "check.h"

#define KIB ((size_t)1 << 10)

TEST(stacks)
{
	for (size_t bytes = 16; bytes <= 32 * KIB; bytes += 16) {
		unsigned first = EBBI_POLICY_STACK_FIRST(bytes);
		unsigned most = EBBI_POLICY_STACK_MOST(bytes);

		CHECK_LE(first, EBBI_STACK_FIRST);
		CHECK(most >= first && most <= EBBI_STACK_MOST);
		CHECK_LE(first * bytes, 8 * KIB);
		CHECK_LE(most * bytes, (bytes <= EBBI_STACK_SMALL ? 64 : 16) * KIB);
	}
	CHECK_EQ(EBBI_POLICY_STACK_FIRST(16), EBBI_STACK_FIRST);
	CHECK_EQ(EBBI_POLICY_STACK_MOST(16), EBBI_STACK_MOST);
	CHECK_EQ(EBBI_POLICY_STACK_FIRST(8 * KIB), 1u);
	CHECK_EQ(EBBI_POLICY_STACK_MOST(8 * KIB), 2u);
	CHECK_EQ(EBBI_POLICY_STACK_FIRST(16 * KIB), 0u);
	CHECK_EQ(EBBI_POLICY_STACK_MOST(16 * KIB), 1u);
	CHECK_EQ(EBBI_POLICY_STACK_MOST(32 * KIB), 0u);
}

TEST(claims)
{
	for (size_t bytes = 16; bytes <= 32 * KIB; bytes += 16) {
		unsigned before = 0;

		for (unsigned step = 0; step <= 255; step++) {
			unsigned claim = ebbi_policy_claim(bytes, step);

			CHECK(claim >= 1 && claim <= EBBI_CLAIM_MOST);
			CHECK(claim == 1 || claim * bytes <= 16 * KIB);
			CHECK_GE(claim, before);
			before = claim;
		}
	}
	CHECK_EQ(ebbi_policy_claim(64, 0), 4u);
	CHECK_EQ(ebbi_policy_claim(64, 1), 8u);
	CHECK_EQ(ebbi_policy_claim(64, 100), 64u);
	CHECK_EQ(ebbi_policy_claim(32 * KIB, 100), 1u);
}

TEST(all_stacks_together)
{
	CHECK_EQ(ebbi_policy_stacks_bytes(0), 4 * KIB * KIB);
	CHECK_EQ(ebbi_policy_stacks_bytes(128 * KIB * KIB), 4 * KIB * KIB);
	CHECK_EQ(ebbi_policy_stacks_bytes(KIB * KIB * KIB), 32 * KIB * KIB);
}

int main(void)
{
	RUN(stacks);
	RUN(claims);
	RUN(all_stacks_together);
	return check_report();
}
