/*
 * Stacks that are not what an allocator may expect.
 *   stacks overflow    a handler on an alternative stack allocates after the real one ran out
 *   stacks coroutines  contexts switch stacks between allocations, and move between threads
 */
#include "churn.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>

static sigjmp_buf back;
static int overflows;

static void on_overflow(int number)
{
	void *block[50];

	(void)number;
	for (unsigned i = 0; i < 50; i++) {
		block[i] = hide(malloc(1 + i * 700));
		CHECK(block[i] != NULL, "malloc on the alternative stack");
		memset(block[i], 1, 1 + i * 700);
	}
	for (unsigned i = 0; i < 50; i++)
		free(block[i]);
	overflows++;
	siglongjmp(back, 1);
}

/* Never inside malloc when it overflows: frames of 4 KiB leave the guard page to this function. */
static size_t recurse(size_t depth)
{
	volatile uint8_t frame[16384];

	frame[0] = frame[sizeof(frame) - 1] = (uint8_t)depth;
	return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

static void test_overflow(void)
{
	struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_size = 64 << 10};

	stack.ss_sp = malloc(stack.ss_size);
	CHECK(sigaltstack(&stack, NULL) == 0, "sigaltstack");
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
	struct rlimit limit = {1 << 20, 1 << 20};
	setrlimit(RLIMIT_STACK, &limit);
	for (volatile int round = 0; round < 20; round++) {
		if (sigsetjmp(back, 1) == 0) {
			recurse(hide_size(1 << 20));
			CHECK(false, "the stack never ended");
		}
		free(hide(malloc(3000)));
	}
	CHECK(overflows == 20, "%d overflows", overflows);
	stack.ss_flags = SS_DISABLE;
	void *memory = stack.ss_sp;
	CHECK(sigaltstack(&stack, NULL) == 0, "sigaltstack off");
	free(memory);
}

#ifdef __GLIBC__

#define COROUTINES 40
#define STACK_BYTES ((size_t)64 << 10)

struct coroutine {
	ucontext_t context;
	ucontext_t *resumer;
	struct churn churn;
	void *stack;
	bool done;
};

static void coroutine_body(unsigned high, unsigned low)
{
	struct coroutine *self = (struct coroutine *)((uintptr_t)high << 32 | low);

	for (int i = 0; i < 50; i++) {
		churn_steps(&self->churn, 100);
		swapcontext(&self->context, self->resumer);
	}
	churn_free_all(&self->churn);
	self->done = true;
	swapcontext(&self->context, self->resumer);
}

static struct coroutine *coroutine_new(uint64_t seed)
{
	struct coroutine *self = hide(calloc(1, sizeof(*self)));

	churn_init(&self->churn, seed, 14);
	self->stack = hide(aligned_alloc(4096, STACK_BYTES));
	CHECK(getcontext(&self->context) == 0, "getcontext");
	self->context.uc_stack.ss_sp = self->stack;
	self->context.uc_stack.ss_size = STACK_BYTES;
	uintptr_t address = (uintptr_t)self;
	makecontext(&self->context, (void (*)(void))(uintptr_t)coroutine_body, 2, (unsigned)(address >> 32),
		    (unsigned)address);
	return self;
}

static struct coroutine *coroutine[COROUTINES];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Two threads take turns in resuming the coroutines, so that each wakes on either thread. */
static void *resume_all(void *argument)
{
	struct rng rng = {(uintptr_t)argument};
	ucontext_t here;

	for (unsigned round = 0; round < 6000; round++) {
		pthread_mutex_lock(&turn);
		struct coroutine *next = coroutine[rng_below(&rng, COROUTINES)];
		if (!next->done) {
			next->resumer = &here;
			swapcontext(&here, &next->context);
		}
		pthread_mutex_unlock(&turn);
		free(hide(malloc(1 + round % 500)));
	}
	return NULL;
}

static void test_coroutines(void)
{
	pthread_t thread[2];

	for (unsigned i = 0; i < COROUTINES; i++)
		coroutine[i] = coroutine_new(i + 1);
	for (uintptr_t i = 0; i < 2; i++)
		thread[i] = check_thread(resume_all, (void *)(i + 1));
	for (unsigned i = 0; i < 2; i++)
		check_join(thread[i]);
	unsigned done = 0;
	for (unsigned i = 0; i < COROUTINES; i++) {
		done += coroutine[i]->done;
		free(coroutine[i]->stack);
		free(coroutine[i]);
	}
	CHECK(done == COROUTINES, "%u of %d coroutines ended", done, COROUTINES);
}

#else /* musl has no makecontext */

static void test_coroutines(void)
{
	CHECK(false, "this C library has no coroutines");
}

#endif

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	check_allocator();
	if (strcmp(mode, "overflow") == 0)
		test_overflow();
	else if (strcmp(mode, "coroutines") == 0)
		test_coroutines();
	else
		CHECK(false, "unknown mode '%s'", mode);
	return 0;
}
