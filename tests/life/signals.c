/*
 * Signal handlers that allocate and free while they interrupt malloc and free. POSIX does not ask
 * for this; programs do it. Blocks cross between handlers and the threads they interrupt.
 *   signals timer    a timer, some 100 us after it was set; it is set when the last signal is done, so
 *                    that a machine on which handlers take longer makes progress all the same
 *   signals kill     pthread_kill at three threads
 *   signals nested   the handler is interrupted by itself
 *   signals large    blocks of large sizes
 *   signals fork     the handler forks; the child allocates
 */
#include "churn.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#define MAILBOXES 64
#define MAX_DEPTH 4

struct letter {
	size_t size;
	uint64_t tag;
	uint8_t bytes[];
};

/* Exchanged atomically (acquire and release): who takes a letter out owns it. */
static struct letter *mailbox[MAILBOXES];
static unsigned long handled;
static unsigned max_bits = 12;
static _Thread_local unsigned depth;
static _Thread_local uint64_t handler_seed;

static struct letter *letter_new(struct rng *rng)
{
	size_t size = rng_size(rng, max_bits);
	struct letter *letter = hide(malloc(sizeof(*letter) + size));

	CHECK(letter != NULL, "malloc");
	letter->size = size;
	letter->tag = rng_next(rng);
	pattern_fill(letter->bytes, size, letter->tag);
	return letter;
}

static void letter_free(struct letter *letter)
{
	if (letter == NULL)
		return;
	PATTERN_CHECK(letter->bytes, letter->size, letter->tag);
	free(letter);
}

static struct letter *exchange(struct rng *rng, struct letter *letter)
{
	return __atomic_exchange_n(&mailbox[rng_below(rng, MAILBOXES)], letter, __ATOMIC_ACQ_REL);
}

static void arm(uint64_t random)
{
	struct itimerval once = {{0, 0}, {0, (suseconds_t)(20 + random % 100)}};

	CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0, "setitimer");
}

static bool forking;

/* In a handler that interrupted the allocator, perhaps: the child finds it as it is. */
static void fork_in_handler(struct rng *rng)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0, "fork in a handler");
	if (child == 0) {
		forking = false;
		for (unsigned i = 0; i < 100; i++)
			letter_free(letter_new(rng));
		_exit(0);
	}
	while (waitpid(child, &status, 0) != child)
		CHECK(errno == EINTR, "waitpid");
	CHECK(status == 0, "child: 0x%x", (unsigned)status);
}

/* Each signal by timer sets the next one: at the end, or at once where handlers shall nest. */
static volatile bool timed;
static volatile bool nesting;

static void handler(int number)
{
	int error = errno;
	struct rng rng = {(handler_seed += 0x1234567u) + (uintptr_t)&error};

	(void)number;
	if (depth < MAX_DEPTH) {
		depth++;
		if (nesting && depth < MAX_DEPTH)
			arm(rng_next(&rng));
		letter_free(exchange(&rng, letter_new(&rng)));
		struct letter *mine[5];
		for (int i = 0; i < 5; i++)
			mine[i] = letter_new(&rng);
		for (int i = 0; i < 5; i++)
			letter_free(mine[i]);
		uint8_t *grown = hide(realloc(letter_new(&rng), 3000));
		CHECK(grown != NULL, "realloc in a handler");
		free(grown);
		if (forking)
			fork_in_handler(&rng);
		depth--;
	}
	if (timed && depth == 0)
		arm(rng_next(&rng) + 100);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	errno = error;
}

static void install(int number, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};

	sigemptyset(&action.sa_mask);
	CHECK(sigaction(number, &action, NULL) == 0, "sigaction");
}

static void interrupted_work(uint64_t seed, unsigned long steps)
{
	struct churn churn;
	struct rng rng = {seed};

	churn_init(&churn, seed, max_bits + 2);
	for (unsigned long i = 0; i < steps; i++) {
		churn_step(&churn);
		free(hide(malloc(1 + i % 256)));
		if (i % 8 == 0)
			letter_free(exchange(&rng, letter_new(&rng)));
	}
	churn_free_all(&churn);
}

static void drain_mailboxes(void)
{
	for (unsigned i = 0; i < MAILBOXES; i++)
		letter_free(__atomic_exchange_n(&mailbox[i], NULL, __ATOMIC_ACQ_REL));
}

/* Time, and at least so many signals: on a busy machine these may take longer. */
static bool goes_on(uint64_t end)
{
	return now_ns() < end || __atomic_load_n(&handled, __ATOMIC_RELAXED) <= (forking ? 3 : 100);
}

static void with_timer(unsigned long milliseconds, int flags)
{
	uint64_t end = now_ns() + milliseconds * 1000000u;

	install(SIGALRM, flags);
	nesting = (flags & SA_NODEFER) != 0;
	timed = true;
	arm(0);
	for (uint64_t seed = 1; goes_on(end); seed++)
		interrupted_work(seed, 500);
	timed = false;
	sleep_ms(1);
}

static int stop_threads; /* atomic, relaxed */

static void *target(void *argument)
{
	for (uint64_t seed = (uintptr_t)argument; !__atomic_load_n(&stop_threads, __ATOMIC_RELAXED); seed += 3)
		interrupted_work(seed, 500);
	return NULL;
}

static void with_kill(unsigned long milliseconds)
{
	pthread_t thread[3];
	uint64_t end = now_ns() + milliseconds * 1000000u;
	struct timespec pause = {0, 20000};

	install(SIGUSR1, 0);
	install(SIGUSR2, 0);
	for (uintptr_t i = 0; i < 3; i++)
		thread[i] = check_thread(target, (void *)(i + 1));
	for (unsigned i = 0; goes_on(end); i++) {
		CHECK(pthread_kill(thread[i % 3], i % 2 == 0 ? SIGUSR1 : SIGUSR2) == 0, "pthread_kill");
		nanosleep(&pause, NULL);
	}
	__atomic_store_n(&stop_threads, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 3; i++)
		check_join(thread[i]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned long milliseconds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1500;

	check_allocator();
	if (strcmp(mode, "timer") == 0) {
		with_timer(milliseconds, 0);
	} else if (strcmp(mode, "nested") == 0) {
		with_timer(milliseconds, SA_NODEFER);
	} else if (strcmp(mode, "fork") == 0) {
		forking = true;
		with_timer(milliseconds, 0);
	} else if (strcmp(mode, "large") == 0) {
		max_bits = 20;
		with_timer(milliseconds, 0);
	} else {
		CHECK(strcmp(mode, "kill") == 0, "unknown mode '%s'", mode);
		with_kill(milliseconds);
	}
	drain_mailboxes();
	check_purge();
	check_note("%lu signals were handled\n", handled);
	return 0;
}
