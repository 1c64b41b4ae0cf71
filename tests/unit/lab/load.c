/* The pieces of the constant-rate load: its schedule, its histogram, its requests, its reading of answers; its knee. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lab/allocator.h"
#include "lab/latency.h"
#include "lab/requests.h"
#include "lab/response.h"
#include "lab/schedule.h"
#include "lab/sizing.h"

#define SECOND 1000000000u

/* --- Schedule ---------------------------------------------------------------------------- */

TEST(requests_are_due_at_a_constant_rate)
{
	struct schedule schedule = ebbi_schedule(3, 10ull * SECOND, 1000);

	CHECK_EQ(schedule.count, 30);
	CHECK_EQ(ebbi_schedule_due(&schedule, 999), 0);
	CHECK_EQ(ebbi_schedule_due(&schedule, 1000), 1);
	CHECK_EQ(ebbi_schedule_time(&schedule, 1), 1000 + 333333333u);
	CHECK_EQ(ebbi_schedule_due(&schedule, 1000 + 333333332u), 1);
	CHECK_EQ(ebbi_schedule_due(&schedule, 1000 + 333333333u), 2);
	CHECK_EQ(ebbi_schedule_due(&schedule, 1000 + 3ull * SECOND), 10);
	CHECK_EQ(ebbi_schedule_due(&schedule, UINT64_MAX), 30);
}

TEST(due_and_time_agree_at_every_rate)
{
	static const uint64_t rates[] = {1, 7, 999, 20000, 333333, SCHEDULE_RATE_MOST};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct schedule schedule = ebbi_schedule(rates[r], (uint64_t)SCHEDULE_SECONDS_MOST * SECOND, 5);
		uint64_t step = schedule.count / 1000 + 1;

		for (uint64_t i = 0; i < schedule.count; i += step) {
			uint64_t at = ebbi_schedule_time(&schedule, i);

			CHECK(ebbi_schedule_due(&schedule, at) > i);
			if (i > 0)
				CHECK(ebbi_schedule_due(&schedule, at - 1) <= i || rates[r] == SCHEDULE_RATE_MOST);
		}
		CHECK_EQ(ebbi_schedule_due(&schedule, ebbi_schedule_time(&schedule, schedule.count - 1)),
			 schedule.count);
	}
}

TEST(a_short_load_has_a_request)
{
	CHECK_EQ(ebbi_schedule(1, 1, 0).count, 1);
	CHECK_EQ(ebbi_schedule(1000, SECOND / 2, 0).count, 500);
}

/* --- Histogram --------------------------------------------------------------------------- */

TEST(a_percentile_is_within_a_hundredth)
{
	static struct latency latency;

	for (uint64_t i = 1; i <= 100000; i++)
		ebbi_latency_add(&latency, i * 1000);
	CHECK_EQ(latency.count, 100000);
	CHECK_EQ(latency.most_ns, 100000000);
	CHECK_GE(ebbi_latency_at(&latency, 0.5), 50000000);
	CHECK_LE(ebbi_latency_at(&latency, 0.5), 50000000 * 1.01);
	CHECK_GE(ebbi_latency_at(&latency, 0.99), 99000000);
	CHECK_LE(ebbi_latency_at(&latency, 0.99), 99000000 * 1.01);
	CHECK_EQ(ebbi_latency_at(&latency, 1), 100000000);
}

TEST(one_slow_request_is_the_largest)
{
	static struct latency latency;

	CHECK_EQ(ebbi_latency_at(&latency, 0.99), 0);
	for (int i = 0; i < 999; i++)
		ebbi_latency_add(&latency, 100);
	ebbi_latency_add(&latency, 7 * (uint64_t)SECOND);
	CHECK_EQ(ebbi_latency_at(&latency, 0.99), 100);
	CHECK_EQ(ebbi_latency_at(&latency, 1), 7 * (uint64_t)SECOND);
	ebbi_latency_add(&latency, UINT64_MAX);
	CHECK_EQ(latency.most_ns, UINT64_MAX);
}

TEST(every_time_lies_in_its_bucket)
{
	for (unsigned bit = 0; bit < LATENCY_TOP; bit++) {
		for (int off = -1; off <= 1; off++) {
			static struct latency latency;
			uint64_t ns = ((uint64_t)1 << bit) + (uint64_t)(int64_t)off;

			memset(&latency, 0, sizeof(latency));
			ebbi_latency_add(&latency, ns);
			ebbi_latency_add(&latency, (uint64_t)1 << 39);
			CHECK_GE(ebbi_latency_at(&latency, 0.5), ns);
			CHECK_LE(ebbi_latency_at(&latency, 0.5), ns + ns / 127);
		}
	}
}

