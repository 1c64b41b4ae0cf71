/*
 * object.h: an object that knows its size, for programs whose tables hold nothing but pointers.
 *
 * Owns: making one of a picked size, stamped, and freeing it after its stamp was checked. Never: counts, locks.
 * Threading: any; an object is freed by one thread. Errors: a wrong stamp ends the program.
 */
#ifndef BENCH_OBJECT_H
#define BENCH_OBJECT_H

#include "bench.h"

struct object {
	uint32_t tag, size;
};

static inline struct object *object_new(const struct sizes *sizes, struct rng *r)
{
	uint32_t size = sizes_pick(sizes, r);
	struct object *o = stamp(malloc(size), size, size ^ 0x5a5a5au);

	o->size = size;
	return o;
}

static inline void object_free(struct object *o)
{
	if (o == NULL)
		return;
	stamp_check(o, o->size, o->size ^ 0x5a5a5au);
	free(o);
}

#endif
