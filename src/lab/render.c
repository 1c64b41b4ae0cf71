#include "lab/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_DIGITS 16u
#define UUID_LETTERS 36u
/* The text of {fill}, taken from a place that moves, so that no two bodies are the same. */
#define FILL_BYTES 8192u

static const struct {
	const char *name;
	enum part_kind kind;
} placeholders[] = {{"{seq}", PART_SEQ}, {"{random}", PART_RANDOM}, {"{uuid}", PART_UUID}, {"{fill}", PART_FILL}};

/* Steele's splitmix64: a good number from each number. */
static uint64_t mixed(uint64_t number)
{
	number += 0x9e3779b97f4a7c15u;
	number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
	number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
	return number ^ (number >> 31);
}

static bool make_room(struct request_bytes *bytes, size_t more)
{
	size_t room = bytes->room ? bytes->room : 512;
	char *longer;

	if (more <= bytes->room - bytes->length)
		return true;
	while (room - bytes->length < more)
		room *= 2;
	longer = realloc(bytes->bytes, room);
	if (!longer)
		return false;
	bytes->bytes = longer;
	bytes->room = room;
	return true;
}

bool ebbi_render_add(struct request_bytes *bytes, const char *text, size_t length)
{
	if (!make_room(bytes, length + 1))
		return false;
	memcpy(bytes->bytes + bytes->length, text, length);
	bytes->length += length;
	return true;
}

/* --- Templates --------------------------------------------------------------------------- */

static bool add_part(struct request_template *request, enum part_kind kind, size_t offset, size_t length)
{
	struct request_part *longer;

	if (kind == PART_TEXT && length == 0)
		return true;
	if (request->part_count % 8 == 0) {
		longer = realloc(request->parts, (request->part_count + 8) * sizeof(*longer));
		if (!longer)
			return false;
		request->parts = longer;
	}
	request->parts[request->part_count++] = (struct request_part){.kind = kind, .offset = offset, .length = length};
	return true;
}

/* Text between `from` and `to`, cut at its placeholders. */
static bool add_text(struct request_template *request, size_t from, size_t to)
{
	size_t start = from;

	for (size_t at = from; at < to; at++) {
		if (request->text[at] != '{')
			continue;
		for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
			size_t length = strlen(placeholders[i].name);

			if (to - at < length || memcmp(request->text + at, placeholders[i].name, length) != 0)
				continue;
			if (!add_part(request, PART_TEXT, start, at - start) ||
			    !add_part(request, placeholders[i].kind, at, length))
				return false;
			start = at + length;
			at = start - 1;
			break;
		}
	}
	return add_part(request, PART_TEXT, start, to - start);
}

bool ebbi_render_compile(struct request_template *request, const struct request_bytes *head, bool has_body,
			 const char *body, size_t body_length)
{
	static const char length_header[] = "Content-Length: ";
	static const char end[] = "\r\n\r\n";
	struct request_bytes text = {0};
	size_t at, after;

	if (!ebbi_render_add(&text, head->bytes, head->length))
		return false;
	if (has_body)
		ebbi_render_add(&text, length_header, sizeof(length_header) - 1);
	at = text.length;
	if (!ebbi_render_add(&text, has_body ? end : "\r\n", has_body ? 4 : 2) ||
	    !ebbi_render_add(&text, body, body_length)) {
		free(text.bytes);
		return false;
	}
	request->text = text.bytes;
	after = text.length - body_length;
	if (!add_text(request, 0, at) || (has_body && !add_part(request, PART_LENGTH, at, 0)) ||
	    !add_part(request, PART_TEXT, at, after - at))
		return false;
	request->body_part = request->part_count;
	return add_text(request, after, text.length);
}

/* --- Bytes ------------------------------------------------------------------------------- */

static size_t digits(uint64_t number)
{
	size_t count = 1;

	for (; number > 9; number /= 10)
		count++;
	return count;
}

