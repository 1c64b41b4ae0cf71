/*
 * litmus_cache.h: what the litmus program protects with the drain handshake.
 *
 * Owns: the tokens, the pool, the control blocks with their stacks, and the operations of an owner, a
 * signal handler and a drainer on them. Never: makes a thread or forks; litmus.c does.
 * Threading: as src/caches/handshake.h says. Errors: counted in litmus_tally.faults and printed.
 * Invariant: each token is in one place, and says in which.
 */
#ifndef TESTS_MODEL_LITMUS_CACHE_H
#define TESTS_MODEL_LITMUS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "caches/handshake.h"

enum { BLOCKS = 16, TOKENS = 256, STACK = 24, HANDS = 8 };

enum place { IN_POOL, IN_STACK, IN_HAND, QUEUED, PLACES };

struct token {
	void *link;     /* of the deferred list; whoever has the token */
	uint32_t place; /* atomic */
};

/* A thread cache: the control block and what it protects. */
struct block {
	struct ebbi_handshake handshake;
	uint32_t count;              /* plain: this is what the handshake is about */
	struct token *tokens[STACK]; /* plain */
	struct block *next_free;     /* guarded by registry */
} __attribute__((aligned(128)));

struct litmus_tally {
	uint64_t operations, drained, put_off, nested, deferred, lives, signals, trims, requests;
	uint64_t forks, adopted, lost, faults;
};

extern struct litmus_tally litmus_tally; /* atomic, relaxed */
extern bool litmus_quiet;                /* count faults, do not print them; set at start */
extern struct block litmus_blocks[BLOCKS];
extern struct token litmus_tokens[TOKENS];
extern struct ebbi_lock litmus_pool_lock; /* fork takes it */

#define COUNT(what) ((void)ebbi_fetch_add_relaxed(&litmus_tally.what, 1))

/* Owner thread and its handlers. */
extern __thread struct block *volatile litmus_block;
extern __thread struct token *litmus_hands[HANDS]; /* atomic: taken and put by exchange */

/* All tokens into the pool; all blocks ready. */
void litmus_start(void);

/* A number below `below`, from the thread's own seed. */
void litmus_seed(uint64_t seed);
uint32_t litmus_draw(uint32_t below);

void litmus_fault(const char *what);

/* The owner, or a handler of its thread: one malloc or one free with that hand. */
void litmus_operate(struct block *block, uint32_t hand);

/* Enter, do what is asked for, try again when stopped. */
enum ebbi_enter litmus_go_inside(struct block *block);

/* Inside, or drainer: the stack and the deferred list into the pool. */
void litmus_drain(struct block *block);

/* One thread's hands into the pool; no handler of it runs any more. */
void litmus_drop_hands(void);

/* As the scavenger (idle_only) or malloc_trim does. own: the caller's block, inside; or NULL. */
void litmus_sweep(struct block *own, bool idle_only);

/*
 * Nobody else runs, and every stack but those of `lost` blocks is drained: is each token where it says,
 * once? The number of faults found.
 */
int litmus_audit(int lost);

#endif
