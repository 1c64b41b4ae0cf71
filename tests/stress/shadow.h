/*
 * shadow.h: what a test believes about the live blocks: a reference that the allocator is held against.
 *
 * Owns: a table of blocks and a treap over their addresses, in a mapping of its own (never malloc).
 * Never: touches a block's contents. Threading: one owner. Errors: CHECK when a new block overlaps
 * a live one, or when the table is full. Invariants: in-order addresses ascend and ranges are
 * disjoint; live[0..count) are the nodes in use.
 */
#ifndef EBB_TESTS_SHADOW_H
#define EBB_TESTS_SHADOW_H

#include "check.h"

struct shadow_block {
	uintptr_t address;
	size_t usable; /* bytes that belong to the block */
	size_t size;   /* bytes asked for */
	size_t alignment;
	uint64_t tag;
	uint64_t priority;
	uint32_t left; /* node numbers; 0 is none */
	uint32_t right;
	uint32_t live_at; /* position in live[] */
};

struct shadow {
	struct shadow_block *block; /* [0] is unused */
	uint32_t *live;
	uint32_t count;
	uint32_t capacity;
	uint32_t root;
	size_t live_bytes; /* sum of usable */
	struct rng rng;
};

void shadow_init(struct shadow *shadow, uint32_t capacity, uint64_t seed);
void shadow_destroy(struct shadow *shadow);
/* The new node's number. The block must lie apart from every live one. */
uint32_t shadow_add(struct shadow *shadow, void *pointer, size_t size, size_t alignment);
void shadow_remove(struct shadow *shadow, uint32_t node);
/* A random live block's node; there must be one. */
uint32_t shadow_pick(struct shadow *shadow, struct rng *rng);

#endif
