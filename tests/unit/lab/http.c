/* What a load sends and how answers are read. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lab/allocator.h"
#include "lab/requests.h"
#include "lab/response.h"
#include "lab/sizing.h"

static char message[LAB_MESSAGE];
static struct requests requests;
static struct request_bytes bytes;

static int parse(const char *text)
{
	message[0] = 0;
	return ebbi_requests_parse(text, strlen(text), "file", "h:1", &requests, message);
}

/* The bytes of one request, as text. */
static const char *rendered(uint64_t number, uint64_t event_bytes)
{
	if (ebbi_requests_render(&requests, number, event_bytes, &bytes) != 0)
		return "no memory";
	bytes.bytes[bytes.length] = 0;
	return bytes.bytes;
}

TEST(requests_take_turns)
{
	REQUIRE(parse("# a comment\n\nGET /a\nX: 1\n---\n\nPOST /b HTTP/1.1\r\nHost: other\r\n\r\n{\"n\":{seq}}\n") ==
		0);
	CHECK_EQ(requests.count, 2u);
	CHECK_STR_EQ(rendered(0, 0), "GET /a HTTP/1.1\r\nX: 1\r\nHost: h:1\r\n\r\n");
	CHECK_STR_EQ(rendered(1, 0), "POST /b HTTP/1.1\r\nHost: other\r\nContent-Length: 7\r\n\r\n{\"n\":1}");
	CHECK_STR_EQ(rendered(13, 0), "POST /b HTTP/1.1\r\nHost: other\r\nContent-Length: 8\r\n\r\n{\"n\":13}");
	ebbi_requests_free(&requests);
}

TEST(bodies_have_the_size_that_is_asked_for)
{
	REQUIRE(ebbi_requests_usual("/e", true, "h", &requests, message) == 0);
	for (uint64_t size = 40; size < 200000; size = size * 3 + 1) {
		const char *text = rendered(123456, size);
		const char *body = strstr(text, "\r\n\r\n");
		char header[64];

		REQUIRE(body != NULL);
		CHECK_EQ(bytes.length - (size_t)(body + 4 - text), size);
		snprintf(header, sizeof(header), "Content-Length: %lu\r\n", (unsigned long)size);
		CHECK(strstr(text, header) != NULL);
	}
	CHECK_EQ(ebbi_requests_check(&requests, 40, "file", message), 0);
	CHECK(ebbi_requests_check(&requests, 20, "file", message) != 0);
	CHECK(strstr(message, "cannot be made") != NULL);
	ebbi_requests_free(&requests);
	REQUIRE(ebbi_requests_usual("/e", false, "h", &requests, message) == 0);
	CHECK(ebbi_requests_check(&requests, 100, "file", message) != 0);
	CHECK(strstr(message, "no body has a {fill}") != NULL);
	ebbi_requests_free(&requests);
}

TEST(placeholders_differ_and_repeat_with_the_number)
{
	char first[256];

	REQUIRE(parse("GET /{uuid}?{random}&{other}{\n") == 0);
	snprintf(first, sizeof(first), "%s", rendered(1, 0));
	CHECK_STR_EQ(rendered(1, 0), first);
	CHECK(strcmp(rendered(2, 0), first) != 0);
	CHECK(strstr(first, "&{other}{ HTTP/1.1") != NULL);
	/* 8-4-4-4-12, version 4 */
	CHECK(first[13] == '-' && first[18] == '-' && first[19] == '4' && first[23] == '-' && first[28] == '-');
	ebbi_requests_free(&requests);
}

TEST(faults_name_the_line)
{
	static const struct {
		const char *text;
		const char *wanted;
	} faults[] = {
		{"", "file: there is no request"},
		{"# only this\n", "file: there is no request"},
		{"\n\nGET\n", "file:3: a request begins with a method"},
		{"GET http://x/\n", "file:1: a request begins with a method"},
		{"G@T /\n", "file:1: a request begins with a method"},
		{"GET /a b\n", "file:1: a path has no blanks"},
		{"GET /\nnonsense\n", "file:2: a header is written Name: value"},
		{"GET /\nA: b\x01\n", "file:2: a header has a control character"},
		{"POST /\nContent-Length: 3\n\nabc", "file:2: Content-Length is written by ebb"},
		{"GET /\nconnection: close\n", "file:2: Connection is written by ebb"},
		{"GET /{fill}\n", "file:1: {fill} stands in a body only"},
		{"GET /\n---\nPOST /\n\n{fill}{fill}", "file:3: {fill} may stand once"},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		CHECK(parse(faults[i].text) != 0);
		CHECK(strncmp(message, faults[i].wanted, strlen(faults[i].wanted)) == 0);
	}
}

/* --- Answers ----------------------------------------------------------------------------- */

static struct response response;

/* In pieces of that size; what the last one said. */
static enum response_state feed(const char *text, size_t piece)
{
	enum response_state state = RESPONSE_MORE;
	size_t length = strlen(text);

	ebbi_response_start(&response, /* to_head= */ false);
	for (size_t at = 0; at < length && state == RESPONSE_MORE; at += piece)
		state = ebbi_response_feed(&response, text + at, length - at < piece ? length - at : piece);
	return state;
}

TEST(answers_come_in_pieces)
{
	static const char *const whole[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		for (size_t piece = 1; piece < strlen(whole[i]) + 1; piece++) {
			CHECK_EQ(feed(whole[i], piece), RESPONSE_WHOLE);
			CHECK(response.status == 200 || response.status == 204);
			CHECK(response.keep_alive && !response.retry_after);
		}
	}
}

