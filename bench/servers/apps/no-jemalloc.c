/*
 * An empty libjemalloc.so.2: servers that link the library are then served by whatever else is there. They ask
 * these functions of it for statistics and settings; "no such thing" is an answer that they know.
 */
#include <errno.h>
#include <stddef.h>

int mallctl(const char *name, void *old_value, size_t *old_bytes, void *new_value, size_t new_bytes);
size_t nallocx(size_t bytes, int flags);
void malloc_stats_print(void (*write)(void *, const char *), void *context, const char *options);

int mallctl(const char *name, void *old_value, size_t *old_bytes, void *new_value, size_t new_bytes)
{
	(void)name;
	(void)old_value;
	(void)old_bytes;
	(void)new_value;
	(void)new_bytes;
	return ENOENT;
}

void malloc_stats_print(void (*write)(void *, const char *), void *context, const char *options)
{
	(void)write;
	(void)context;
	(void)options;
}

/* The room that a block of `bytes` would have: so much at least. */
size_t nallocx(size_t bytes, int flags)
{
	(void)flags;
	return bytes;
}
