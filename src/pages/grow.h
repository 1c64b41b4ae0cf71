/*
 * grow.h: asking the kernel for more.
 *
 * Owns: regions and the commit frontier. Never: is called with pages->lock held. Threading: any
 * thread; grow_lock serialises. Errors: -ENOMEM when neither the wanted step nor the bare need can
 * be had.
 */
#ifndef EBBI_PAGES_GROW_H
#define EBBI_PAGES_GROW_H

#include "pages/pages.h"

/* Make the wilderness at least `count` pages long (unless another thread takes from it at once). */
int ebbi_pages_grow(struct ebbi_pages *pages, size_t count);

#endif