TEST(retry_after_is_seen_in_pieces)
{
	for (size_t piece = 1; piece < 60; piece++) {
		CHECK_EQ(feed("HTTP/1.1 503 X\r\nA: Retry-After\r\nretry-AFTER: 1\r\nContent-Length: 0\r\n\r\n", piece),
			 RESPONSE_WHOLE);
		CHECK(response.retry_after);
		CHECK_EQ(
			feed("HTTP/1.1 503 X\r\nRetry-Afte: 1\r\nRetry-Afters: 1\r\nX-Retry-After: 1\r\nContent-Length: 0\r\n\r\n",
			     piece),
			RESPONSE_WHOLE);
		CHECK(!response.retry_after);
	}
}

TEST(answers_that_cannot_be_used)
{
	static const struct {
		const char *text;
		const char *problem;
	} bad[] = {
		{"SMTP/1 hello\r\n\r\n", "an answer was no HTTP/1"},
		{"HTTP/1.1 204 X\r\n\r\nHTTP/1.1 204 X\r\n\r\n", "more came than one answer"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "an answer's chunks were malformed"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		 "an answer's length contradicted itself"},
	};
	char *giant = malloc(200001);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(feed(bad[i].text, 1000), RESPONSE_BAD);
		CHECK_STR_EQ(response.problem, bad[i].problem);
	}
	memset(giant, 'a', 200000);
	giant[200000] = 0;
	memcpy(giant, "HTTP/1.1 200 OK\r\nA: ", 20);
	CHECK_EQ(feed(giant, 4096), RESPONSE_BAD);
	CHECK_STR_EQ(response.problem, "an answer's head had more than 80 KiB");
	free(giant);
}

TEST(the_end_of_a_connection)
{
	CHECK_EQ(feed("HTTP/1.1 200 OK\r\n\r\nall that comes", 5), RESPONSE_MORE);
	CHECK_EQ(ebbi_response_end(&response), RESPONSE_WHOLE);
	CHECK(!response.keep_alive);
	CHECK_EQ(feed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", 5), RESPONSE_MORE);
	CHECK_EQ(ebbi_response_end(&response), RESPONSE_BAD);
	CHECK_STR_EQ(response.problem, "the connection was closed in the middle of an answer");
	ebbi_response_start(&response, /* to_head= */ false);
	CHECK_EQ(ebbi_response_end(&response), RESPONSE_BAD);
	CHECK_STR_EQ(response.problem, "the connection was closed before an answer");
}

TEST(an_answer_to_head_has_no_body)
{
	const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";

	ebbi_response_start(&response, /* to_head= */ true);
	CHECK_EQ(ebbi_response_feed(&response, text, strlen(text)), RESPONSE_WHOLE);
}

/* --- What a row is worth ----------------------------------------------------------------- */

static struct generator_result load;

static void make_load(uint64_t served, uint64_t refused, uint64_t latency_ns)
{
	load = (struct generator_result){
		.done = true, .offered = 1000, .served = served, .refused = refused, .wall_ns = 1000000000};
	for (uint64_t i = 0; i < served; i++)
		ebbi_latency_add(&load.latency, latency_ns);
}

#define JUDGE() ebbi_sizing_judge(&load, /* died= */ false, 250000000)

TEST(a_row_that_did_not_serve_does_not_count)
{
	make_load(1000, 0, 1000000);
	CHECK_EQ(JUDGE(), ROW_SERVED);
	CHECK_EQ(ebbi_sizing_judge(&load, /* died= */ true, 250000000), ROW_DIED);
	make_load(990, 0, 1000000);
	CHECK_EQ(JUDGE(), ROW_SERVED);
	make_load(989, 0, 1000000);
	CHECK_EQ(JUDGE(), ROW_NOT_SERVED);
	make_load(500, 500, 1000000);
	CHECK_EQ(JUDGE(), ROW_REFUSED);
	make_load(1000, 0, 251000000);
	CHECK_EQ(JUDGE(), ROW_LATE);
	load.done = false;
	CHECK_EQ(JUDGE(), ROW_NO_LOAD);
}

TEST(the_machine_is_blamed_only_when_the_row_is_bad)
{
	make_load(1000, 0, 1000000);
	load.cpu_ns = 950000000;
	CHECK_EQ(JUDGE(), ROW_SERVED);
	make_load(900, 0, 1000000);
	load.cpu_ns = 950000000;
	CHECK_EQ(JUDGE(), ROW_MACHINE);
	make_load(900, 100, 1000000);
	load.waited_ns = 250000000;
	CHECK_EQ(JUDGE(), ROW_MACHINE);
	make_load(900, 0, 1000000);
	load.waited_ns = 250000000;
	load.errors[GENERATOR_BAD] = 100;
	CHECK_EQ(JUDGE(), ROW_NOT_SERVED);
}

int main(void)
{
	RUN(requests_take_turns);
	RUN(bodies_have_the_size_that_is_asked_for);
	RUN(placeholders_differ_and_repeat_with_the_number);
	RUN(faults_name_the_line);
	if (ebbi_response_load(message) != 0) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	RUN(answers_come_in_pieces);
	RUN(retry_after_is_seen_in_pieces);
	RUN(answers_that_cannot_be_used);
	RUN(the_end_of_a_connection);
	RUN(an_answer_to_head_has_no_body);
	RUN(a_row_that_did_not_serve_does_not_count);
	RUN(the_machine_is_blamed_only_when_the_row_is_bad);
	free(bytes.bytes);
	return check_report();
}
