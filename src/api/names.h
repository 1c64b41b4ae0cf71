/*
 * names.h: which functions are seen from outside.
 *
 * Owns: EBBI_EXPORT. With exports.map it is the whole of libebb's surface. Never: declares anything.
 */
#ifndef EBBI_API_NAMES_H
#define EBBI_API_NAMES_H

#define EBBI_EXPORT __attribute__((visibility("default")))

/* C23's, which glibc 2.36 does not declare yet. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t align_bytes, size_t bytes);

#endif
