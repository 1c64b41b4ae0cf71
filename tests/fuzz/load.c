/* Request files and the answers of servers, whole and cut where the input says. */
#include <stdlib.h>
#include <string.h>

#include "lab/allocator.h"
#include "lab/requests.h"
#include "lab/response.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What was understood can be rendered, and a body has the length that its head says. */
static void try_requests(const char *text, size_t size)
{
	char message[LAB_MESSAGE];
	struct request_bytes rendered = {0};
	struct requests requests;
	const char *end;

	if (ebbi_requests_parse(text, size, "file", "h:1", &requests, message) != 0)
		return;
	for (uint64_t i = 0; i < requests.count && i < 8; i++) {
		const char *length;

		if (ebbi_requests_render(&requests, i, 300, &rendered) != 0)
			__builtin_trap();
		rendered.bytes[rendered.length] = 0;
		end = memmem(rendered.bytes, rendered.length, "\r\n\r\n", 4);
		if (!end)
			__builtin_trap();
		length = memmem(rendered.bytes, (size_t)(end - rendered.bytes), "\r\nContent-Length: ", 18);
		if (strtoul(length ? length + 18 : "0", NULL, 10) !=
		    rendered.length - (size_t)(end + 4 - rendered.bytes))
			__builtin_trap();
	}
	free(rendered.bytes);
	ebbi_requests_free(&requests);
}

static void try_response(const char *text, size_t size, size_t piece)
{
	enum response_state state = RESPONSE_MORE;
	struct response response;

	ebbi_response_start(&response, size > 0 && (text[0] & 1) != 0);
	for (size_t at = 0; at < size && state == RESPONSE_MORE; at += piece)
		state = ebbi_response_feed(&response, text + at, size - at < piece ? size - at : piece);
	if (state == RESPONSE_MORE)
		state = ebbi_response_end(&response);
	if (state == RESPONSE_MORE || (state == RESPONSE_BAD && !response.problem) ||
	    (state == RESPONSE_WHOLE && (!response.complete || response.status < 200 || response.status > 999)))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char message[LAB_MESSAGE];
	/* Of that very size, so that the sanitizer sees a byte too far. */
	char *text = malloc(size ? size : 1);

	if (ebbi_response_load(message) != 0)
		exit(1);
	memcpy(text, bytes, size);
	try_requests(text, size);
	try_response(text, size, size ? size : 1);
	try_response(text, size, 1 + (size ? bytes[size / 2] % 5 : 0));
	free(text);
	return 0;
}
