/* malloc_trim, mallinfo, mallinfo2, malloc_info, mallopt, malloc_stats: true figures, no surprises. */
#include "check.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define BLOCKS 256 /* 16 MiB */

static void *block[BLOCKS];

static void allocate_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = hide(malloc(BLOCK_BYTES));
		CHECK(block[i] != NULL, "malloc");
		memset(block[i], 1, BLOCK_BYTES);
	}
}

static void free_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
}

static void test_mallinfo2(void)
{
	struct mallinfo2 empty = mallinfo2();
	allocate_all();
	struct mallinfo2 full = mallinfo2();
	free_all();
	struct mallinfo2 after = mallinfo2();

	size_t used_empty = empty.uordblks + empty.hblkhd;
	size_t used_full = full.uordblks + full.hblkhd;
	size_t used_after = after.uordblks + after.hblkhd;
	CHECK(used_full >= used_empty + BLOCKS * BLOCK_BYTES, "used went from %zu to %zu when 16 MiB were allocated",
	      used_empty, used_full);
	CHECK(used_full <= used_empty + 2 * BLOCKS * BLOCK_BYTES,
	      "used went from %zu to %zu when 16 MiB were allocated", used_empty, used_full);
	CHECK(used_after < used_empty + (1 << 20), "used is %zu after all was freed, %zu before", used_after,
	      used_empty);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void test_mallinfo(void)
{
	allocate_all();
	struct mallinfo full = mallinfo();
	free_all();

	CHECK((size_t)full.uordblks + (size_t)full.hblkhd >= BLOCKS * BLOCK_BYTES, "mallinfo: used");
}
#pragma GCC diagnostic pop

static void test_malloc_trim(void)
{
	allocate_all();
	long full = proc_status("RssAnon:");
	free_all();
	int result = malloc_trim(0);
	CHECK(result == 0 || result == 1, "malloc_trim returned %d", result);
	long after = proc_status("RssAnon:");
	CHECK(after < full - 12 * 1024, "RssAnon %ld KiB with 16 MiB, %ld after malloc_trim", full, after);
	errno = 4711;
	malloc_trim(0);
	malloc_trim(SIZE_MAX);
	CHECK(errno == 4711 || errno == 0, "malloc_trim of nothing");
}

static void test_mallopt(void)
{
	static const int parameters[] = {M_MXFAST,    M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD,
					 M_MMAP_MAX,  M_CHECK_ACTION,   M_PERTURB, M_ARENA_TEST,
					 M_ARENA_MAX, -12345,           12345};

	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		if (parameters[i] == M_PERTURB && !check_on_ebb())
			continue;
		int result = mallopt(parameters[i], 128 << 10);
		CHECK(result == 0 || result == 1, "mallopt(%d) returned %d", parameters[i], result);
	}
	free(hide(malloc(100)));
}

static bool name_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '-' ||
	       (byte >= '0' && byte <= '9');
}

/* Well-formed as far as elements go: each tag closed in order, quotes in pairs, one root. */
static void expect_xml(const char *text)
{
	enum { DEEPEST = 16 };
	const char *open[DEEPEST];
	unsigned depth = 0;
	unsigned roots = 0;

	for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at, '<')) {
		const char *end = strchr(at, '>');
		CHECK(end != NULL, "a tag has no end: %.40s", at);
		const char *name = at + 1 + (at[1] == '/');
		size_t length = 0;
		unsigned quotes = 0;

		while (name_byte(name[length]))
			length++;
		for (const char *byte = at; byte < end; byte++)
			quotes += *byte == '"';
		CHECK(quotes % 2 == 0, "quotes come in pairs: %.60s", at);
		if (at[1] == '/') {
			CHECK(depth > 0 && strncmp(open[depth - 1], name, length) == 0 &&
				      !name_byte(open[depth - 1][length]),
			      "closes what is not open: %.40s", at);
			depth--;
		} else if (at[1] != '?' && at[1] != '!') {
			CHECK(length > 0, "a tag has no name: %.40s", at);
			roots += depth == 0;
			if (end[-1] != '/') {
				CHECK(depth < DEEPEST, "too deep");
				open[depth++] = name;
			}
		}
		at = end;
	}
	CHECK(depth == 0 && roots == 1, "%u elements open at the end, %u roots", depth, roots);
}

static void test_malloc_info(void)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	CHECK(stream != NULL, "open_memstream");
	CHECK(malloc_info(0, stream) == 0, "malloc_info");
	fclose(stream);
	CHECK(length > 0 && strncmp(text, "<malloc", 7) == 0, "malloc_info begins with %.20s", text);
	expect_xml(text);
	free(text);
	errno = 0;
	CHECK(malloc_info(1, stdout) != 0, "malloc_info knows no options");
}

int main(void)
{
	check_allocator();
	test_mallinfo2();
	test_mallinfo();
	test_malloc_trim();
	test_mallopt();
	test_malloc_info();
	malloc_stats();
	return 0;
}
