/*
 * file.h: what a small file of the kernel's says, in one read. For one that is read line by line: platform/lines.h.
 *
 * Owns: nothing. Never: allocates, touches errno, keeps a descriptor open. Threading: any thread.
 * Errors: false where there is no such file for us, no descriptor left, or nothing in it.
 */
#ifndef EBBI_PLATFORM_FILE_H
#define EBBI_PLATFORM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The file's beginning, at most capacity - 1 bytes, with a final NUL. On failure the text is empty. */
bool ebbi_file_read(const char *path, char *ret_text, size_t capacity);

#endif