/* --- Requests ---------------------------------------------------------------------------- */

static struct requests requests;
static char message[LAB_MESSAGE];

/* Number `seq` of a file, as text; NULL when the file is refused. */
static const char *written(const char *file, size_t body_bytes, uint64_t seq)
{
	static char bytes[1 << 16];
	size_t length;
	bool is_head;

	message[0] = 0;
	if (ebbi_requests_parse(file, strlen(file), "f", "h:1", body_bytes, &requests, message) != 0)
		return NULL;
	CHECK(requests.most_bytes < sizeof(bytes));
	length = ebbi_requests_write(&requests, seq, bytes, &is_head);
	CHECK_LE(length, requests.most_bytes);
	bytes[length] = 0;
	ebbi_requests_free(&requests);
	return bytes;
}

TEST(requests_are_sent_in_turn)
{
	static const char file[] = "# two\nGET /a\n---\n\nPOST /b?n={seq}\nX-A: b\n\nbody {seq}\nline\n---\n";

	CHECK_STR_EQ(written(file, 0, 0), "GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n");
	CHECK_STR_EQ(written(file, 0, 13), "POST /b?n=13 HTTP/1.1\r\nX-A: b\r\nHost: h:1\r\nContent-Length: 12\r\n\r\n"
					   "body 13\nline");
}

TEST(a_body_has_the_size_that_was_asked_for)
{
	for (uint64_t seq = 9; seq < 11; seq++) {
		const char *text = written("POST /\nHost: x\n\n{\"n\":{seq},\"p\":\"{pad}\"}\n", 100, seq);
		const char *body = text ? strstr(text, "\r\n\r\n") : NULL;

		REQUIRE(body != NULL);
		CHECK_EQ(strlen(body + 4), 100);
		CHECK(strstr(text, "Content-Length: 100\r\n") != NULL);
		CHECK(strstr(text, "Host: h:1") == NULL);
	}
}

TEST(a_request_number_gives_the_same_bytes_always)
{
	char first[256];

	snprintf(first, sizeof(first), "%s", written("GET /{random}\n", 0, 5));
	CHECK_STR_EQ(written("GET /{random}\n", 0, 5), first);
	CHECK(strcmp(written("GET /{random}\n", 0, 6), first) != 0);
	CHECK(strstr(written("GET /{other}{\n", 0, 1), "/{other}{ HTTP") != NULL);
}

TEST(a_post_without_a_body_says_so)
{
	CHECK_STR_EQ(written("POST /\n", 0, 0), "POST / HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n");
	CHECK_STR_EQ(written("POST /\n\n", 0, 0), "POST / HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n");
	CHECK_STR_EQ(written("GET /\n\n", 0, 0), "GET / HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n");
}

TEST(the_usual_request_of_every_size)
{
	static const size_t sizes[] = {1, 79, 80, 81, 5000};
	char bytes[6000];
	bool is_head;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t length;

		REQUIRE(ebbi_requests_usual("/p", "h", sizes[i], &requests, message) == 0);
		length = ebbi_requests_write(&requests, 1234567, bytes, &is_head);
		REQUIRE(length < sizeof(bytes));
		bytes[length] = 0;
		CHECK_EQ(strlen(strstr(bytes, "\r\n\r\n") + 4), sizes[i]);
		ebbi_requests_free(&requests);
	}
}

