/*
 * requests.h: what a load sends: templates from a file, and the bytes of one request made of them.
 *
 *	# what a visitor does; the requests take turns
 *	POST /api/send
 *	Content-Type: application/json
 *
 *	{"visitor":"{uuid}","n":{seq},"pad":"{fill}"}
 *	---
 *	GET /stats?t={random}
 *
 * In paths, header values and bodies {seq} is the number of the request, {random} 16 hexadecimal digits, {uuid} a random
 * UUID; {fill}, once in a body, as much text as is missing to the size that is asked for. All else stands for itself. The
 * numbers come from a fixed seed: the same load twice sends the same bytes.
 *
 * Owns: the templates, until ebbi_requests_free. Threading: one thread.
 * Errors: -EINVAL, -ENOMEM or that of the file, with a line that names file and line.
 * Invariant: a rendered request is complete and has its Content-Length when it has a body or is a POST, PUT or PATCH.
 */
#ifndef EBBI_LAB_REQUESTS_H
#define EBBI_LAB_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUESTS_FILE_MOST (16u << 20)
#define REQUESTS_MOST 4096u
#define REQUEST_BODY_MOST (64u << 20)

enum part_kind { PART_TEXT, PART_SEQ, PART_RANDOM, PART_UUID, PART_FILL, PART_LENGTH };

struct request_part {
	enum part_kind kind;
	size_t offset; /* of PART_TEXT, in the template's text */
	size_t length;
};

struct request_template {
	char *text;
	struct request_part *parts;
	size_t part_count;
	size_t body_part; /* the first that is of the body; part_count: no body */
	unsigned line;    /* where it begins in the file */
	bool to_head;
	bool fills;
};

struct requests {
	struct request_template *templates;
	size_t count;
};

/* One request's bytes; the buffer grows and is kept for the next. */
struct request_bytes {
	char *bytes;
	size_t length;
	size_t room;
};

/* `name` is for messages; `host` goes into Host: where the template has none. */
int ebbi_requests_parse(const char *text, size_t length, const char *name, const char *host,
			struct requests *ret_requests, char *ret_message);

int ebbi_requests_read(const char *path, const char *host, struct requests *ret_requests, char *ret_message);

/* Without a file: GET `path`, or with `posts` a POST of JSON to it, of the size that is asked for. */
int ebbi_requests_usual(const char *path, bool posts, const char *host, struct requests *ret_requests,
			char *ret_message);

/* Whether bodies of that size can be made; 0: as the templates have it. */
int ebbi_requests_check(const struct requests *requests, uint64_t event_bytes, const char *name, char *ret_message);

/* The template of that request. */
const struct request_template *ebbi_requests_template(const struct requests *requests, uint64_t number);

/* 0 or -ENOMEM. */
int ebbi_requests_render(const struct requests *requests, uint64_t number, uint64_t event_bytes,
			 struct request_bytes *bytes);

void ebbi_requests_free(struct requests *requests);

#endif
