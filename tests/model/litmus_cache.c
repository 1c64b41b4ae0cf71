#include "litmus_cache.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "platform/membarrier.h"

struct litmus_tally litmus_tally;
bool litmus_quiet;
struct block litmus_blocks[BLOCKS];
struct token litmus_tokens[TOKENS];
struct ebbi_lock litmus_pool_lock = EBBI_LOCK_INIT(EBBI_RANK_BIN);
__thread struct block *volatile litmus_block;
__thread struct token *litmus_hands[HANDS];

static struct token *pool[TOKENS]; /* guarded by litmus_pool_lock */
static uint32_t pool_count;        /* guarded by litmus_pool_lock */
static __thread uint64_t my_random;

void litmus_seed(uint64_t seed)
{
	my_random = seed * 0x2545f4914f6cdd1du + 88172645463325252u;
}

uint32_t litmus_draw(uint32_t below)
{
	my_random ^= my_random << 13;
	my_random ^= my_random >> 7;
	my_random ^= my_random << 17;
	return (uint32_t)(my_random >> 33) % below;
}

void litmus_fault(const char *what)
{
	static const char head[] = "litmus: ", tail[] = "\n";
	char line[96];
	size_t length = strlen(what);

	if (ebbi_fetch_add_relaxed(&litmus_tally.faults, 1) >= 5 || length > 80 || litmus_quiet)
		return;
	memcpy(line, head, sizeof(head) - 1);
	memcpy(line + sizeof(head) - 1, what, length);
	memcpy(line + sizeof(head) - 1 + length, tail, 1);
	if (write(2, line, sizeof(head) + length) < 0)
		return;
}

static void move(struct token *token, enum place from, enum place to, const char *what)
{
	if (ebbi_exchange_relaxed(&token->place, (uint32_t)to) != (uint32_t)from)
		litmus_fault(what);
}

/* --- The pool --------------------------------------------------------------------------------- */

/* The token says where it is before the lock is given up: fork holds it while the child is made. */
static void pool_put(struct token *token, enum place from, const char *what)
{
	ebbi_lock_acquire(&litmus_pool_lock);
	move(token, from, IN_POOL, what);
	if (pool_count < TOKENS)
		pool[pool_count++] = token;
	else
		litmus_fault("more tokens in the pool than there are");
	ebbi_lock_release(&litmus_pool_lock);
}

static struct token *pool_take(void)
{
	struct token *token = NULL;

	ebbi_lock_acquire(&litmus_pool_lock);
	if (pool_count > 0) {
		token = pool[--pool_count];
		move(token, IN_POOL, IN_HAND, "taken from the pool twice");
	}
	ebbi_lock_release(&litmus_pool_lock);
	return token;
}

/* --- Contents: callers have the right to touch them ----------------------------------------------- */

/* The count as it should be; with the barrier taken out it may be anything. */
static uint32_t count_of(const struct block *block)
{
	uint32_t count = block->count;

	if (count <= STACK)
		return count;
	litmus_fault("a count beyond the stack");
	return 0;
}

static void stack_push(struct block *block, struct token *token)
{
	uint32_t count = count_of(block);

	if (count == STACK) {
		pool_put(token, IN_HAND, "freed what was not held");
		return;
	}
	move(token, IN_HAND, IN_STACK, "freed what was not held");
	block->tokens[count] = token;
	block->count = count + 1;
}

static struct token *stack_pop(struct block *block)
{
	uint32_t count = count_of(block);
	struct token *token;

	if (count == 0)
		return pool_take();
	token = block->tokens[count - 1];
	block->count = count - 1;
	move(token, IN_STACK, IN_HAND, "handed out twice");
	return token;
}

static void drain_stack(struct block *block)
{
	uint32_t count = count_of(block);

	for (uint32_t i = 0; i < count; i++)
		pool_put(block->tokens[i], IN_STACK, "drained what was not in the stack");
	block->count = 0;
}

/* into: the block to push on; NULL: into the pool. */
static void take_deferred(struct block *block, struct block *into)
{
	struct token *token = ebbi_handshake_deferred_take(&block->handshake);

	while (token != NULL) {
		struct token *next = token->link;

		if (into != NULL) {
			move(token, QUEUED, IN_HAND, "queued twice");
			stack_push(into, token);
		} else {
			pool_put(token, QUEUED, "queued twice");
		}
		token = next;
	}
}

void litmus_drain(struct block *block)
{
	drain_stack(block);
	take_deferred(block, NULL);
}

/* --- Owners and their handlers -------------------------------------------------------------------- */

