#include "lab/requests.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lab/allocator.h"
#include "lab/render.h"

struct reader {
	const char *at;
	const char *end;
	const char *name;
	const char *host;
	unsigned line;
	char *message;
	/* The template being read, in the wire's form. */
	struct request_bytes head;
	bool has_host;
	bool wants_length;
};

__attribute__((format(printf, 3, 4))) static int fault(const struct reader *reader, unsigned line, const char *format,
						       ...)
{
	char what[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	snprintf(reader->message, LAB_MESSAGE, "%.400s:%u: %s", reader->name, line, what);
	return -EINVAL;
}

/* The next line, without its end. */
static bool next_line(struct reader *reader, const char **ret_line, size_t *ret_length)
{
	const char *end;
	size_t length;

	if (reader->at == reader->end)
		return false;
	end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	length = (size_t)((end ? end : reader->end) - reader->at);
	*ret_line = reader->at;
	reader->at = end ? end + 1 : reader->end;
	reader->line++;
	if (length > 0 && (*ret_line)[length - 1] == '\r')
		length--;
	*ret_length = length;
	return true;
}

static bool is_separator(const char *line, size_t length)
{
	return length == 3 && memcmp(line, "---", 3) == 0;
}

static bool is_token(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("!#$%&'*+-.^_`|~", text[i]))
			return false;
	}
	return length > 0 && !memchr(text, 0, length);
}

static bool has_control(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7f)
			return true;
	}
	return false;
}

/* --- One request ------------------------------------------------------------------------- */

static int read_first(struct reader *reader, const char *line, size_t length, struct request_template *request)
{
	static const char version[] = " HTTP/1.1";
	const char *blank = memchr(line, ' ', length);
	size_t method = blank ? (size_t)(blank - line) : 0;

	if (length > sizeof(version) &&
	    memcmp(line + length - (sizeof(version) - 1), version, sizeof(version) - 1) == 0)
		length -= sizeof(version) - 1;
	if (!is_token(line, method) || method + 1 >= length || line[method + 1] != '/')
		return fault(reader, reader->line,
			     "a request begins with a method and a path, such as GET /index.html");
	if (has_control(line, length) || memchr(line + method + 1, ' ', length - method - 1))
		return fault(reader, reader->line, "a path has no blanks and no control characters: write %%20");
	request->line = reader->line;
	request->to_head = method == 4 && memcmp(line, "HEAD", 4) == 0;
	reader->wants_length = (method == 4 && memcmp(line, "POST", 4) == 0) ||
			       (method == 3 && memcmp(line, "PUT", 3) == 0) ||
			       (method == 5 && memcmp(line, "PATCH", 5) == 0);
	reader->head.length = 0;
	reader->has_host = false;
	if (!ebbi_render_add(&reader->head, line, length) ||
	    !ebbi_render_add(&reader->head, " HTTP/1.1\r\n", sizeof(version) + 1))
		return -ENOMEM;
	return 0;
}

static int read_header(struct reader *reader, const char *line, size_t length)
{
	static const char *const ours[] = {"Content-Length", "Connection", "Transfer-Encoding", "Expect"};
	const char *colon = memchr(line, ':', length);
	size_t name = colon ? (size_t)(colon - line) : 0;

	if (!is_token(line, name))
		return fault(
			reader, reader->line,
			"a header is written Name: value; an empty line stands before a body, --- after a request");
	if (has_control(line, length))
		return fault(reader, reader->line, "a header has a control character");
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strlen(ours[i]) == name && strncasecmp(line, ours[i], name) == 0)
			return fault(reader, reader->line, "%s is written by ebb: leave it out", ours[i]);
	}
	if (name == 4 && strncasecmp(line, "Host", 4) == 0)
		reader->has_host = true;
	return ebbi_render_add(&reader->head, line, length) && ebbi_render_add(&reader->head, "\r\n", 2) ? 0 : -ENOMEM;
}

/* Up to the separator or the end; the last line's end is not part of it. */
static void read_body(struct reader *reader, const char **ret_body, size_t *ret_length)
{
	const char *start = reader->at;
	const char *line;
	size_t length;
	const char *end = reader->end;

	while (next_line(reader, &line, &length)) {
		if (is_separator(line, length)) {
			end = line;
			break;
		}
	}
	if (end > start && end[-1] == '\n')
		end--;
	if (end > start && end[-1] == '\r')
		end--;
	*ret_body = start;
	*ret_length = (size_t)(end - start);
}

static int finish(struct reader *reader, const char *body, size_t length, struct request_template *request)
{
	bool has_body = length > 0 || reader->wants_length;
	char host[320];
	int written;

	if (!reader->has_host) {
		written = snprintf(host, sizeof(host), "Host: %.290s\r\n", reader->host);
		if (!ebbi_render_add(&reader->head, host, (size_t)written))
			return -ENOMEM;
	}
	if (!ebbi_render_compile(request, &reader->head, has_body, body, length))
		return -ENOMEM;
	for (size_t i = 0, fills = 0; i < request->part_count; i++) {
		if (request->parts[i].kind != PART_FILL)
			continue;
		if (i < request->body_part)
			return fault(reader, request->line, "{fill} stands in a body only");
		if (++fills > 1)
			return fault(reader, request->line, "{fill} may stand once in a body");
		request->fills = true;
	}
	return 0;
}

