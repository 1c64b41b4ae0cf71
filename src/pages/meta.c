#include "pages/meta.h"

#include <string.h>

#define BLOCK_CHUNK_BYTES ((size_t)256 << 10)
#define AREA_CHUNK_BYTES ((size_t)1 << 20)

void ebbi_meta_init(struct ebbi_meta *meta, const struct ebbi_vm *vm, size_t page_bytes)
{
	meta->vm = vm;
	meta->page_bytes = page_bytes;
	ebbi_lock_init(&meta->lock, EBBI_RANK_META);
}

/* Map a chunk of `bytes` between two inaccessible pages. */
static int chunk_map(struct ebbi_meta *meta, size_t bytes, uintptr_t *ret_base)
{
	void *base;
	int error = meta->vm->reserve(bytes + 2 * meta->page_bytes, meta->page_bytes, &base);

	if (error != 0)
		return error;
	error = meta->vm->commit((char *)base + meta->page_bytes, bytes);
	if (error != 0) {
		(void)meta->vm->unmap(base, bytes + 2 * meta->page_bytes);
		return error;
	}
	*ret_base = (uintptr_t)base + meta->page_bytes;
	return 0;
}

static void *bump_locked(struct ebbi_meta_chunk *chunk, size_t bytes)
{
	void *block;

	if (chunk->end - chunk->next < bytes)
		return NULL;
	block = (void *)chunk->next;
	chunk->next += bytes;
	return block;
}

/*
 * From `chunk`, which is replaced by a new one when it is used up. Two threads that both find it
 * used up each map one; the rest of the smaller is lost, which happens once in many megabytes.
 */
static void *bump(struct ebbi_meta *meta, struct ebbi_meta_chunk *chunk, size_t bytes, size_t chunk_bytes)
{
	uintptr_t base;
	void *block;

	ebbi_lock_acquire(&meta->lock);
	block = bump_locked(chunk, bytes);
	ebbi_lock_release(&meta->lock);
	if (block != NULL || chunk_map(meta, chunk_bytes, &base) != 0)
		return block;
	ebbi_lock_acquire(&meta->lock);
	chunk->next = base;
	chunk->end = base + chunk_bytes;
	meta->mapped_bytes += chunk_bytes;
	block = bump_locked(chunk, bytes);
	ebbi_lock_release(&meta->lock);
	return block;
}

static void *take_free(struct ebbi_meta *meta, size_t bytes)
{
	void **list = &meta->free[bytes / EBBI_META_UNIT - 1];
	void *block;

	ebbi_lock_acquire(&meta->lock);
	meta->used_bytes += bytes;
	block = *list;
	if (block != NULL)
		*list = *(void **)block;
	ebbi_lock_release(&meta->lock);
	return block;
}

void *ebbi_meta_alloc(struct ebbi_meta *meta, size_t bytes)
{
	size_t rounded = ebbi_round_up(bytes, EBBI_META_UNIT);
	void *block = take_free(meta, rounded);

	if (block != NULL)
		return memset(block, 0, rounded);
	block = bump(meta, &meta->blocks, rounded, BLOCK_CHUNK_BYTES);
	if (block == NULL) {
		ebbi_lock_acquire(&meta->lock);
		meta->used_bytes -= rounded;
		ebbi_lock_release(&meta->lock);
	}
	return block;
}

void ebbi_meta_free(struct ebbi_meta *meta, void *block, size_t bytes)
{
	size_t rounded = ebbi_round_up(bytes, EBBI_META_UNIT);
	void **list = &meta->free[rounded / EBBI_META_UNIT - 1];

	ebbi_lock_acquire(&meta->lock);
	meta->used_bytes -= rounded;
	*(void **)block = *list;
	*list = block;
	ebbi_lock_release(&meta->lock);
}

void *ebbi_meta_area(struct ebbi_meta *meta, size_t bytes)
{
	return bump(meta, &meta->areas, ebbi_round_up(bytes, meta->page_bytes), AREA_CHUNK_BYTES);
}