enum ebbi_enter litmus_go_inside(struct block *block)
{
	for (;;) {
		uint32_t seen = ebbi_handshake_enter(&block->handshake);
		enum ebbi_enter how;

		if (ebbi_seen_clear(seen))
			return EBBI_ENTERED;
		how = ebbi_handshake_settle(&block->handshake, seen);
		if (how == EBBI_NESTED)
			return how;
		if (how == EBBI_ENTERED) {
			if (seen & EBBI_STOP_DEFERRED)
				take_deferred(block, block);
			if ((seen & EBBI_STOP_REQUEST) && ebbi_handshake_request_take(&block->handshake)) {
				drain_stack(block);
				COUNT(requests);
			}
			return how;
		}
		ebbi_handshake_await(&block->handshake);
	}
}

static struct token *allocate(struct block *block)
{
	struct token *token;

	if (litmus_go_inside(block) == EBBI_NESTED) {
		COUNT(nested);
		return NULL; /* a real one would map memory */
	}
	token = stack_pop(block);
	ebbi_handshake_leave(&block->handshake);
	return token;
}

static void deallocate(struct block *block, struct token *token)
{
	if (litmus_go_inside(block) == EBBI_NESTED) {
		COUNT(deferred);
		move(token, IN_HAND, QUEUED, "queued what was not held");
		ebbi_handshake_defer(&block->handshake, token);
		return;
	}
	stack_push(block, token);
	ebbi_handshake_leave(&block->handshake);
}

/* A handler may run anywhere in it, and does the same with the same hands. */
void litmus_operate(struct block *block, uint32_t hand)
{
	struct token *token = ebbi_exchange_acquire(&litmus_hands[hand], (struct token *)NULL);

	if (token == NULL) {
		token = allocate(block);
		if (token == NULL)
			return;
		token = ebbi_exchange_acqrel(&litmus_hands[hand], token);
		if (token == NULL)
			return; /* a handler did not fill this hand meanwhile: the usual case */
	}
	deallocate(block, token);
}

/* --- Drainers ------------------------------------------------------------------------------------- */

static void request_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		ebbi_handshake_request(&litmus_blocks[i].handshake);
}

void litmus_sweep(struct block *own, bool idle_only)
{
	struct block *candidates[BLOCKS];
	/* Half of the time only one: then little lies between the mark, the barrier and the look at state. */
	int first = litmus_draw(2) == 0 ? 0 : (int)litmus_draw(BLOCKS);
	int end = first == 0 ? BLOCKS : first + 1;
	int count = 0;
	bool ordered;

	if (!ebbi_membarrier_available()) {
		request_all();
		return;
	}
	for (int i = first; i < end; i++) {
		struct ebbi_handshake *handshake = &litmus_blocks[i].handshake;

		if (&litmus_blocks[i] == own || (ebbi_handshake_touch_clear_try(handshake) && idle_only))
			continue;
		if (ebbi_handshake_stop_try(handshake))
			candidates[count++] = &litmus_blocks[i];
	}
	ordered = ebbi_membarrier_barrier() == 0;
	for (int i = 0; i < count; i++) {
		struct block *block = candidates[i];

		if (ordered && !ebbi_handshake_is_busy(&block->handshake)) {
			litmus_drain(block);
			COUNT(drained);
		} else {
			COUNT(put_off);
		}
		ebbi_handshake_resume(&block->handshake);
	}
}

void litmus_drop_hands(void)
{
	for (int i = 0; i < HANDS; i++) {
		struct token *token = ebbi_exchange_acquire(&litmus_hands[i], (struct token *)NULL);

		if (token != NULL)
			pool_put(token, IN_HAND, "held what was not in hand");
	}
}

void litmus_start(void)
{
	for (int i = 0; i < TOKENS; i++)
		pool[pool_count++] = &litmus_tokens[i];
	for (int i = 0; i < BLOCKS; i++)
		ebbi_handshake_init(&litmus_blocks[i].handshake, 0);
}

int litmus_audit(int lost)
{
	static bool seen[TOKENS];
	int places[PLACES] = {0};
	int faults = 0;

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < pool_count; i++) {
		long index = pool[i] - litmus_tokens;

		if (index < 0 || index >= TOKENS || seen[index] || litmus_tokens[index].place != IN_POOL)
			faults++;
		else
			seen[index] = true;
	}
	for (int i = 0; i < TOKENS; i++)
		places[litmus_tokens[i].place]++;
	/* In hand: of threads that a fork left behind. Where a block was lost, stack and queue may hold some. */
	if (places[IN_POOL] != (int)pool_count || (lost == 0 && places[IN_STACK] + places[QUEUED] > 0))
		faults++;
	if (faults != 0)
		fprintf(stderr,
			"litmus: audit: %u in the pool; by their own account %d in the pool, %d in stacks, %d in hand, %d queued\n",
			pool_count, places[IN_POOL], places[IN_STACK], places[IN_HAND], places[QUEUED]);
	return faults;
}
