#include "lab/response.h"

#include <dlfcn.h>
#include <string.h>
#include <strings.h>

/* What we need of the library, found at run time. */
static struct {
	void (*init)(struct http_parser *, enum http_parser_type);
	size_t (*execute)(struct http_parser *, const struct http_parser_settings *, const char *, size_t);
	void (*pause)(struct http_parser *, int);
	int (*should_keep_alive)(const struct http_parser *);
} calls;

bool ebbi_response_load(void)
{
	static const char *const names[] = {"libhttp_parser.so.2.9", "libhttp_parser.so.2.8"};
	void *library = NULL;

	for (size_t i = 0; i < 2 && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	/* POSIX promises that a function's address survives the way through void *. */
	*(void **)&calls.init = dlsym(library, "http_parser_init");
	*(void **)&calls.execute = dlsym(library, "http_parser_execute");
	*(void **)&calls.pause = dlsym(library, "http_parser_pause");
	*(void **)&calls.should_keep_alive = dlsym(library, "http_should_keep_alive");
	return calls.init && calls.execute && calls.pause && calls.should_keep_alive;
}

static int on_field(struct http_parser *parser, const char *bytes, size_t length)
{
	struct response *response = parser->data;
	size_t room;

	if (response->in_value)
		response->field_length = 0;
	response->in_value = false;
	room = sizeof(response->field) - response->field_length;
	/* A longer name is none we look for: the length alone tells. */
	memcpy(response->field + response->field_length, bytes, length < room ? length : room);
	response->field_length += length < room ? length : room;
	return 0;
}

static int on_value(struct http_parser *parser, const char *bytes, size_t length)
{
	static const char name[] = "retry-after";
	struct response *response = parser->data;

	(void)bytes;
	(void)length;
	response->in_value = true;
	if (response->field_length == sizeof(name) - 1 &&
	    strncasecmp(response->field, name, response->field_length) == 0)
		response->retry_after = true;
	return 0;
}

/* 1: there is no body, whatever the head says of its length. */
static int on_head(struct http_parser *parser)
{
	const struct response *response = parser->data;

	return response->no_body ? 1 : 0;
}

static int on_end(struct http_parser *parser)
{
	struct response *response = parser->data;
	unsigned status = parser->status_code;

	if (status / 100 == 1 && status != 101) {
		response->retry_after = false;
		response->field_length = 0;
		return 0;
	}
	response->done = true;
	response->status = status;
	response->keep = calls.should_keep_alive(parser) != 0 && !parser->upgrade;
	/* What follows is no part of it. */
	calls.pause(parser, 1);
	return 0;
}

static const struct http_parser_settings settings = {
	.on_header_field = on_field,
	.on_header_value = on_value,
	.on_headers_complete = on_head,
	.on_message_complete = on_end,
};

void ebbi_response_start(struct response *response, bool no_body)
{
	*response = (struct response){.no_body = no_body};
	calls.init(&response->parser, HTTP_RESPONSE);
	response->parser.data = response;
}

enum response_state ebbi_response_feed(struct response *response, const char *bytes, size_t length, size_t *ret_used)
{
	size_t used;

	/* The copy in a struct that was moved would point to where it came from. */
	response->parser.data = response;
	used = calls.execute(&response->parser, &settings, bytes, length);
	*ret_used = used < length ? used : length;
	if (response->done)
		return RESPONSE_DONE;
	if (HTTP_PARSER_ERRNO(&response->parser) != HPE_OK || used != length || length == 0)
		return RESPONSE_BAD;
	return RESPONSE_MORE;
}
