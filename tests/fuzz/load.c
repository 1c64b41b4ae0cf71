/* What a load reads: the answers of servers, cut where the input says, and the file of requests. */
#include <stdlib.h>
#include <string.h>

#include "lab/allocator.h"
#include "lab/requests.h"
#include "lab/response.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_answers(const uint8_t *bytes, size_t size)
{
	size_t piece = 1 + bytes[0] % 32;
	struct response response;
	size_t used;

	ebbi_response_start(&response, bytes[0] & 64);
	for (size_t at = 1; at < size; at += used) {
		size_t length = size - at < piece ? size - at : piece;
		enum response_state state = ebbi_response_feed(&response, (const char *)bytes + at, length, &used);

		if (used > length || (state == RESPONSE_MORE && used != length) ||
		    (state == RESPONSE_DONE && used == 0))
			__builtin_trap();
		if (state == RESPONSE_DONE && (response.status / 100 == 1) != (response.status == 101))
			__builtin_trap();
		if (state == RESPONSE_BAD)
			return;
		if (state == RESPONSE_DONE)
			ebbi_response_start(&response, bytes[0] & 64);
	}
	ebbi_response_feed(&response, "", 0, &used);
}

static void write_requests(const uint8_t *bytes, size_t size)
{
	static struct requests requests;
	char message[LAB_MESSAGE] = "";
	char *out;
	bool is_head;

	if (ebbi_requests_parse((const char *)bytes + 1, size - 1, "f", "host", bytes[0], &requests, message) != 0) {
		if (message[0] == 0 || requests.text)
			__builtin_trap();
		return;
	}
	/* Exactly as large as it says: the sanitizer sees what goes beyond. */
	out = malloc(requests.most_bytes);
	for (uint64_t seq = 0; seq < 2 * requests.count; seq++) {
		size_t length = ebbi_requests_write(&requests, seq % 2 ? UINT64_MAX - seq : seq, out, &is_head);

		if (length == 0 || length > requests.most_bytes)
			__builtin_trap();
	}
	free(out);
	ebbi_requests_free(&requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static bool loaded;

	if (!loaded && !ebbi_response_load())
		__builtin_trap();
	loaded = true;
	if (size < 2)
		return 0;
	if (bytes[0] & 128)
		write_requests(bytes, size);
	else
		read_answers(bytes, size);
	return 0;
}
