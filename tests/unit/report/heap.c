/* What is written of a heap profile. */
#include "report/heap.h"

#include <stdlib.h>
#include <zlib.h>

#include "check.h"
#include "report/wire.h"

TEST(wire)
{
	static const uint8_t wanted[] = {0x08, 0x96, 0x01,                   /* field 1: 150 */
					 0x12, 0x02, 'h',  'i',              /* field 2: "hi" */
					 0x1a, 0x04, 0x00, 0x7f, 0x80, 0x01, /* field 3: 0, 127, 128 */
					 0x22, 0x03, 0x08, 0x96, 0x01,       /* field 4: the first one again */
					 0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	static const uint64_t numbers[] = {0, 127, 128};
	struct wire wire = {0}, message = {0};

	ebbi_wire_number(&wire, 1, 150);
	ebbi_wire_number(&wire, 9, 0);
	ebbi_wire_text(&wire, 2, "hi");
	ebbi_wire_numbers(&wire, 3, numbers, 3);
	ebbi_wire_number(&message, 1, 150);
	ebbi_wire_message(&wire, 4, &message);
	ebbi_wire_number(&wire, 5, UINT64_MAX);
	REQUIRE(wire.length == sizeof(wanted));
	CHECK_MEM_EQ(wire.bytes, wanted, sizeof(wanted));
	CHECK(!wire.failed && message.length == 0);
	ebbi_wire_free(&wire);
	ebbi_wire_free(&message);
}

/* main calls parse<int>, which calls operator new; and main calls itself. */
static struct stack_function functions[] = {
	{.name = "main", .module = 1, .known = true},
	{.name = "operator new", .linkage = "_Znwm", .module = 2, .known = true, .plumbing = true},
	{.name = "parse<a;b>", .file = "parse.cc", .module = 1, .known = true},
};
static struct stack_line lines[] = {{0, 10}, {1, 0}, {2, 20}};
static struct stack_place places[] = {
	{.address = 0x1010, .module = 1, .first_line = 0, .line_count = 1},
	{.address = 0x2010, .module = 2, .first_line = 1, .line_count = 1},
	{.address = 0x1110, .module = 1, .first_line = 2, .line_count = 1},
};
static struct ebb_profile_node nodes[] = {{0, 0, 0}, {0x1010, 0, 1}, {0x1110, 1, 1}, {0x2010, 2, 2}, {0x1010, 1, 1}};
static uint32_t place_of[] = {0, 0, 2, 1, 0};
static struct ebb_profile_site sites[] = {{3, 1, 3 << 20, 3, 5 << 20, 5},
					  {4, 1, 1 << 20, 1, 1 << 20, 1},
					  {4, 1, 0, 0, 7 << 20, 7},
					  {3, 1, 1 << 20, 1, 1 << 20, 1}};
static struct ebb_profile_module modules[] = {{0},
					      {.start = 0x1000, .end = 0x2000, .path = "/srv/server"},
					      {.start = 0x2000, .end = 0x3000, .path = "/lib/libstdc++.so.6"}};
static double variance[] = {9e12, 0, 0, 7e12};
static double samples[] = {5, 1, 0, 2};
static const struct stacks stacks = {
	.profile = {.interval_bytes = 1 << 19,
		    .node_count = 5,
		    .site_count = 4,
		    .module_count = 3,
		    .nodes = nodes,
		    .sites = sites,
		    .modules = modules},
	.functions = functions,
	.lines = lines,
	.places = places,
	.place_of = place_of,
	.variance = variance,
	.samples = samples,
	.function_count = 3,
	.line_count = 3,
	.place_count = 3,
};
static const struct heap_about live = {.pid = 7, .command = "ser<ver", .program = "/srv/server", .time_ns = 1};

TEST(sums)
{
	struct heap heap;

	REQUIRE(ebbi_heap_make(&stacks, &live, &heap) == 0);
	CHECK_EQ(heap.path_count, 2u); /* equal stacks are one, and what holds nothing is none */
	CHECK(heap.sum.bytes == 5 << 20 && heap.sum.variance == 16e12 && heap.sum.samples == 8);
	REQUIRE(heap.function_count == 3);
	CHECK_STR_EQ(functions[heap.functions[0].index].name, "parse<a;b>");
	CHECK(heap.functions[0].flat.bytes == 4 << 20 && heap.functions[0].cum.bytes == 4 << 20);
	CHECK_STR_EQ(functions[heap.functions[1].index].name, "main");
	CHECK(heap.functions[1].flat.bytes == 1 << 20);
	CHECK(heap.functions[1].cum.bytes == 5 << 20); /* its recursion counts once */
	CHECK(heap.functions[2].flat.bytes == 0 && heap.functions[2].cum.bytes == 4 << 20);
	REQUIRE(heap.library_count == 2);
	CHECK_STR_EQ(ebbi_stacks_library(&stacks, heap.libraries[0].index), "server");
	CHECK(heap.libraries[0].flat.bytes == 5 << 20 && heap.libraries[1].flat.bytes == 0);
	ebbi_heap_free(&heap);
}

TEST(totals)
{
	struct heap_about total = live;
	struct heap heap;

	total.total = true;
	REQUIRE(ebbi_heap_make(&stacks, &total, &heap) == 0);
	CHECK(heap.sum.bytes == 14 << 20);
	CHECK_STR_EQ(functions[heap.functions[0].index].name, "main");
	CHECK(heap.functions[0].flat.bytes == 8 << 20);
	ebbi_heap_free(&heap);
}

typedef void write_fn(FILE *stream, const struct heap *heap);

static char *written(write_fn *write)
{
	struct heap heap;
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream || ebbi_heap_make(&stacks, &live, &heap) != 0)
		return NULL;
	write(stream, &heap);
	ebbi_heap_free(&heap);
	fclose(stream);
	return text;
}

