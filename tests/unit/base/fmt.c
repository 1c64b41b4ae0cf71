/* The formatter: what it writes, and that it never writes past its buffer. */
#include "base/fmt.h"

#include "check.h"

static char text[64];

/* What `fmt` holds, as a string. */
static const char *held(const struct ebbi_fmt *fmt)
{
	static char copy[sizeof(text) + 1];

	memcpy(copy, fmt->text, fmt->length);
	copy[fmt->length] = '\0';
	return copy;
}

TEST(numbers)
{
	static const uint64_t values[] = {0, 1, 9, 10, 4096, 4294967295u, UINT64_MAX};
	char expected[64];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct ebbi_fmt fmt = ebbi_fmt_into(text, sizeof(text));

		ebbi_fmt_decimal(&fmt, values[i]);
		ebbi_fmt_char(&fmt, ' ');
		ebbi_fmt_hex(&fmt, values[i]);
		snprintf(expected, sizeof(expected), "%llu 0x%llx", (unsigned long long)values[i],
			 (unsigned long long)values[i]);
		CHECK_STR_EQ(held(&fmt), expected);
	}
}

TEST(width)
{
	struct ebbi_fmt fmt = ebbi_fmt_into(text, sizeof(text));

	ebbi_fmt_decimal_wide(&fmt, 42, 5);
	ebbi_fmt_decimal_wide(&fmt, 123456, 3);
	CHECK_STR_EQ(held(&fmt), "   42123456");
}

TEST(mebibytes)
{
	struct ebbi_fmt fmt = ebbi_fmt_into(text, sizeof(text));

	ebbi_fmt_mib(&fmt, 0);
	ebbi_fmt_char(&fmt, ' ');
	ebbi_fmt_mib(&fmt, (1u << 20) - 1);
	ebbi_fmt_char(&fmt, ' ');
	ebbi_fmt_mib(&fmt, 3u << 19);
	ebbi_fmt_char(&fmt, ' ');
	ebbi_fmt_mib(&fmt, (uint64_t)1 << 40);
	CHECK_STR_EQ(held(&fmt), "0.00 0.99 1.50 1048576.00");
}

TEST(foreign_text_is_made_printable)
{
	struct ebbi_fmt fmt = ebbi_fmt_into(text, sizeof(text));

	ebbi_fmt_foreign(&fmt, "a\nb\x1b[1m\x80~", 9);
	CHECK_STR_EQ(held(&fmt), "a?b?[1m?~");
	fmt = ebbi_fmt_into(text, sizeof(text));
	ebbi_fmt_foreign(&fmt, "abc\0def", 7);
	CHECK_STR_EQ(held(&fmt), "abc");
	fmt = ebbi_fmt_into(text, sizeof(text));
	ebbi_fmt_foreign(&fmt, "abcdef", 2);
	CHECK_STR_EQ(held(&fmt), "ab");
}

TEST(padding)
{
	struct ebbi_fmt fmt = ebbi_fmt_into(text, sizeof(text));

	ebbi_fmt_text(&fmt, "x");
	ebbi_fmt_pad(&fmt, 0, 4);
	ebbi_fmt_text(&fmt, "longer");
	ebbi_fmt_pad(&fmt, 4, 2);
	CHECK_STR_EQ(held(&fmt), "x   longer");
}

/* Every capacity from nothing up: the text is cut there and the byte behind stays as it was. */
TEST(too_little_room)
{
	for (size_t capacity = 0; capacity < 40; capacity++) {
		struct ebbi_fmt fmt = ebbi_fmt_into(text, capacity);

		memset(text, '#', sizeof(text));
		ebbi_fmt_text(&fmt, "free of ");
		ebbi_fmt_hex(&fmt, UINT64_MAX);
		ebbi_fmt_pad(&fmt, 0, 50);
		ebbi_fmt_decimal(&fmt, 12);
		CHECK_EQ(fmt.length, capacity);
		CHECK_EQ(text[capacity], '#');
		CHECK_MEM_EQ(text, "free of 0xffffffffffffffff              ", capacity);
	}
}

int main(void)
{
	RUN(numbers);
	RUN(width);
	RUN(mebibytes);
	RUN(foreign_text_is_made_printable);
	RUN(padding);
	RUN(too_little_room);
	return check_report();
}
