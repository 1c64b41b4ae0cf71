#include "lab/requests.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lab/allocator.h"
#include "observe/procread.h"

#define RANDOM_DIGITS 16
#define SEQ_DIGITS_MOST 20

/* The text that is read, line by line. */
struct reader {
	const char *at, *end;
	const char *name;
	unsigned line;
	char *message;
	struct requests *requests;
	struct request_template *template;
};

__attribute__((format(printf, 2, 3))) static int fault(const struct reader *reader, const char *format, ...)
{
	va_list arguments;
	int length = snprintf(reader->message, LAB_MESSAGE, "%.300s:%u: ", reader->name, reader->line);

	va_start(arguments, format);
	vsnprintf(reader->message + length, LAB_MESSAGE - (size_t)length, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* --- Parts ------------------------------------------------------------------------------- */

static int add_part(const struct reader *reader, enum part_kind kind, const char *text, size_t length)
{
	struct requests *requests = reader->requests;

	if (length == 0 && kind == PART_TEXT)
		return 0;
	if (requests->part_count == REQUEST_PARTS)
		return fault(reader, "too many lines and placeholders: %u at most in all", REQUEST_PARTS);
	requests->parts[requests->part_count++] = (struct request_part){kind, text, length};
	reader->template->count++;
	return 0;
}

/* Text that stays: the caller's is gone when the load begins. `requests->text` was made large enough for all. */
static int add_text(const struct reader *reader, const char *text, size_t length)
{
	struct requests *requests = reader->requests;
	char *copy = requests->text + requests->text_length;

	if (requests->text_length + length > requests->text_room)
		return fault(reader, "too much text");
	memcpy(copy, text, length);
	requests->text_length += length;
	return add_part(reader, PART_TEXT, copy, length);
}

/* Text with placeholders in it. */
static int add_filled(const struct reader *reader, const char *text, size_t length)
{
	static const struct {
		const char *name;
		enum part_kind kind;
	} places[] = {{"{seq}", PART_SEQ}, {"{random}", PART_RANDOM}, {"{pad}", PART_PAD}};
	size_t begin = 0;
	int error = 0;

	for (size_t at = 0; at < length && error == 0; at++) {
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && text[at] == '{'; i++) {
			size_t name_length = strlen(places[i].name);

			if (length - at < name_length || memcmp(text + at, places[i].name, name_length) != 0)
				continue;
			error = add_text(reader, text + begin, at - begin);
			if (error == 0)
				error = add_part(reader, places[i].kind, NULL, 0);
			begin = at + name_length;
			at = begin - 1;
			break;
		}
	}
	return error ? error : add_text(reader, text + begin, length - begin);
}

/* --- Lines ------------------------------------------------------------------------------- */

static bool next_line(struct reader *reader, const char **ret_line, size_t *ret_length)
{
	const char *newline;

	if (reader->at >= reader->end)
		return false;
	newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	*ret_line = reader->at;
	*ret_length = (size_t)((newline ? newline : reader->end) - reader->at);
	if (*ret_length > 0 && (*ret_line)[*ret_length - 1] == '\r')
		--*ret_length;
	reader->at = newline ? newline + 1 : reader->end;
	reader->line++;
	return true;
}

static bool is_separator(const char *line, size_t length)
{
	return length == 3 && memcmp(line, "---", 3) == 0;
}

static bool is_method(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] < 'A' || text[i] > 'Z')
			return false;
	}
	return length > 0 && length <= 16;
}

static bool is_printable(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			return false;
	}
	return true;
}

static int read_request_line(struct reader *reader, const char *line, size_t length)
{
	const char *blank = memchr(line, ' ', length);
	size_t method = blank ? (size_t)(blank - line) : 0;
	int error;

	if (!blank || !is_method(line, method) || method + 1 >= length || blank[1] != '/' ||
	    memchr(blank + 1, ' ', length - method - 1) || !is_printable(line, length))
		return fault(reader, "no request: write METHOD /PATH, such as POST /collect");
	reader->template->is_head = method == 4 && memcmp(line, "HEAD", 4) == 0;
	error = add_filled(reader, line, length);
	return error ? error : add_part(reader, PART_TEXT, " HTTP/1.1\r\n", 11);
}

static bool names(const char *line, size_t length, const char *name)
{
	return length == strlen(name) && strncasecmp(line, name, length) == 0;
}

static int read_header(struct reader *reader, const char *line, size_t length, bool *host)
{
	const char *colon = memchr(line, ':', length);
	size_t name = colon ? (size_t)(colon - line) : 0;
	int error;

	if (name == 0 || memchr(line, ' ', name) || !is_printable(line, length))
		return fault(reader, "no header: write NAME: VALUE, and an empty line before the body");
	if (names(line, name, "content-length") || names(line, name, "transfer-encoding"))
		return fault(reader, "leave %.*s out: the length of the body is added", (int)name, line);
	if (names(line, name, "host"))
		*host = true;
	error = add_filled(reader, line, length);
	return error ? error : add_part(reader, PART_TEXT, "\r\n", 2);
}

