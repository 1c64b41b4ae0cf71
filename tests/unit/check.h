/*
 * check.h: the assertions of our unit tests.
 *
 * Owns: a count of failures and the name of the test that runs. A test program is
 *
 *	#include "check.h"
 *
 *	TEST(adds) { CHECK_EQ(add(1, 2), 3); }
 *
 *	int main(void)
 *	{
 *		RUN(adds);
 *		return check_report();
 *	}
 *
 * Never: allocates, so that it may test the allocator that lies under it. A failed CHECK prints
 * its place and both values and the test goes on; REQUIRE leaves the test function at once.
 *
 * Threading: the counts are atomic; a CHECK may stand in any thread.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned long check_done;
static unsigned long check_failed;
static unsigned long check_tests;
static const char *check_name = "main";

/* One failure: the place, then what the caller prints. Always false, for use in expressions. */
#define CHECK_FAIL(...) \
	do { \
		__atomic_fetch_add(&check_failed, 1, __ATOMIC_RELAXED); \
		fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, check_name); \
		fprintf(stderr, __VA_ARGS__); \
		fputc('\n', stderr); \
	} while (0)

#define CHECK(x) \
	do { \
		__atomic_fetch_add(&check_done, 1, __ATOMIC_RELAXED); \
		if (!(x)) \
			CHECK_FAIL("%s is false", #x); \
	} while (0)

/* As CHECK, and the test function ends here when x is false: for what the rest cannot live without. */
#define REQUIRE(x) \
	do { \
		__atomic_fetch_add(&check_done, 1, __ATOMIC_RELAXED); \
		if (!(x)) { \
			CHECK_FAIL("%s is false; this test ends here", #x); \
			return; \
		} \
	} while (0)

/*
 * Compare two integers or two pointers; both are shown in decimal and hexadecimal. A bare constant may stand
 * beside a size_t: the usual conversions apply, without the warning.
 */
#define CHECK_OP(a, op, b) \
	do { \
		__typeof__((a) + 0) check_a = (a); \
		__typeof__((b) + 0) check_b = (b); \
		__atomic_fetch_add(&check_done, 1, __ATOMIC_RELAXED); \
		_Pragma("GCC diagnostic push"); \
		_Pragma("GCC diagnostic ignored \"-Wsign-compare\""); \
		if (!(check_a op check_b)) \
			CHECK_FAIL("%s %s %s: %lld (0x%llx) against %lld (0x%llx)", #a, #op, #b, \
				   (long long)(intptr_t)check_a, (unsigned long long)(uintptr_t)check_a, \
				   (long long)(intptr_t)check_b, (unsigned long long)(uintptr_t)check_b); \
		_Pragma("GCC diagnostic pop"); \
	} while (0)

#define CHECK_EQ(a, b) CHECK_OP(a, ==, b)
#define CHECK_NE(a, b) CHECK_OP(a, !=, b)
#define CHECK_LT(a, b) CHECK_OP(a, <, b)
#define CHECK_LE(a, b) CHECK_OP(a, <=, b)
#define CHECK_GT(a, b) CHECK_OP(a, >, b)
#define CHECK_GE(a, b) CHECK_OP(a, >=, b)

#define CHECK_STR_EQ(a, b) \
	do { \
		const char *check_a = (a); \
		const char *check_b = (b); \
		__atomic_fetch_add(&check_done, 1, __ATOMIC_RELAXED); \
		if (!check_a || !check_b || strcmp(check_a, check_b) != 0) \
			CHECK_FAIL("%s == %s: \"%s\" against \"%s\"", #a, #b, check_a ? check_a : "(null)", \
				   check_b ? check_b : "(null)"); \
	} while (0)

#define CHECK_MEM_EQ(a, b, bytes) \
	do { \
		__atomic_fetch_add(&check_done, 1, __ATOMIC_RELAXED); \
		if (memcmp((a), (b), (bytes)) != 0) \
			CHECK_FAIL("%s and %s differ within %zu bytes", #a, #b, (size_t)(bytes)); \
	} while (0)

#define TEST(name) static void test_##name(void)

#define RUN(name) \
	do { \
		check_name = #name; \
		check_tests++; \
		test_##name(); \
	} while (0)

/* What main returns: 0 when every check held, 1 otherwise (also when nothing was checked at all). */
static inline int check_report(void)
{
	unsigned long done = __atomic_load_n(&check_done, __ATOMIC_RELAXED);
	unsigned long failed = __atomic_load_n(&check_failed, __ATOMIC_RELAXED);

	printf("%lu tests, %lu checks, %lu failed\n", check_tests, done, failed);
	return failed || !done;
}

#endif
