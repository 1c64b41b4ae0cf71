#include "shadow.h"

#include <sys/mman.h>

static void *map_bytes(size_t bytes)
{
	void *range = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(range != MAP_FAILED, "mmap of %zu bytes", bytes);
	return range;
}

void shadow_init(struct shadow *shadow, uint32_t capacity, uint64_t seed)
{
	memset(shadow, 0, sizeof(*shadow));
	shadow->capacity = capacity;
	shadow->rng.state = seed;
	shadow->block = map_bytes((capacity + 1) * sizeof(*shadow->block));
	shadow->live = map_bytes(capacity * sizeof(*shadow->live));
	/* live[count..] holds the unused nodes. */
	for (uint32_t i = 0; i < capacity; i++)
		shadow->live[i] = i + 1;
}

void shadow_destroy(struct shadow *shadow)
{
	munmap(shadow->block, (shadow->capacity + 1) * sizeof(*shadow->block));
	munmap(shadow->live, shadow->capacity * sizeof(*shadow->live));
}

/* Splits the tree at `root` into addresses below `address` and the rest. */
static void split(struct shadow *shadow, uint32_t root, uintptr_t address, uint32_t *ret_below, uint32_t *ret_rest)
{
	struct shadow_block *block = shadow->block;

	while (root != 0) {
		if (block[root].address < address) {
			*ret_below = root;
			ret_below = &block[root].right;
			root = block[root].right;
		} else {
			*ret_rest = root;
			ret_rest = &block[root].left;
			root = block[root].left;
		}
	}
	*ret_below = 0;
	*ret_rest = 0;
}

static uint32_t join(struct shadow *shadow, uint32_t below, uint32_t rest)
{
	struct shadow_block *block = shadow->block;
	uint32_t root = 0;
	uint32_t *link = &root;

	while (below != 0 && rest != 0) {
		if (block[below].priority > block[rest].priority) {
			*link = below;
			link = &block[below].right;
			below = block[below].right;
		} else {
			*link = rest;
			link = &block[rest].left;
			rest = block[rest].left;
		}
	}
	*link = below != 0 ? below : rest;
	return root;
}

static void check_apart(const struct shadow *shadow, uint32_t below, uint32_t rest, const struct shadow_block *fresh)
{
	const struct shadow_block *block = shadow->block;

	while (below != 0 && block[below].right != 0)
		below = block[below].right;
	while (rest != 0 && block[rest].left != 0)
		rest = block[rest].left;
	if (below != 0)
		CHECK(block[below].address + block[below].usable <= fresh->address,
		      "0x%lx of %zu bytes lies in the live block 0x%lx of %zu bytes", fresh->address, fresh->usable,
		      block[below].address, block[below].usable);
	if (rest != 0)
		CHECK(fresh->address + fresh->usable <= block[rest].address,
		      "0x%lx of %zu bytes reaches into the live block 0x%lx of %zu bytes", fresh->address,
		      fresh->usable, block[rest].address, block[rest].usable);
}

uint32_t shadow_add(struct shadow *shadow, void *pointer, size_t size, size_t alignment)
{
	uint32_t below;
	uint32_t rest;

	CHECK(shadow->count < shadow->capacity, "the shadow is full");
	uint32_t node = shadow->live[shadow->count];
	struct shadow_block *fresh = &shadow->block[node];
	fresh->address = (uintptr_t)pointer;
	fresh->usable = malloc_usable_size(pointer);
	fresh->size = size;
	fresh->alignment = alignment;
	fresh->tag = rng_next(&shadow->rng);
	fresh->priority = rng_next(&shadow->rng);
	fresh->left = fresh->right = 0;
	fresh->live_at = shadow->count++;
	CHECK(fresh->usable >= size, "usable %zu of %zu", fresh->usable, size);
	CHECK((fresh->address & (alignment - 1)) == 0, "0x%lx is not aligned to %zu", fresh->address, alignment);
	split(shadow, shadow->root, fresh->address, &below, &rest);
	check_apart(shadow, below, rest, fresh);
	shadow->root = join(shadow, join(shadow, below, node), rest);
	shadow->live_bytes += fresh->usable;
	return node;
}

void shadow_remove(struct shadow *shadow, uint32_t node)
{
	struct shadow_block *block = shadow->block;
	uint32_t *link = &shadow->root;

	while (*link != node) {
		CHECK(*link != 0, "0x%lx is not in the tree", block[node].address);
		link = block[*link].address < block[node].address ? &block[*link].right : &block[*link].left;
	}
	*link = join(shadow, block[node].left, block[node].right);
	shadow->live_bytes -= block[node].usable;
	uint32_t last = shadow->live[--shadow->count];
	shadow->live[block[node].live_at] = last;
	block[last].live_at = block[node].live_at;
	shadow->live[shadow->count] = node;
}

uint32_t shadow_pick(struct shadow *shadow, struct rng *rng)
{
	CHECK(shadow->count > 0, "nothing is live");
	return shadow->live[rng_below(rng, shadow->count)];
}
