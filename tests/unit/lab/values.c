/* The small parts of the lab: text in a stream, addresses, allocators, what a result comes to. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "lab/allocator.h"
#include "lab/ready.h"
#include "lab/result.h"
#include "lab/textscan.h"

#define MIB 1048576ull

/* Feeds `text` in pieces of `piece` bytes; true when the needle was seen, and never twice. */
static bool seen_in(const char *text, const char *needle, size_t piece)
{
	struct textscan scan;
	size_t length = strlen(text);

	ebbi_textscan_start(&scan, needle);
	for (size_t at = 0; at < length; at += piece) {
		if (ebbi_textscan_feed(&scan, text + at, length - at < piece ? length - at : piece))
			return true;
	}
	return false;
}

TEST(textscan_in_pieces_of_any_size)
{
	static const char text[] = "ababababac ready: listening on 80, ready";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		CHECK(seen_in(text, "listening on", piece));
		CHECK(seen_in(text, "ababac", piece));
		CHECK(seen_in(text, "a", piece));
		CHECK(seen_in(text, text, piece));
		CHECK(!seen_in(text, "Listening", piece));
		CHECK(!seen_in(text, "ready.", piece));
		CHECK(!seen_in(text, "abababababac", piece));
	}
}

TEST(textscan_longest_needle)
{
	static char needle[TEXTSCAN_MAX + 1];
	static char text[3 * TEXTSCAN_MAX];

	memset(needle, 'x', TEXTSCAN_MAX);
	needle[TEXTSCAN_MAX - 1] = 'y';
	memset(text, 'x', sizeof(text) - 1);
	for (size_t piece = 1; piece < sizeof(text); piece += 97)
		CHECK(!seen_in(text, needle, piece));
	text[sizeof(text) - 2] = 'y';
	for (size_t piece = 1; piece < sizeof(text); piece += 97)
		CHECK(seen_in(text, needle, piece));
}

static void check_address(enum ready_kind kind, const char *target, const char *host, const char *port)
{
	char message[LAB_MESSAGE] = "";
	struct ready ready;

	if (host == NULL) {
		CHECK_EQ(ebbi_ready_parse(kind, target, &ready, message), -EINVAL);
		CHECK(strncmp(message, "--ready-", 8) == 0);
		return;
	}
	REQUIRE(ebbi_ready_parse(kind, target, &ready, message) == 0);
	CHECK_STR_EQ(ready.host, host);
	CHECK_STR_EQ(ready.port, port);
}

TEST(addresses)
{
	static char long_host[600];

	check_address(READY_TCP, "127.0.0.1:80", "127.0.0.1", "80");
	check_address(READY_TCP, ":8080", "127.0.0.1", "8080");
	check_address(READY_TCP, "[::1]:443", "::1", "443");
	check_address(READY_TCP, "db.example:5432", "db.example", "5432");
	check_address(READY_TCP, "80", NULL, NULL);
	check_address(READY_TCP, "host:", NULL, NULL);
	check_address(READY_TCP, "host:+80", NULL, NULL);
	check_address(READY_TCP, "host:80x", NULL, NULL);
	check_address(READY_TCP, "::1:80", NULL, NULL);
	check_address(READY_TCP, "[::1]x:80", NULL, NULL);
	check_address(READY_TCP, "::1]:80", NULL, NULL);
	check_address(READY_TCP, "[::1]", NULL, NULL);
	check_address(READY_HTTP, "http://127.0.0.1:9292/x?y#z", "127.0.0.1", "9292");
	check_address(READY_HTTP, "HTTP://host", "host", "80");
	check_address(READY_HTTP, "https://user:secret@host/", "host", "443");
	check_address(READY_HTTP, "http://[::1]/", "::1", "80");
	check_address(READY_HTTP, "http://", NULL, NULL);
	check_address(READY_HTTP, "http:///path", NULL, NULL);
	check_address(READY_HTTP, "file:///etc/passwd", NULL, NULL);
	memset(long_host, 'h', sizeof(long_host) - 4);
	strcpy(long_host + sizeof(long_host) - 4, ":80");
	check_address(READY_TCP, long_host, NULL, NULL);
}

