/* Addresses and URLs of --ready-*, and the search for a text in a stream, cut where the input says. */
#include "lab/ready.h"

#include <stdlib.h>
#include <string.h>

#include "lab/allocator.h"
#include "lab/textscan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The first half's end is looked for in the second half, which comes in pieces. */
static void scan(const uint8_t *bytes, size_t size)
{
	char needle[9];
	static struct textscan scan;
	size_t length = size < 24 ? size / 3 : 8;
	size_t piece = size ? 1 + bytes[0] % 7 : 1;
	bool seen = false;

	memcpy(needle, bytes, length);
	needle[length] = 0;
	if (needle[0] == 0)
		return;
	ebbi_textscan_start(&scan, needle);
	for (size_t at = length; at < size && !seen; at += piece)
		seen = ebbi_textscan_feed(&scan, (const char *)bytes + at, size - at < piece ? size - at : piece);
	if (seen != (memmem(bytes + length, size - length, needle, strlen(needle)) != NULL))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char message[LAB_MESSAGE];
	struct ready ready;
	char *text = malloc(size + 1);

	memcpy(text, bytes, size);
	text[size] = 0;
	for (int kind = READY_TCP; kind <= READY_LOG; kind++) {
		if (ebbi_ready_parse((enum ready_kind)kind, text, &ready, message) == 0 && kind != READY_LOG &&
		    (atoi(ready.port) < 1 || atoi(ready.port) > 65535 || ready.host[0] == 0))
			__builtin_trap();
	}
	scan(bytes, size);
	free(text);
	return 0;
}