TEST(a_file_that_is_wrong_is_refused_with_its_line)
{
	static const struct {
		const char *file;
		size_t body_bytes;
		const char *wanted;
	} table[] = {
		{"", 0, "f:0: no request in it"},
		{"# only\n\n", 0, "no request in it"},
		{"get /\n", 0, "f:1: no request"},
		{"GET http://x/\n", 0, "f:1: no request"},
		{"GET / HTTP/1.1\n", 0, "f:1: no request"},
		{"\nGET /\nnonsense\n", 0, "f:3: no header"},
		{"GET /\nA\x01: b\n", 0, "f:2: no header"},
		{"POST /\ncontent-LENGTH: 3\n", 0, "f:2: leave content-LENGTH out"},
		{"GET /{pad}\n", 10, "{pad} can stand in a body alone"},
		{"POST /\n\n{pad}{pad}\n", 10, "once"},
		{"POST /\n\n{random}{pad}\n", 10, "--event-bytes 10 is too little"},
		{"POST /\n\nx\n", 10, "needs a {pad}"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		CHECK(!written(table[i].file, table[i].body_bytes, 0));
		if (!strstr(message, table[i].wanted))
			CHECK_FAIL("%s: '%s' is not in '%s'", table[i].file, table[i].wanted, message);
	}
}

/* --- Answers ----------------------------------------------------------------------------- */

/* The answer in pieces of `piece` bytes; what was left over goes to *ret_left. */
static enum response_state read_answer(struct response *response, const char *text, size_t piece, bool no_body,
				       size_t *ret_left)
{
	size_t length = strlen(text), at = 0, used;
	enum response_state state = RESPONSE_MORE;

	ebbi_response_start(response, no_body);
	while (at < length && state == RESPONSE_MORE) {
		size_t part = length - at < piece ? length - at : piece;

		state = ebbi_response_feed(response, text + at, part, &used);
		at += used;
	}
	*ret_left = length - at;
	return state;
}

TEST(answers_in_pieces_of_every_size)
{
	static const struct {
		const char *text;
		bool no_body;
		unsigned status;
		bool retry_after, keep;
		size_t left;
	} table[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokMORE", false, 200, false, true, 4},
		{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nMORE", false, 200, false, true, 4},
		{"HTTP/1.1 204 No\r\n\r\nX", false, 204, false, true, 1},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nX", true, 200, false, true, 1},
		{"HTTP/1.1 503 Busy\r\nretry-AFTER: 1\r\nContent-Length: 0\r\n\r\n", false, 503, true, true, 0},
		{"HTTP/1.1 503 Busy\r\nX-Retry-After: 1\r\nRetry: 1\r\nContent-Length: 0\r\n\r\n", false, 503, false,
		 true, 0},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false, 200, false, false, 0},
		{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", false, 200, false, false, 0},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\nX", false, 200,
		 false, true, 1},
		{"HTTP/1.1 100 Continue\r\nRetry-After: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false,
		 200, false, true, 0},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (size_t piece = 1; piece <= strlen(table[i].text); piece++) {
			struct response response;
			size_t left;

			check_name = table[i].text;
			CHECK_EQ(read_answer(&response, table[i].text, piece, table[i].no_body, &left), RESPONSE_DONE);
			CHECK_EQ(response.status, table[i].status);
			CHECK_EQ(response.retry_after, table[i].retry_after);
			CHECK_EQ(response.keep, table[i].keep);
			CHECK_EQ(left, table[i].left);
		}
	}
}

TEST(an_answer_without_a_length_ends_with_the_connection)
{
	struct response response;
	size_t left, used;

	CHECK_EQ(read_answer(&response, "HTTP/1.1 200 OK\r\n\r\nall", 100, false, &left), RESPONSE_MORE);
	CHECK_EQ(ebbi_response_feed(&response, "", 0, &used), RESPONSE_DONE);
	CHECK_EQ(response.status, 200);
	CHECK(!response.keep);
}

TEST(what_is_no_answer)
{
	static const char *const table[] = {"SMTP/9\r\n", "HTTP/1.1 abc\r\n\r\n", "\0\0\0\0",
					    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"};
	struct response response;
	size_t left, used;
	char giant[100000];

	for (size_t i = 0; i < 4; i++) {
		if (table[i][0])
			CHECK_EQ(read_answer(&response, table[i], 100, false, &left), RESPONSE_BAD);
	}
	ebbi_response_start(&response, false);
	CHECK_EQ(ebbi_response_feed(&response, "\0\0", 2, &used), RESPONSE_BAD);
	/* Nothing came at all, or half a head. */
	ebbi_response_start(&response, false);
	CHECK_EQ(ebbi_response_feed(&response, "", 0, &used), RESPONSE_BAD);
	CHECK_EQ(read_answer(&response, "HTTP/1.1 200 OK\r\nConte", 100, false, &left), RESPONSE_MORE);
	CHECK_EQ(ebbi_response_feed(&response, "", 0, &used), RESPONSE_BAD);
	memset(giant, 'a', sizeof(giant));
	CHECK_EQ(read_answer(&response, "HTTP/1.1 200 OK\r\nA: ", 100, false, &left), RESPONSE_MORE);
	CHECK_EQ(ebbi_response_feed(&response, giant, sizeof(giant), &used), RESPONSE_BAD);
}

/* --- The knee ---------------------------------------------------------------------------- */

/* All rates that are run when the server keeps up to `most`, as text. */
static const char *ladder(const uint64_t *rates, size_t count, uint64_t most)
{
	static char text[256];
	struct sizing sizing;
	uint64_t rate;
	int length = 0;

	text[0] = 0;
	ebbi_sizing_start(&sizing, rates, count);
	while ((rate = ebbi_sizing_next(&sizing)) != 0) {
		length += snprintf(text + length, sizeof(text) - (size_t)length, " %lu", (unsigned long)rate);
		ebbi_sizing_tell(&sizing, rate, rate <= most ? SIZING_KEPT_UP : SIZING_BEHIND);
	}
	snprintf(text + length, sizeof(text) - (size_t)length, " best %lu knee %lu", (unsigned long)sizing.best,
		 (unsigned long)sizing.knee);
	return text;
}

TEST(rates_go_up_to_the_knee_and_narrow_it_down)
{
	static const uint64_t rates[] = {1000, 2000, 4000, 8000};

	CHECK_STR_EQ(ladder(rates, 4, 9000), " 1000 2000 4000 8000 best 8000 knee 0");
	CHECK_STR_EQ(ladder(rates, 4, 2700), " 1000 2000 4000 3000 2500 best 2500 knee 3000");
	CHECK_STR_EQ(ladder(rates, 4, 3600), " 1000 2000 4000 3000 3500 best 3500 knee 4000");
	CHECK_STR_EQ(ladder(rates, 4, 300), " 1000 500 250 best 250 knee 500");
	CHECK_STR_EQ(ladder(rates, 4, 0), " 1000 500 250 best 0 knee 250");
	CHECK_STR_EQ(ladder(rates, 1, 0), " 1000 500 250 best 0 knee 250");
	CHECK_STR_EQ(ladder((const uint64_t[]){1}, 1, 0), " 1 best 0 knee 1");
	CHECK_STR_EQ(ladder((const uint64_t[]){100, 104}, 2, 100), " 100 104 best 100 knee 104");
}

TEST(what_keeping_up_means)
{
	struct sizing_facts facts = {.offered = 1000, .served = 990, .p99_ns = 90000000};

	CHECK_EQ(ebbi_sizing_judge(&facts, 1000000), SIZING_KEPT_UP);
	facts.served = 989;
	CHECK_EQ(ebbi_sizing_judge(&facts, 1000000), SIZING_BEHIND);
	facts.generator_cores = 0.95;
	CHECK_EQ(ebbi_sizing_judge(&facts, 1000000), SIZING_MACHINE);
	facts.died = true;
	CHECK_EQ(ebbi_sizing_judge(&facts, 1000000), SIZING_DIED);
	facts = (struct sizing_facts){.offered = 1000, .served = 1000, .p99_ns = 110000000};
	CHECK_EQ(ebbi_sizing_judge(&facts, 1000000), SIZING_SLOW);
	CHECK_EQ(ebbi_sizing_judge(&facts, 12000000), SIZING_KEPT_UP);
	CHECK_EQ(ebbi_sizing_judge(&facts, 0), SIZING_KEPT_UP);
	facts.p99_ns = 1100000000;
	CHECK_EQ(ebbi_sizing_judge(&facts, 0), SIZING_SLOW);
	facts.lag_p99_ns = 30000000;
	CHECK_EQ(ebbi_sizing_judge(&facts, 0), SIZING_MACHINE);
	CHECK_EQ(ebbi_sizing_judge(&(struct sizing_facts){0}, 0), SIZING_BEHIND);
}

TEST(a_box_has_a_share)
{
	CHECK(ebbi_sizing_fits(100, 200, 0.5));
	CHECK(!ebbi_sizing_fits(101, 200, 0.5));
}

int main(void)
{
	RUN(requests_are_due_at_a_constant_rate);
	RUN(due_and_time_agree_at_every_rate);
	RUN(a_short_load_has_a_request);
	RUN(a_percentile_is_within_a_hundredth);
	RUN(one_slow_request_is_the_largest);
	RUN(every_time_lies_in_its_bucket);
	RUN(requests_are_sent_in_turn);
	RUN(a_body_has_the_size_that_was_asked_for);
	RUN(a_request_number_gives_the_same_bytes_always);
	RUN(a_post_without_a_body_says_so);
	RUN(the_usual_request_of_every_size);
	RUN(a_file_that_is_wrong_is_refused_with_its_line);
	if (!ebbi_response_load()) {
		fputs("libhttp_parser is not installed\n", stderr);
		return 1;
	}
	RUN(answers_in_pieces_of_every_size);
	RUN(an_answer_without_a_length_ends_with_the_connection);
	RUN(what_is_no_answer);
	RUN(rates_go_up_to_the_knee_and_narrow_it_down);
	RUN(what_keeping_up_means);
	RUN(a_box_has_a_share);
	return check_report();
}