static const char *variable(const struct environment *environment, const char *name)
{
	for (size_t i = 0; i < environment->count; i++) {
		if (strcmp(environment->variables[i].name, name) == 0)
			return environment->variables[i].value;
	}
	return NULL;
}

TEST(allocator_environment)
{
	static struct environment environment;
	static struct allocator allocator;
	char message[LAB_MESSAGE];

	unsetenv("LD_PRELOAD");
	REQUIRE(ebbi_allocator_find("glibc", &allocator, message) == 0);
	REQUIRE(ebbi_allocator_environment(&allocator, "arena_max:2", &environment, message) == 0);
	CHECK_STR_EQ(variable(&environment, "GLIBC_TUNABLES"), "glibc.malloc.arena_max=2");
	CHECK(variable(&environment, "LD_PRELOAD") == NULL);
	strcpy(allocator.path, "/x/liballoc.so");
	REQUIRE(ebbi_allocator_environment(&allocator, NULL, &environment, message) == 0);
	CHECK_STR_EQ(variable(&environment, "LD_PRELOAD"), "/x/liballoc.so");
	setenv("LD_PRELOAD", "/y.so /z.so", 1);
	REQUIRE(ebbi_allocator_environment(&allocator, NULL, &environment, message) == 0);
	CHECK_STR_EQ(variable(&environment, "LD_PRELOAD"), "/x/liballoc.so:/y.so /z.so");
	unsetenv("LD_PRELOAD");
	allocator.conf_style = CONF_PREFIX;
	strcpy(allocator.conf_variable, "MIMALLOC");
	REQUIRE(ebbi_allocator_environment(&allocator, "purge_delay:0,arena-x:1:2", &environment, message) == 0);
	CHECK_STR_EQ(variable(&environment, "MIMALLOC_PURGE_DELAY"), "0");
	CHECK_STR_EQ(variable(&environment, "MIMALLOC_ARENA-X"), "1:2");
	CHECK_EQ(ebbi_allocator_environment(&allocator, "purge_delay", &environment, message), -EINVAL);
	CHECK_EQ(ebbi_allocator_find("nothing", &allocator, message), -EINVAL);
	CHECK_EQ(ebbi_allocator_find("/nowhere/x.so", &allocator, message), -ENOENT);
}

static struct mark mark_of(size_t processes, uint64_t rss_bytes, uint64_t pss_bytes)
{
	return (struct mark){
		.taken = true,
		.memory = {.processes = processes, .rss_bytes = rss_bytes, .pss_bytes = pss_bytes},
		.statm_bytes = rss_bytes + 1,
	};
}

static struct run_result *fresh(void)
{
	static struct run_result result;

	result = (struct run_result){.processes_most = 1, .threads_most = 1};
	result.machine = (struct machine){.kernel = "6.18", .cpus = 2, .page_bytes = 4096};
	return &result;
}

TEST(one_process_is_its_rss)
{
	struct run_result *result = fresh();
	uint64_t bytes;

	result->boot = mark_of(1, 10 * MIB, 8 * MIB);
	result->peak.hwm_bytes = 50 * MIB;
	result->peak.exit_bytes = 60 * MIB;
	result->peak.rss_bytes = 55 * MIB;
	ebbi_result_conclude(result);
	CHECK_EQ(result->basis, BASIS_RSS);
	CHECK_EQ(result->peak.bytes, 60 * MIB);
	CHECK_EQ(result->peak.source, PEAK_EXIT);
	CHECK_EQ(result->peak.upper_bytes, 60 * MIB);
	CHECK_EQ(result->peak.bound_bytes, 3u * 256u * 1024u);
	REQUIRE(ebbi_mark_bytes(&result->boot, result->basis, &bytes));
	CHECK_EQ(bytes, 10 * MIB);
}

