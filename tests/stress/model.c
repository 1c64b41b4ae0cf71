/*
 * Random operations against a reference: every block is apart from every other, aligned, as large as
 * it says for as long as it lives, and keeps its contents.
 *
 *   model SEED OPERATIONS [THREADS] [LIVE_MIB]
 *
 * Each thread has a reference of its own. Now and then a thread calls malloc_trim or ebb_purge, frees
 * nearly everything, sleeps a moment, or changes its taste in sizes.
 */
#include "stats.h"

#include "shadow.h"

#define MAX_LIVE 20000u

struct model {
	struct rng rng;
	struct shadow shadow;
	uint64_t seed;
	unsigned long operations;
	size_t most_live_bytes;
	unsigned max_bits;
};

static void fill(struct model *model, uint32_t node)
{
	struct shadow_block *block = &model->shadow.block[node];

	pattern_fill((void *)block->address, block->size, block->tag);
}

static void check(struct model *model, uint32_t node)
{
	struct shadow_block *block = &model->shadow.block[node];

	PATTERN_CHECK((void *)block->address, block->size, block->tag);
	CHECK(malloc_usable_size((void *)block->address) == block->usable, "usable size of 0x%lx was %zu and is %zu",
	      block->address, block->usable, malloc_usable_size((void *)block->address));
}

static size_t pick_size(struct model *model)
{
	/* Half of the time a round figure or one beside it: boundaries are where mistakes are. */
	if (rng_below(&model->rng, 4) == 0) {
		size_t round = (size_t)16 << rng_below(&model->rng, model->max_bits - 3);

		return round + rng_below(&model->rng, 5) - 2;
	}
	return rng_size(&model->rng, model->max_bits);
}

static void allocate(struct model *model)
{
	size_t size = pick_size(model);
	size_t alignment = 16;
	void *pointer = NULL;

	switch (rng_below(&model->rng, 10)) {
	case 0:
		pointer = hide(calloc(1, size));
		for (size_t i = 0; i<size; i += size> 4096 ? 509 : 1)
			CHECK(((uint8_t *)pointer)[i] == 0, "calloc of %zu: byte %zu", size, i);
		break;
	case 1:
		alignment = (size_t)16 << rng_below(&model->rng, rng_below(&model->rng, 8) == 0 ? 17 : 9);
		CHECK(posix_memalign(&pointer, alignment, size) == 0, "posix_memalign(%zu, %zu)", alignment, size);
		break;
	case 2:
		alignment = (size_t)8 << rng_below(&model->rng, 10);
		pointer = hide(aligned_alloc(alignment, size));
		break;
	case 3:
		pointer = hide(realloc(NULL, size));
		break;
	default:
		pointer = hide(malloc(size));
	}
	CHECK(pointer != NULL, "allocation of %zu bytes failed", size);
	fill(model, shadow_add(&model->shadow, pointer, size, alignment));
}

static void release(struct model *model)
{
	uint32_t node = shadow_pick(&model->shadow, &model->rng);
	void *pointer = (void *)model->shadow.block[node].address;

	check(model, node);
	shadow_remove(&model->shadow, node);
	free(pointer);
}

static void resize(struct model *model)
{
	uint32_t node = shadow_pick(&model->shadow, &model->rng);
	struct shadow_block old = model->shadow.block[node];
	size_t size = pick_size(model);

	if (rng_below(&model->rng, 3) == 0) /* a little more, a little less */
		size = old.size + rng_below(&model->rng, 64);
	check(model, node);
	shadow_remove(&model->shadow, node);
	void *pointer = hide(realloc((void *)old.address, size));
	CHECK(pointer != NULL, "realloc to %zu bytes failed", size);
	size_t kept = size < old.size ? size : old.size;
	CHECK(pattern_find(pointer, old.size, kept, old.tag) == SIZE_MAX, "realloc from %zu to %zu lost contents",
	      old.size, size);
	fill(model, shadow_add(&model->shadow, pointer, size, 16));
}

static void check_statistics(struct model *model)
{
	struct ebb_snapshot snapshot;

	if (!stats_get(&snapshot))
		return;
	CHECK(snapshot.live_bytes >= model->shadow.live_bytes, "live_bytes %lu, but %zu are live",
	      (unsigned long)snapshot.live_bytes, model->shadow.live_bytes);
	CHECK(snapshot.resident_bytes <= snapshot.mapped_bytes, "resident %lu of mapped %lu",
	      (unsigned long)snapshot.resident_bytes, (unsigned long)snapshot.mapped_bytes);
}

static void rare_event(struct model *model)
{
	switch (rng_below(&model->rng, 8)) {
	case 0:
		malloc_trim(0);
		break;
	case 1:
		check_purge();
		break;
	case 2: /* most of it goes: runs and slabs become whole again */
		for (uint32_t left = model->shadow.count / 8; model->shadow.count > left;)
			release(model);
		break;
	case 3:
		sleep_ms(3);
		break;
	case 4:
		check_statistics(model);
		check_heap();
		break;
	default:
		model->max_bits = 6 + (unsigned)rng_below(&model->rng, 17);
	}
}

static void step(struct model *model)
{
	struct shadow *shadow = &model->shadow;
	unsigned choice = (unsigned)rng_below(&model->rng, 100);

	if (rng_below(&model->rng, 3000) == 0)
		rare_event(model);
	if (shadow->count >= MAX_LIVE - 1 || shadow->live_bytes > model->most_live_bytes)
		release(model);
	else if (shadow->count == 0 || choice < 45)
		allocate(model);
	else if (choice < 60)
		resize(model);
	else
		release(model);
}

static void *run(void *argument)
{
	struct model *model = argument;

	model->rng.state = model->seed * 0x9e3779b97f4a7c15u;
	model->max_bits = 12;
	shadow_init(&model->shadow, MAX_LIVE, model->seed);
	for (unsigned long i = 0; i < model->operations; i++)
		step(model);
	while (model->shadow.count > 0)
		release(model);
	shadow_destroy(&model->shadow);
	return NULL;
}

static unsigned long argument_or(int argc, char **argv, int index, unsigned long otherwise)
{
	return argc > index ? strtoul(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	enum { MOST_THREADS = 16 };
	static struct model model[MOST_THREADS];
	pthread_t thread[MOST_THREADS];
	unsigned long seed = argument_or(argc, argv, 1, 1);
	unsigned long operations = argument_or(argc, argv, 2, 100000);
	unsigned threads = (unsigned)argument_or(argc, argv, 3, 1);
	size_t live_mib = argument_or(argc, argv, 4, 48);
	struct ebb_snapshot snapshot;

	check_allocator();
	CHECK(threads >= 1 && threads <= MOST_THREADS, "%u threads", threads);
	for (unsigned i = 0; i < threads; i++) {
		model[i].seed = seed * 100 + i;
		model[i].operations = operations;
		model[i].most_live_bytes = (live_mib << 20) / threads;
		if (threads > 1)
			thread[i] = check_thread(run, &model[i]);
		else
			run(&model[i]);
	}
	for (unsigned i = 0; threads > 1 && i < threads; i++)
		check_join(thread[i]);
	check_purge();
	check_heap();
	if (stats_get(&snapshot))
		CHECK(snapshot.live_bytes < 256 << 10, "live_bytes is %lu when all was freed",
		      (unsigned long)snapshot.live_bytes);
	return 0;
}
