/*
 * churn.h: a loop that allocates, fills, checks, resizes and frees, for background noise with
 * contents that tell when something went wrong.
 *
 * Owns: struct churn, one per thread. Never: uses anything of another thread.
 * Threading: one owner per struct. Errors: CHECK. Invariants: block[i] holds size[i] bytes of the
 * pattern with tag[i], or is NULL. With may_fail, refused allocations are counted, not fatal.
 */
#ifndef EBB_TESTS_CHURN_H
#define EBB_TESTS_CHURN_H

#include "check.h"

#define CHURN_BLOCKS 256

struct churn {
	struct rng rng;
	unsigned max_bits;
	bool may_fail;
	unsigned long refused;
	uint8_t *block[CHURN_BLOCKS];
	size_t size[CHURN_BLOCKS];
	uint64_t tag[CHURN_BLOCKS];
};

static inline void churn_init(struct churn *churn, uint64_t seed, unsigned max_bits)
{
	memset(churn, 0, sizeof(*churn));
	churn->rng.state = seed * 0x2545f4914f6cdd1du;
	churn->max_bits = max_bits;
}

static inline void *churn_allocate(struct churn *churn, size_t size)
{
	void *block = NULL;

	switch (rng_below(&churn->rng, 8)) {
	case 0:
		block = hide(calloc(1, size));
		if (block != NULL)
			CHECK(((uint8_t *)block)[size - 1] == 0 && ((uint8_t *)block)[size / 2] == 0,
			      "calloc of %zu bytes is not zero", size);
		break;
	case 1:
		if (posix_memalign(&block, (size_t)8 << rng_below(&churn->rng, 8), size) != 0)
			block = NULL;
		break;
	default:
		block = hide(malloc(size));
	}
	if (block == NULL) {
		CHECK(churn->may_fail, "allocation of %zu bytes failed", size);
		churn->refused++;
	}
	return block;
}

static inline void churn_check(struct churn *churn, unsigned at)
{
	if (churn->block[at] != NULL)
		PATTERN_CHECK(churn->block[at], churn->size[at], churn->tag[at]);
}

static inline void churn_resize(struct churn *churn, unsigned at, size_t size)
{
	uint8_t *block = hide(realloc(churn->block[at], size));

	if (block == NULL) {
		CHECK(churn->may_fail, "realloc to %zu bytes failed", size);
		churn->refused++;
		return; /* the old block is still there, whole */
	}
	size_t kept = size < churn->size[at] ? size : churn->size[at];
	CHECK(pattern_find(block, churn->size[at], kept, churn->tag[at]) == SIZE_MAX,
	      "realloc from %zu to %zu lost contents", churn->size[at], size);
	churn->block[at] = block;
	churn->size[at] = size;
	pattern_fill(block, size, churn->tag[at]);
}

static inline void churn_step(struct churn *churn)
{
	unsigned at = (unsigned)rng_below(&churn->rng, CHURN_BLOCKS);
	size_t size = rng_size(&churn->rng, churn->max_bits);

	churn_check(churn, at);
	if (churn->block[at] != NULL && rng_below(&churn->rng, 4) == 0) {
		churn_resize(churn, at, size);
		return;
	}
	free(churn->block[at]);
	churn->block[at] = NULL;
	if (rng_below(&churn->rng, 4) == 0)
		return;
	churn->block[at] = (uint8_t *)churn_allocate(churn, size);
	if (churn->block[at] == NULL)
		return;
	churn->size[at] = size;
	churn->tag[at] = rng_next(&churn->rng);
	pattern_fill(churn->block[at], size, churn->tag[at]);
}

static inline void churn_steps(struct churn *churn, unsigned long steps)
{
	while (steps-- > 0)
		churn_step(churn);
}

static inline void churn_free_all(struct churn *churn)
{
	for (unsigned i = 0; i < CHURN_BLOCKS; i++) {
		churn_check(churn, i);
		free(churn->block[i]);
		churn->block[i] = NULL;
	}
}

/* --- The same as a background thread that runs until it is told to stop ------------------- */

struct churn_thread {
	pthread_t thread;
	uint64_t seed;
	unsigned max_bits;
	bool may_fail;
	int stop; /* atomic, relaxed: set by churn_stop */
};

static inline void *churn_run(void *argument)
{
	struct churn_thread *self = (struct churn_thread *)argument;
	struct churn churn;

	churn_init(&churn, self->seed, self->max_bits);
	churn.may_fail = self->may_fail;
	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED))
		churn_steps(&churn, 64);
	churn_free_all(&churn);
	return NULL;
}

static inline void churn_start(struct churn_thread *self, uint64_t seed, unsigned max_bits)
{
	self->seed = seed;
	self->max_bits = max_bits;
	self->stop = 0;
	self->thread = check_thread(churn_run, self);
}

static inline void churn_stop(struct churn_thread *self)
{
	__atomic_store_n(&self->stop, 1, __ATOMIC_RELAXED);
	check_join(self->thread);
}

#endif
