/*
 * retained.h: freed mappings that are kept for reuse, for the files of this layer.
 *
 * Owns: struct ebbi_large's list of them: which serves, what is cut off, what neighbours unite. Never: calls the kernel.
 * Threading: any thread; takes the lock of struct ebbi_large. Errors: false.
 */
#ifndef EBBI_SLABS_RETAINED_H
#define EBBI_SLABS_RETAINED_H

#include "slabs/large.h"

/*
 * The smallest retained mapping that serves, or the first part of it; where all are too small, the largest if
 * it has `least` pages, for the caller to grow. It leaves the list.
 */
bool ebbi_retained_take(struct ebbi_large *large, size_t pages, size_t least, size_t align_bytes,
			struct ebbi_retained *ret_mapping);

/* Take `pages` at `base` out of the retained mapping that begins there; false when there is none. */
bool ebbi_retained_take_at(struct ebbi_large *large, uintptr_t base, size_t pages);

/* Keep a mapping for later, or as much of its beginning as there is room for. Returns how many pages. */
size_t ebbi_retained_put(struct ebbi_large *large, uintptr_t base, size_t pages);

#endif