TEST(a_tree_is_its_pss)
{
	struct run_result *result = fresh();
	uint64_t bytes;

	result->processes_most = 4;
	result->boot = mark_of(1, 10 * MIB, 9 * MIB);
	result->last = mark_of(4, 80 * MIB, 30 * MIB);
	result->peak.hwm_bytes = 25 * MIB;
	result->peak.pss_bytes = 40 * MIB;
	result->peak.rss_bytes = 90 * MIB;
	ebbi_result_conclude(result);
	CHECK_EQ(result->basis, BASIS_PSS);
	CHECK_EQ(result->peak.bytes, 40 * MIB);
	CHECK_EQ(result->peak.upper_bytes, 90 * MIB);
	REQUIRE(ebbi_mark_bytes(&result->boot, result->basis, &bytes));
	CHECK_EQ(bytes, 9 * MIB);
}

TEST(not_permitted_is_never_zero)
{
	struct run_result *result = fresh();
	uint64_t bytes = 77;

	result->boot = mark_of(1, 0, 0);
	result->boot.memory.refused = 1;
	result->boot.statm_bytes = 12 * MIB;
	ebbi_result_conclude(result);
	REQUIRE(ebbi_mark_bytes(&result->boot, result->basis, &bytes));
	CHECK_EQ(bytes, 12 * MIB);
	result->processes_most = 2;
	result->boot.memory.processes = 2;
	ebbi_result_conclude(result);
	CHECK_EQ(result->basis, BASIS_RSS_SUM);
	bytes = 77;
	CHECK(!ebbi_mark_bytes(&result->boot, BASIS_PSS, &bytes));
	CHECK(!ebbi_mark_bytes(&result->last, result->basis, &bytes));
	CHECK_EQ(bytes, 77u);
}

TEST(too_small_to_tell_from_the_launcher)
{
	struct run_result *result = fresh();

	result->peak.at_most_bytes = MIB;
	result->peak.rss_bytes = 4096;
	ebbi_result_conclude(result);
	CHECK_EQ(result->peak.source, PEAK_AT_MOST);
	CHECK_EQ(result->peak.bytes, MIB);
}

TEST(exit_codes)
{
	struct run_result *result = fresh();
	const int killed_by_term = 15, exit_7 = 7 << 8;

	result->main_reaped = true;
	result->main_status = killed_by_term;
	result->outcome = OUTCOME_COMPLETE;
	CHECK_EQ(ebbi_result_exit(result), 0); /* as we asked */
	result->outcome = OUTCOME_ENDED;
	CHECK_EQ(ebbi_result_exit(result), 143);
	result->main_status = exit_7;
	CHECK_EQ(ebbi_result_exit(result), 7);
	result->outcome = OUTCOME_COMPLETE;
	CHECK_EQ(ebbi_result_exit(result), 7);
	result->outcome = OUTCOME_DIED_EARLY;
	CHECK_EQ(ebbi_result_exit(result), 7);
	result->main_status = 0;
	CHECK_EQ(ebbi_result_exit(result), 3);
	result->outcome = OUTCOME_LOAD_FAILED;
	CHECK_EQ(ebbi_result_exit(result), 3);
	result->outcome = OUTCOME_NOT_READY;
	CHECK_EQ(ebbi_result_exit(result), 3);
	result->outcome = OUTCOME_INTERRUPTED;
	result->stop_signal = 15;
	CHECK_EQ(ebbi_result_exit(result), 143);
}

int main(void)
{
	RUN(textscan_in_pieces_of_any_size);
	RUN(textscan_longest_needle);
	RUN(addresses);
	RUN(allocator_environment);
	RUN(one_process_is_its_rss);
	RUN(a_tree_is_its_pss);
	RUN(not_permitted_is_never_zero);
	RUN(too_small_to_tell_from_the_launcher);
	RUN(exit_codes);
	return check_report();
}