/* All lines up to the separator, without the last newline. */
static int read_body(struct reader *reader)
{
	const char *begin = reader->at, *line;
	const char *end = begin;
	size_t length;

	while (next_line(reader, &line, &length)) {
		if (is_separator(line, length))
			break;
		end = line + length;
	}
	reader->template->body_first = reader->requests->part_count;
	reader->template->has_body = end > begin;
	return add_filled(reader, begin, (size_t)(end - begin));
}

/* What of the body changes and what does not. */
static int measure(struct reader *reader)
{
	struct requests *requests = reader->requests;
	struct request_template *template = reader->template;
	size_t head = 0;

	for (size_t i = template->first; i < template->first + template->count; i++) {
		const struct request_part *part = &requests->parts[i];
		size_t fixed = part->kind == PART_TEXT ? part->length : part->kind == PART_RANDOM ? RANDOM_DIGITS : 0;

		if (i < template->body_first) {
			if (part->kind == PART_PAD)
				return fault(reader, "{pad} can stand in a body alone");
			head += fixed ? fixed : SEQ_DIGITS_MOST;
			continue;
		}
		template->body_fixed += fixed;
		template->body_seqs += part->kind == PART_SEQ;
		if (part->kind == PART_PAD && template->has_pad)
			return fault(reader, "{pad} can stand in a body once");
		template->has_pad |= part->kind == PART_PAD;
	}
	if (requests->body_bytes > 0 && template->has_pad &&
	    template->body_fixed + template->body_seqs * SEQ_DIGITS_MOST > requests->body_bytes)
		return fault(reader, "this body has up to %zu bytes without its {pad}: --event-bytes %zu is too little",
			     template->body_fixed + template->body_seqs * SEQ_DIGITS_MOST, requests->body_bytes);
	head += template->body_fixed + template->body_seqs * SEQ_DIGITS_MOST;
	head += template->has_pad ? requests->body_bytes : 0;
	if (head > requests->most_bytes)
		requests->most_bytes = head;
	return 0;
}

/* After the headers: those that are ours, and the body if there is one. */
static int finish_head(struct reader *reader, const char *host, bool has_host, bool body, bool posts)
{
	struct request_template *template = reader->template;
	struct requests *requests = reader->requests;
	size_t length_at = requests->part_count;
	int error = 0;

	if (!has_host) {
		error = add_part(reader, PART_TEXT, "Host: ", 6);
		error = error ? error : add_text(reader, host, strlen(host));
		error = error ? error : add_part(reader, PART_TEXT, "\r\n", 2);
	}
	if ((body || posts) && error == 0) {
		error = add_part(reader, PART_TEXT, "Content-Length: ", 16);
		length_at = requests->part_count;
		error = error ? error : add_part(reader, PART_LENGTH, NULL, 0);
		error = error ? error : add_part(reader, PART_TEXT, "\r\n", 2);
	}
	error = error ? error : add_part(reader, PART_TEXT, "\r\n", 2);
	template->body_first = requests->part_count;
	if (error == 0 && body)
		error = read_body(reader);
	if (error == 0 && posts && !template->has_body)
		requests->parts[length_at] = (struct request_part){PART_TEXT, "0", 1};
	return error;
}

static int read_request(struct reader *reader, const char *line, size_t length, const char *host)
{
	struct requests *requests = reader->requests;
	bool has_host = false, body = false;
	bool posts = line[0] == 'P'; /* POST, PUT, PATCH: servers want to know that nothing comes */
	int error;

	if (requests->count == REQUESTS_MOST)
		return fault(reader, "more than %d requests", REQUESTS_MOST);
	reader->template = &requests->templates[requests->count++];
	*reader->template = (struct request_template){.first = requests->part_count};
	error = read_request_line(reader, line, length);
	while (error == 0 && next_line(reader, &line, &length)) {
		if (is_separator(line, length))
			break;
		if (length == 0) {
			body = true;
			break;
		}
		error = read_header(reader, line, length, &has_host);
	}
	if (error == 0)
		error = finish_head(reader, host, has_host, body, posts || body);
	return error ? error : measure(reader);
}

/* All of them; whether a file can serve what was asked for. */
static int read_all(struct reader *reader, const char *host)
{
	struct requests *requests = reader->requests;
	const char *line;
	size_t length;
	bool padded = false;

	while (next_line(reader, &line, &length)) {
		int error = 0;

		if (length > 0 && line[0] != '#' && !is_separator(line, length))
			error = read_request(reader, line, length, host);
		if (error != 0)
			return error;
	}
	for (size_t i = 0; i < requests->count; i++)
		padded |= requests->templates[i].has_pad;
	if (requests->count == 0)
		return fault(reader, "no request in it: write METHOD /PATH, such as GET /");
	if (requests->body_bytes > 0 && !padded)
		return fault(reader, "--event-bytes needs a {pad} in the body of a request");
	return 0;
}

