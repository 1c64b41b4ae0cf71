/*
 * render.h: from a request's text with placeholders to its bytes; the inside of requests.h.
 *
 * Owns: nothing; buffers are the caller's. Pure but for that: a request's bytes follow from its number.
 * Threading: one thread. Errors: false when memory is short.
 */
#ifndef EBBI_LAB_RENDER_H
#define EBBI_LAB_RENDER_H

#include "lab/requests.h"

bool ebbi_render_add(struct request_bytes *bytes, const char *text, size_t length);

/* Splits head (its lines, without the empty one) and body at their placeholders. */
bool ebbi_render_compile(struct request_template *request, const struct request_bytes *head, bool has_body,
			 const char *body, size_t body_length);

/* Bytes of the body, with so much of them for the fill. */
uint64_t ebbi_render_body(const struct request_template *request, uint64_t number, uint64_t fill_bytes);

#endif