static int read_request(struct reader *reader, const char *line, size_t length, struct request_template *request)
{
	const char *body = "";
	size_t body_length = 0;
	int error = read_first(reader, line, length, request);

	while (error == 0 && next_line(reader, &line, &length)) {
		if (is_separator(line, length))
			break;
		if (length == 0) {
			read_body(reader, &body, &body_length);
			break;
		}
		error = read_header(reader, line, length);
	}
	return error ? error : finish(reader, body, body_length, request);
}

/* --- The file ---------------------------------------------------------------------------- */

static int add_request(struct reader *reader, struct requests *requests, const char *line, size_t length)
{
	struct request_template *longer;

	if (requests->count == REQUESTS_MOST)
		return fault(reader, reader->line, "%u requests at most", REQUESTS_MOST);
	if (requests->count % 16 == 0) {
		longer = realloc(requests->templates, (requests->count + 16) * sizeof(*longer));
		if (!longer)
			return -ENOMEM;
		requests->templates = longer;
	}
	requests->templates[requests->count] = (struct request_template){0};
	return read_request(reader, line, length, &requests->templates[requests->count++]);
}

int ebbi_requests_parse(const char *text, size_t length, const char *name, const char *host,
			struct requests *ret_requests, char *ret_message)
{
	struct reader reader = {.at = text, .end = text + length, .name = name, .host = host, .message = ret_message};
	struct requests requests = {0};
	const char *line;
	size_t line_length;
	int error = 0;

	while (error == 0 && next_line(&reader, &line, &line_length)) {
		if (line_length == 0 || line[0] == '#' || is_separator(line, line_length))
			continue;
		error = add_request(&reader, &requests, line, line_length);
	}
	if (error == 0 && requests.count == 0) {
		snprintf(ret_message, LAB_MESSAGE, "%.400s: there is no request in it: write for example GET /", name);
		error = -EINVAL;
	}
	if (error == -ENOMEM)
		snprintf(ret_message, LAB_MESSAGE, "%.400s: memory is short", name);
	free(reader.head.bytes);
	if (error != 0)
		ebbi_requests_free(&requests);
	else
		*ret_requests = requests;
	return error;
}

static int read_whole(const char *path, struct request_bytes *bytes)
{
	char piece[65536];
	ssize_t got = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int error = 0;

	if (fd < 0)
		return -errno;
	while (error == 0 && (got = read(fd, piece, sizeof(piece))) > 0) {
		if (!ebbi_render_add(bytes, piece, (size_t)got))
			error = -ENOMEM;
		else if (bytes->length > REQUESTS_FILE_MOST)
			error = -EFBIG;
	}
	if (got < 0)
		error = -errno;
	close(fd);
	return error;
}

int ebbi_requests_read(const char *path, const char *host, struct requests *ret_requests, char *ret_message)
{
	struct request_bytes bytes = {0};
	int error = read_whole(path, &bytes);

	if (error == 0)
		error = ebbi_requests_parse(bytes.bytes ? bytes.bytes : "", bytes.length, path, host, ret_requests,
					    ret_message);
	else
		snprintf(ret_message, LAB_MESSAGE, "%.400s: %s", path,
			 error == -EFBIG ? "more than 16 MiB: leave large bodies to {fill}" : strerror(-error));
	free(bytes.bytes);
	return error;
}

int ebbi_requests_usual(const char *path, bool posts, const char *host, struct requests *ret_requests,
			char *ret_message)
{
	char text[2048];
	int length =
		posts ? snprintf(
				text, sizeof(text),
				"POST %.1500s\nContent-Type: application/json\n\n{\"seq\":{seq},\"fill\":\"{fill}\"}\n",
				path)
		      : snprintf(text, sizeof(text), "GET %.1500s\n", path);

	return ebbi_requests_parse(text, (size_t)length, "the URL", host, ret_requests, ret_message);
}

int ebbi_requests_check(const struct requests *requests, uint64_t event_bytes, const char *name, char *ret_message)
{
	bool fills = false;

	if (event_bytes == 0)
		return 0;
	for (size_t i = 0; i < requests->count; i++) {
		const struct request_template *request = &requests->templates[i];
		uint64_t least = ebbi_render_body(request, UINT32_MAX, 0);

		if (!request->fills)
			continue;
		fills = true;
		if (least <= event_bytes)
			continue;
		snprintf(ret_message, LAB_MESSAGE,
			 "%.400s:%u: this body has %" PRIu64 " bytes without its {fill}: %" PRIu64 " cannot be made",
			 name, request->line, least, event_bytes);
		return -EINVAL;
	}
	if (fills)
		return 0;
	snprintf(ret_message, LAB_MESSAGE,
		 "%.400s: no body has a {fill}, so event sizes would change nothing: put one where the size may grow",
		 name);
	return -EINVAL;
}

void ebbi_requests_free(struct requests *requests)
{
	for (size_t i = 0; i < requests->count; i++) {
		free(requests->templates[i].text);
		free(requests->templates[i].parts);
	}
	free(requests->templates);
	*requests = (struct requests){0};
}