int ebbi_requests_parse(const char *text, size_t length, const char *name, const char *host, size_t body_bytes,
			struct requests *ret_requests, char *ret_message)
{
	struct reader reader = {
		.at = text, .end = text + length, .name = name, .message = ret_message, .requests = ret_requests};
	int error;

	*ret_requests = (struct requests){.body_bytes = body_bytes};
	ret_requests->text_room = length + REQUESTS_MOST * strlen(host) + 1;
	ret_requests->text = malloc(ret_requests->text_room);
	if (!ret_requests->text)
		return fault(&reader, "out of memory");
	error = read_all(&reader, host);
	if (error != 0)
		ebbi_requests_free(ret_requests);
	return error;
}

int ebbi_requests_load(const char *path, const char *host, size_t body_bytes, struct requests *ret_requests,
		       char *ret_message)
{
	char *bytes = malloc(REQUESTS_FILE_MOST + 1);
	ssize_t length = bytes ? ebbi_read_file(path, bytes, REQUESTS_FILE_MOST + 1) : -ENOMEM;
	int error;

	*ret_requests = (struct requests){0};
	if (length < 0) {
		snprintf(ret_message, LAB_MESSAGE, "--requests %.300s: %s", path, strerror((int)-length));
		error = (int)length;
	} else if (length > (ssize_t)REQUESTS_FILE_MOST) {
		snprintf(ret_message, LAB_MESSAGE, "--requests %.300s: more than %u bytes", path, REQUESTS_FILE_MOST);
		error = -EINVAL;
	} else {
		error = ebbi_requests_parse(bytes, (size_t)length, path, host, body_bytes, ret_requests, ret_message);
	}
	free(bytes);
	return error;
}

int ebbi_requests_usual(const char *path, const char *host, size_t body_bytes, struct requests *ret_requests,
			char *ret_message)
{
	static const char body[] = "{\"seq\":{seq},\"id\":\"{random}\",\"pad\":\"{pad}\"}";
	/* As much as that needs without its pad. */
	bool roomy = body_bytes >= 80;
	char text[4096];
	int length = body_bytes == 0 ? snprintf(text, sizeof(text), "GET %s\n", path)
				     : snprintf(text, sizeof(text), "POST %s\nContent-Type: application/json\n\n%s",
						path, roomy ? body : "{pad}");

	if (length >= (int)sizeof(text)) {
		snprintf(ret_message, LAB_MESSAGE, "the path of the URL is too long");
		*ret_requests = (struct requests){0};
		return -EINVAL;
	}
	return ebbi_requests_parse(text, (size_t)length, "the URL", host, body_bytes, ret_requests, ret_message);
}

void ebbi_requests_free(struct requests *requests)
{
	free(requests->text);
	requests->text = NULL;
	requests->count = 0;
}

/* --- Writing ----------------------------------------------------------------------------- */

static size_t put_decimal(char *bytes, uint64_t value)
{
	char digits[SEQ_DIGITS_MOST];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	for (size_t i = 0; i < count; i++)
		bytes[i] = digits[count - 1 - i];
	return count;
}

/* A number that looks like no other, and is the same for the same request: splitmix64. */
static size_t put_random(char *bytes, uint64_t seq)
{
	uint64_t value = (seq + 1) * 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	value ^= value >> 31;
	for (int i = 0; i < RANDOM_DIGITS; i++)
		bytes[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
	return RANDOM_DIGITS;
}

static size_t put_pad(char *bytes, size_t length)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (size_t at = 0; at < length; at += sizeof(letters) - 1) {
		size_t part = length - at < sizeof(letters) - 1 ? length - at : sizeof(letters) - 1;

		memcpy(bytes + at, letters, part);
	}
	return length;
}

size_t ebbi_requests_write(const struct requests *requests, uint64_t seq, char *bytes, bool *ret_is_head)
{
	const struct request_template *template = &requests->templates[seq % requests->count];
	char digits[SEQ_DIGITS_MOST];
	size_t bare = template->body_fixed + template->body_seqs * put_decimal(digits, seq);
	size_t body = template->has_pad && requests->body_bytes > bare ? requests->body_bytes : bare;
	size_t length = 0;

	for (size_t i = template->first; i < template->first + template->count; i++) {
		const struct request_part *part = &requests->parts[i];

		switch (part->kind) {
		case PART_TEXT:
			memcpy(bytes + length, part->text, part->length);
			length += part->length;
			break;
		case PART_SEQ:
			length += put_decimal(bytes + length, seq);
			break;
		case PART_RANDOM:
			length += put_random(bytes + length, seq);
			break;
		case PART_PAD:
			length += put_pad(bytes + length, body - bare);
			break;
		case PART_LENGTH:
			length += put_decimal(bytes + length, body);
			break;
		}
	}
	*ret_is_head = template->is_head;
	return length;
}