static void write_text(FILE *stream, const struct heap *heap)
{
	struct heap_text text = {.style = {"", "", "", "", "", false}, .columns = 80};

	ebbi_heap_text(stream, heap, &text);
}

TEST(folded)
{
	char *text = written(ebbi_heap_folded);

	CHECK_STR_EQ(text, "main;main 1048576\nmain;parse<a:b>;operator new 4194304\n");
	free(text);
}

TEST(text)
{
	char *text = written(write_text);

	REQUIRE(text);
	CHECK(strstr(text,
		     "ser<ver (process 7): 5.0 MiB live, standard error 3.8\nsome 8 samples, one every 512 KiB "));
	CHECK(strstr(text, "      4.0       3.8   80 %       4.0  parse<a;b> (server)\n"));
	CHECK(strstr(text, "      1.0       0.0   20 %       5.0  main (server)\n"));
	CHECK(!strstr(text, "operator new"));
	free(text);
}

TEST(svg)
{
	char *text = written(ebbi_heap_svg);

	REQUIRE(text);
	CHECK(strstr(text, "ser&lt;ver (process 7): 5.0 MiB live"));
	CHECK(strstr(text,
		     "<title>parse&lt;a;b&gt;\nserver\n4.00 MiB, 80.0 %, standard error 3.81 MiB, some 7 samples"));
	CHECK(!strstr(text, "http://") || strstr(text, "http://www.w3.org")); /* names of languages only */
	CHECK(!strstr(text, "src=") && !strstr(text, "href="));
	free(text);
}

TEST(pprof)
{
	uint8_t *packed = NULL, plain[8192];
	size_t length = 0;
	z_stream stream = {0};

	REQUIRE(ebbi_heap_pprof(&stacks, &live, &packed, &length) == 0);
	stream.next_in = packed;
	stream.avail_in = (uInt)length;
	stream.next_out = plain;
	stream.avail_out = sizeof(plain);
	REQUIRE(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
	CHECK_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	/* Field by field it is read in tests/cli/cases_profile.py. */
	CHECK(memmem(plain, stream.total_out, "inuse_space", 11) != NULL);
	CHECK(memmem(plain, stream.total_out, "_Znwm", 5) != NULL);
	free(packed);
}

int main(void)
{
	RUN(wire);
	RUN(sums);
	RUN(totals);
	RUN(folded);
	RUN(text);
	RUN(svg);
	RUN(pprof);
	return check_report();
}
