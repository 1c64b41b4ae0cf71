/* A library whose memory goes to its own account, whoever's code it is that calls malloc for it. */
#include "check.h"

void *library_hold(size_t size);
void *library_hold_aligned(size_t size);
void *library_hold_zeroed(size_t size);
void *library_hold_text(const char *text);
void *library_hold_printed(const char *text);

void *library_hold(size_t size)
{
	return hide(malloc(size)); /* hidden, so that it is no tail call: this library's frame must be on the stack */
}

void *library_hold_aligned(size_t size)
{
	return hide(aligned_alloc(64, size));
}

void *library_hold_zeroed(size_t size)
{
	return hide(calloc(1, size));
}

/* libc allocates. */
void *library_hold_text(const char *text)
{
	return hide(strdup(text));
}

void *library_hold_printed(const char *text)
{
	char *made = NULL;

	CHECK(asprintf(&made, "%s!", text) > 0, "asprintf");
	return hide(made);
}
