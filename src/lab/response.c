#include "lab/response.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lab/allocator.h"

static struct {
	__typeof__(&http_parser_init) http_parser_init;
	__typeof__(&http_parser_execute) http_parser_execute;
	__typeof__(&http_parser_pause) http_parser_pause;
	__typeof__(&http_should_keep_alive) http_should_keep_alive;
} calls;

static const char retry_after[] = "retry-after";
#define OTHER_NAME SIZE_MAX

int ebbi_response_load(char *ret_message)
{
	void *library;

	if (calls.http_should_keep_alive)
		return 0;
	library = dlopen("libhttp_parser.so.2.9", RTLD_NOW | RTLD_LOCAL);
	if (library) {
		*(void **)&calls.http_parser_init = dlsym(library, "http_parser_init");
		*(void **)&calls.http_parser_execute = dlsym(library, "http_parser_execute");
		*(void **)&calls.http_parser_pause = dlsym(library, "http_parser_pause");
		*(void **)&calls.http_should_keep_alive = dlsym(library, "http_should_keep_alive");
	}
	if (library && calls.http_parser_init && calls.http_parser_execute && calls.http_parser_pause &&
	    calls.http_should_keep_alive)
		return 0;
	calls.http_should_keep_alive = NULL;
	snprintf(ret_message, LAB_MESSAGE,
		 "sending requests needs libhttp_parser.so.2.9; on Debian: apt-get install libhttp-parser2.9");
	return -ENOENT;
}

/* --- What the parser tells --------------------------------------------------------------- */

/* Names come in pieces. */
static int on_header_field(struct http_parser *parser, const char *at, size_t length)
{
	struct response *response = parser->data;

	if (response->in_value) {
		response->in_value = false;
		response->name_matched = 0;
	}
	for (size_t i = 0; i < length && response->name_matched != OTHER_NAME; i++) {
		size_t matched = response->name_matched;
		bool same = matched < sizeof(retry_after) - 1 && tolower((unsigned char)at[i]) == retry_after[matched];

		response->name_matched = same ? matched + 1 : OTHER_NAME;
	}
	return 0;
}

static int on_header_value(struct http_parser *parser, const char *at, size_t length)
{
	struct response *response = parser->data;

	(void)at;
	response->in_value = true;
	if (length > 0 && response->name_matched == sizeof(retry_after) - 1)
		response->retry_after = true;
	return 0;
}

/* 1: no body is to be expected. */
static int on_headers_complete(struct http_parser *parser)
{
	struct response *response = parser->data;

	return response->to_head ? 1 : 0;
}

static int on_message_complete(struct http_parser *parser)
{
	struct response *response = parser->data;

	response->status = parser->status_code;
	response->interim = parser->status_code < 200;
	response->complete = !response->interim;
	response->keep_alive = calls.http_should_keep_alive(parser) != 0;
	calls.http_parser_pause(parser, 1);
	return 0;
}

static const struct http_parser_settings settings = {
	.on_header_field = on_header_field,
	.on_header_value = on_header_value,
	.on_headers_complete = on_headers_complete,
	.on_message_complete = on_message_complete,
};

/* --- The answer -------------------------------------------------------------------------- */

void ebbi_response_start(struct response *response, bool to_head)
{
	*response = (struct response){.to_head = to_head};
	calls.http_parser_init(&response->parser, HTTP_RESPONSE);
	response->parser.data = response;
}

static enum response_state bad(struct response *response, const char *problem)
{
	response->problem = problem;
	return RESPONSE_BAD;
}

static enum response_state judge_error(struct response *response)
{
	switch (HTTP_PARSER_ERRNO(&response->parser)) {
	case HPE_HEADER_OVERFLOW:
		return bad(response, "an answer's head had more than 80 KiB");
	case HPE_INVALID_EOF_STATE:
		return bad(response, "the connection was closed in the middle of an answer");
	case HPE_INVALID_CONTENT_LENGTH:
	case HPE_UNEXPECTED_CONTENT_LENGTH:
		return bad(response, "an answer's length contradicted itself");
	case HPE_INVALID_CHUNK_SIZE:
		return bad(response, "an answer's chunks were malformed");
	default:
		return bad(response, "an answer was no HTTP/1");
	}
}

enum response_state ebbi_response_feed(struct response *response, const char *bytes, size_t length)
{
	while (length > 0) {
		size_t used = calls.http_parser_execute(&response->parser, &settings, bytes, length);
		bool paused = HTTP_PARSER_ERRNO(&response->parser) == HPE_PAUSED;

		response->started = true;
		if (response->parser.upgrade)
			return bad(response, "an answer asked for another protocol");
		if (!paused)
			return HTTP_PARSER_ERRNO(&response->parser) == HPE_OK ? RESPONSE_MORE : judge_error(response);
		bytes += used;
		length -= used;
		if (response->interim) {
			/* The answer itself follows, and none of its headers is known yet. */
			ebbi_response_start(response, response->to_head);
			continue;
		}
		return length == 0 ? RESPONSE_WHOLE : bad(response, "more came than one answer");
	}
	return RESPONSE_MORE;
}

enum response_state ebbi_response_end(struct response *response)
{
	if (!response->started)
		return bad(response, "the connection was closed before an answer");
	calls.http_parser_execute(&response->parser, &settings, NULL, 0);
	if (response->complete) {
		response->keep_alive = false;
		return RESPONSE_WHOLE;
	}
	return bad(response, "the connection was closed in the middle of an answer");
}