static size_t part_length(const struct request_part *part, uint64_t number, uint64_t fill_bytes)
{
	switch (part->kind) {
	case PART_TEXT:
		return part->length;
	case PART_SEQ:
		return digits(number);
	case PART_RANDOM:
		return RANDOM_DIGITS;
	case PART_UUID:
		return UUID_LETTERS;
	case PART_FILL:
		return fill_bytes;
	case PART_LENGTH:
		break;
	}
	return 0;
}

uint64_t ebbi_render_body(const struct request_template *request, uint64_t number, uint64_t fill_bytes)
{
	uint64_t length = 0;

	for (size_t i = request->body_part; i < request->part_count; i++)
		length += part_length(&request->parts[i], number, fill_bytes);
	return length;
}

static const char *fill_text(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
	static char text[2 * FILL_BYTES];

	if (text[0] == 0) {
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = letters[mixed(i) % 64];
	}
	return text;
}

static void add_fill(struct request_bytes *bytes, uint64_t number, uint64_t length)
{
	const char *text = fill_text() + mixed(number) % FILL_BYTES;

	for (uint64_t left = length; left > 0;) {
		size_t piece = left < FILL_BYTES ? (size_t)left : FILL_BYTES;

		memcpy(bytes->bytes + bytes->length, text, piece);
		bytes->length += piece;
		left -= piece;
	}
}

/* The room is there. */
__attribute__((format(printf, 2, 3))) static void add_format(struct request_bytes *bytes, const char *format, ...)
{
	va_list arguments;
	int written;

	va_start(arguments, format);
	written = vsnprintf(bytes->bytes + bytes->length, bytes->room - bytes->length, format, arguments);
	va_end(arguments);
	bytes->length += (size_t)written;
}

static void add_uuid(struct request_bytes *bytes, uint64_t random)
{
	uint64_t second = mixed(random);

	/* Version 4, variant 1: RFC 9562. */
	add_format(bytes, "%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, random >> 32,
		   random >> 16 & 0xffff, random & 0xfff, (second >> 48 & 0x3fff) | 0x8000, second & 0xffffffffffff);
}

static void add_part_bytes(struct request_bytes *bytes, const struct request_template *request,
			   const struct request_part *part, uint64_t number, uint64_t fill_bytes)
{
	/* Placeholders of one request differ from each other. */
	uint64_t random = mixed(number * 64 + (uint64_t)(part - request->parts));

	switch (part->kind) {
	case PART_TEXT:
		memcpy(bytes->bytes + bytes->length, request->text + part->offset, part->length);
		bytes->length += part->length;
		break;
	case PART_SEQ:
		add_format(bytes, "%" PRIu64, number);
		break;
	case PART_RANDOM:
		add_format(bytes, "%016" PRIx64, random);
		break;
	case PART_UUID:
		add_uuid(bytes, random);
		break;
	case PART_FILL:
		add_fill(bytes, number, fill_bytes);
		break;
	case PART_LENGTH:
		add_format(bytes, "%" PRIu64, ebbi_render_body(request, number, fill_bytes));
		break;
	}
}

const struct request_template *ebbi_requests_template(const struct requests *requests, uint64_t number)
{
	return &requests->templates[number % requests->count];
}

int ebbi_requests_render(const struct requests *requests, uint64_t number, uint64_t event_bytes,
			 struct request_bytes *bytes)
{
	const struct request_template *request = ebbi_requests_template(requests, number);
	uint64_t fill_bytes = 0;
	size_t length = 32; /* the digits of PART_LENGTH, and the 0 that vsnprintf writes */

	if (request->fills) {
		uint64_t body = ebbi_render_body(request, number, 0);

		fill_bytes = event_bytes > body ? event_bytes - body : 0;
	}
	for (size_t i = 0; i < request->part_count; i++)
		length += part_length(&request->parts[i], number, fill_bytes);
	bytes->length = 0;
	if (!make_room(bytes, length))
		return -ENOMEM;
	for (size_t i = 0; i < request->part_count; i++)
		add_part_bytes(bytes, request, &request->parts[i], number, fill_bytes);
	return 0;
}
