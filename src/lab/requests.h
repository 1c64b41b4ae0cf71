/*
 * requests.h: the requests a load sends: read from a file, or one of its own; written out one by one.
 *
 * Owns: the text of the templates, until ebbi_requests_free. The file (docs/requests.md):
 *
 *	# a comment, before a request
 *	POST /collect?n={seq}
 *	Content-Type: application/json
 *
 *	{"id":"{random}","pad":"{pad}"}
 *	---
 *	GET /health
 *
 * Requests are sent in turn. {seq} is the number of the request, {random} 16 hexadecimal digits, {pad} as many letters
 * as give the body the size that was asked for; other braces stand for themselves. Host and Content-Length are added.
 * Never: sends anything.
 * Threading: one thread. Errors: -EINVAL, or that of the file, with one line that names file, line and remedy.
 * Invariant: what is written for request i depends on i alone, and is never longer than `most_bytes`.
 */
#ifndef EBBI_LAB_REQUESTS_H
#define EBBI_LAB_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUESTS_MOST 64
#define REQUEST_PARTS 512
#define REQUESTS_FILE_MOST (1u << 20)
#define REQUEST_BODY_MOST (16u << 20)

enum part_kind { PART_TEXT, PART_SEQ, PART_RANDOM, PART_PAD, PART_LENGTH };

struct request_part {
	enum part_kind kind;
	const char *text; /* of PART_TEXT; in requests.text or a constant */
	size_t length;
};

struct request_template {
	size_t first, count; /* its parts */
	size_t body_first;   /* those from here on are the body */
	size_t body_fixed;   /* bytes of it that never change: all but {seq} and {pad} */
	size_t body_seqs;
	bool has_body;
	bool has_pad;
	bool is_head;
};

struct requests {
	size_t count;
	struct request_template templates[REQUESTS_MOST];
	size_t part_count;
	struct request_part parts[REQUEST_PARTS];
	size_t body_bytes; /* what {pad} fills bodies up to; 0: not asked */
	size_t most_bytes;
	char *text;
	size_t text_length, text_room;
};

/* `host`: for the Host header. `name` names the text in messages. */
int ebbi_requests_parse(const char *text, size_t length, const char *name, const char *host, size_t body_bytes,
			struct requests *ret_requests, char *ret_message);
int ebbi_requests_load(const char *path, const char *host, size_t body_bytes, struct requests *ret_requests,
		       char *ret_message);
/* Without a file: a GET of `path`, or with body_bytes a POST of so many bytes of JSON. */
int ebbi_requests_usual(const char *path, const char *host, size_t body_bytes, struct requests *ret_requests,
			char *ret_message);
void ebbi_requests_free(struct requests *requests);

/* Request number `seq` into `bytes`, which has room for most_bytes; its length. */
size_t ebbi_requests_write(const struct requests *requests, uint64_t seq, char *bytes, bool *ret_is_head);

#endif
