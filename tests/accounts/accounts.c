/*
 * Whose account memory goes to, told from samples.
 *   accounts three LIBRARY LIBRARY LIBRARY   each has what it holds, within a tenth
 *   accounts closed LIBRARY LIBRARY          a library's memory keeps its name when it is unloaded
 *   accounts plumbing LIBRARY [C++ LIBRARY]  what libc and libstdc++ allocate is their caller's
 *   accounts threads LIBRARY                 freed by other threads, and by threads that end
 *   accounts realloc LIBRARY                 blocks that grow and shrink
 *   accounts signals LIBRARY                 handlers that allocate, on a small stack of their own
 *   accounts fork LIBRARY                    forks while other threads allocate, and forks by handlers
 *   accounts off                             nothing is sampled
 * When everything was freed, nothing may be left in any account. EBB_CONF has a short distance of samples.
 */
#include "check.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "stats.h"

typedef void *hold_fn(size_t);
typedef void *hold_text_fn(const char *);
typedef void hold_string_fn(size_t);
typedef void release_fn(void);

static struct ebb_snapshot snapshot;

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	CHECK(library != NULL, "%s", dlerror());
	return library;
}

static void *symbol_of(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	CHECK(symbol != NULL, "%s: %s", name, dlerror());
	return symbol;
}

/* The account as it is now; zeros when it has none. */
static struct ebb_owner owner(const char *name)
{
	static const struct ebb_owner none;
	uint64_t before = UINT64_MAX;
	struct ebb_owner found = none;

	CHECK(stats_get(&snapshot), "this needs libebb");
	for (unsigned i = 0; i < EBB_SNAPSHOT_OWNERS && snapshot.owners[i].name[0] != '\0'; i++) {
		CHECK(snapshot.owners[i].live_bytes <= before, "the largest come first");
		before = snapshot.owners[i].live_bytes;
		if (strcmp(snapshot.owners[i].name, name) == 0)
			found = snapshot.owners[i];
	}
	return found;
}

/* Within a tenth; with fewer samples than this needs, for want of CPU, within five standard errors. */
static void check_owner(const char *name, uint64_t bytes)
{
	struct ebb_owner found = owner(name);
	uint64_t off = found.live_bytes > bytes ? found.live_bytes - bytes : bytes - found.live_bytes;

	check_note("%s: %.2f MiB of %.2f, standard error %.2f, %llu samples\n", name,
		   (double)found.live_bytes / 1048576, (double)bytes / 1048576, (double)found.error_bytes / 1048576,
		   (unsigned long long)found.samples);
	CHECK(found.samples > 0 && found.error_bytes < bytes / 10, "no estimate");
	CHECK(off <= bytes / 10 || off <= 5 * found.error_bytes, "%s: %llu in place of %llu", name,
	      (unsigned long long)found.live_bytes, (unsigned long long)bytes);
}

static void check_empty(const char *name)
{
	struct ebb_owner found = owner(name);

	CHECK(found.live_bytes == 0 && found.samples == 0, "%s has %llu bytes in %llu samples when all is freed", name,
	      (unsigned long long)found.live_bytes, (unsigned long long)found.samples);
}

/* --- Three libraries */

#define THREE_BYTES ((size_t)48 << 20)

/* Sizes that are a slot's or whole pages, so that what is held is known to the byte. */
static const size_t small_sizes[] = {16, 48, 64, 112, 256, 1024, 0};
static const size_t middle_sizes[] = {512, 2048, 4096, 8192, 16384, 0};
static const size_t large_sizes[] = {32768, 65536, 1 << 20, 5 << 20, 0};

struct holding {
	const char *name;
	const size_t *sizes;
	hold_fn *hold;
	size_t bytes;
	unsigned next;
	void **blocks;
	size_t count;
};

static void hold_one(struct holding *holding)
{
	size_t size = holding->sizes[holding->next++];

	if (size == 0) {
		holding->next = 0;
		return;
	}
	holding->blocks[holding->count++] = holding->hold(size);
	holding->bytes += malloc_usable_size(holding->blocks[holding->count - 1]) == 4096 && size < 4096
				  ? size
				  : malloc_usable_size(holding->blocks[holding->count - 1]);
}

static void *table(size_t entries)
{
	void *at = mmap(NULL, entries * sizeof(void *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED, "mmap");
	return at;
}

static void test_three(char **paths)
{
	struct holding holdings[3] = {
		{.name = "libaccounts-one", .sizes = small_sizes},
		{.name = "libaccounts-two", .sizes = middle_sizes},
		{.name = "libaccounts-three", .sizes = large_sizes},
	};
	bool more = true;

	for (unsigned i = 0; i < 3; i++) {
		holdings[i].hold = (hold_fn *)symbol_of(open_library(paths[i]), "library_hold");
		holdings[i].blocks = table(THREE_BYTES / 16);
	}
	while (more) {
		more = false;
		for (unsigned i = 0; i < 3; i++) {
			if (holdings[i].bytes >= (i + 1) * THREE_BYTES / 2)
				continue;
			hold_one(&holdings[i]);
			more = true;
		}
	}
	for (unsigned i = 0; i < 3; i++)
		check_owner(holdings[i].name, holdings[i].bytes);
	for (unsigned i = 0; i < 3; i++) {
		for (size_t k = 0; k < holdings[i].count; k++)
			free(holdings[i].blocks[k]);
		check_empty(holdings[i].name);
	}
}

/* --- Unloaded libraries */

#define HELD_BYTES ((size_t)8 << 20)
#define HELD_SIZE ((size_t)1024)
#define HELD (HELD_BYTES / HELD_SIZE)

static void *held[HELD];

static void hold_all(hold_fn *hold)
{
	for (size_t i = 0; i < HELD; i++)
		held[i] = hold(HELD_SIZE);
}

static void free_all(void)
{
	for (size_t i = 0; i < HELD; i++)
		free(held[i]);
}

static void test_closed(char **paths)
{
	static void *first[HELD];

	for (unsigned round = 0; round < 2; round++) {
		void *library = open_library(paths[0]);

		hold_all((hold_fn *)symbol_of(library, "library_hold"));
		CHECK(dlclose(library) == 0, "%s", dlerror());
		CHECK(dlopen(paths[0], RTLD_NOLOAD | RTLD_NOW) == NULL, "it is still there");
		memcpy(first, held, sizeof(held));
		check_owner("libaccounts-one", HELD_BYTES);
		/* Most likely where the first one was. */
		library = open_library(paths[1]);
		hold_all((hold_fn *)symbol_of(library, "library_hold"));
		CHECK(dlclose(library) == 0, "%s", dlerror());
		check_owner("libaccounts-one", HELD_BYTES);
		check_owner("libaccounts-two", HELD_BYTES);
		free_all();
		memcpy(held, first, sizeof(held));
		free_all();
		check_empty("libaccounts-one");
		check_empty("libaccounts-two");
	}
}

/* --- Who is behind libc */

/* `slot_bytes`: libc makes the text in a larger block and leaves it there. */
static void test_text(void *library, const char *function, size_t slot_bytes)
{
	hold_text_fn *hold = (hold_text_fn *)symbol_of(library, function);
	char text[HELD_SIZE - 1];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < HELD; i++) {
		held[i] = hold(text);
		CHECK(malloc_usable_size(held[i]) == slot_bytes, "%zu bytes", malloc_usable_size(held[i]));
	}
	check_owner("libaccounts-one", HELD * slot_bytes);
	free_all();
	check_empty("libaccounts-one");
}

static void test_plumbing(char **paths)
{
	static const char *const functions[] = {"library_hold", "library_hold_aligned", "library_hold_zeroed"};
	void *library = open_library(paths[0]);
	void *other;

	for (unsigned i = 0; i < 3; i++) {
		hold_all((hold_fn *)symbol_of(library, functions[i]));
		check_owner("libaccounts-one", HELD_BYTES);
		free_all();
		check_empty("libaccounts-one");
	}
	test_text(library, "library_hold_text", HELD_SIZE);
	test_text(library, "library_hold_printed", 1536);
	if (paths[1] == NULL)
		return;
	other = open_library(paths[1]);
	hold_all((hold_fn *)symbol_of(other, "library_hold_object"));
	check_owner("libaccounts-cxx", HELD_BYTES);
	free_all();
	for (size_t i = 0; i < HELD; i++)
		((hold_string_fn *)symbol_of(other, "library_hold_string"))(HELD_SIZE);
	/* The vector of them: 8192 times 32 bytes. */
	check_owner("libaccounts-cxx", HELD_BYTES + HELD * 32);
	((release_fn *)symbol_of(other, "library_release"))();
	check_empty("libaccounts-cxx");
}

/* --- Threads */

enum { THREADS = 4 };

static hold_fn *hold_in_thread;

static void *hold_part(void *number)
{
	for (size_t i = (size_t)number; i < HELD; i += THREADS)
		held[i] = hold_in_thread(HELD_SIZE);
	return NULL;
}

/* What another thread allocated. */
static void *free_part(void *number)
{
	for (size_t i = ((size_t)number + 1) % THREADS; i < HELD; i += THREADS)
		free(held[i]);
	return NULL;
}

static void run_threads(void *(*run)(void *), unsigned count)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < count; i++)
		threads[i] = check_thread(run, (void *)i);
	for (size_t i = 0; i < count; i++)
		check_join(threads[i]);
}

static void *hold_few(void *number)
{
	held[(size_t)number] = hold_in_thread(HELD_SIZE);
	return NULL;
}

static void test_threads(char **paths)
{
	hold_in_thread = (hold_fn *)symbol_of(open_library(paths[0]), "library_hold");
	run_threads(hold_part, THREADS);
	check_owner("libaccounts-one", HELD_BYTES);
	run_threads(free_part, THREADS / 2);
	check_owner("libaccounts-one", HELD_BYTES / 2);
	for (size_t i = 0; i < HELD; i++)
		if (i % THREADS == 0 || i % THREADS > THREADS / 2)
			free(held[i]);
	check_empty("libaccounts-one");
	/* Threads that have no cache yet, and blocks of which each is a sample: they must count as well. */
	for (unsigned round = 0; round < 200; round++) {
		run_threads(hold_few, THREADS);
		for (unsigned i = 0; i < THREADS; i++)
			free(held[i]);
	}
	check_empty("libaccounts-one");
}

/* --- Blocks that change */

static void test_realloc(char **paths)
{
	enum { MOST = 6 << 20 };
	hold_fn *hold = (hold_fn *)symbol_of(open_library(paths[0]), "library_hold");
	uint8_t *block;

	for (unsigned round = 0; round < 20; round++) {
		size_t size = 10;

		block = hold(size);
		memset(block, (int)round, size);
		for (; size < MOST; size += size / 3 + 1) {
			block = hide(realloc(block, size));
			CHECK(block[0] == round && block[9] == round, "contents");
		}
		for (; size > 20; size -= size / 3 + 1) {
			block = hide(realloc(block, size));
			CHECK(block[0] == round && block[9] == round, "contents");
		}
		free(block);
	}
	check_empty("libaccounts-one");
	CHECK(snapshot.owners[0].live_bytes < MOST / 10, "%s has %llu bytes when all is freed", snapshot.owners[0].name,
	      (unsigned long long)snapshot.owners[0].live_bytes);
}

/* --- Handlers */

static volatile sig_atomic_t handled;
static volatile sig_atomic_t fork_in_handler;

static void wait_for(pid_t child)
{
	int status;

	CHECK(child > 0 && waitpid(child, &status, 0) == child, "fork");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with status 0x%x", (unsigned)status);
}

static void on_signal(int number)
{
	void *blocks[8];

	(void)number;
	for (unsigned i = 0; i < 8; i++)
		blocks[i] = hold_in_thread(100 + 2000 * i);
	for (unsigned i = 0; i < 8; i++)
		free(blocks[i]);
	handled = handled + 1;
	if (fork_in_handler && handled % 16 == 0) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		wait_for(child);
	}
}

static void start_signals(void)
{
	static char stack[8192];
	const stack_t small = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
	const struct itimerval often = {{0, 700}, {0, 700}};

	CHECK(sigaltstack(&small, NULL) == 0, "sigaltstack");
	CHECK(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0, "setitimer");
}

static void stop_signals(void)
{
	const struct itimerval never = {{0, 0}, {0, 0}};

	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0, "setitimer");
	CHECK(handled > 0, "no signal came");
}

static void churn(unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < 64; i++)
			held[i] = hold_in_thread(1 + i * 97);
		for (size_t i = 0; i < 64; i++)
			free(held[i]);
	}
}

static void test_signals(char **paths)
{
	hold_in_thread = (hold_fn *)symbol_of(open_library(paths[0]), "library_hold");
	start_signals();
	while (handled < 300)
		churn(10);
	stop_signals();
	/* What a handler freed within the tables leaves them with whoever is there next. */
	churn(100);
	check_empty("libaccounts-one");
}

/* --- Forks */

static volatile bool stop;

static void *churn_until_stop(void *unused)
{
	void *blocks[64];

	(void)unused;
	while (!stop) {
		for (size_t i = 0; i < 64; i++)
			blocks[i] = hold_in_thread(1 + i * 97);
		for (size_t i = 0; i < 64; i++)
			free(blocks[i]);
	}
	return NULL;
}

static void test_fork(char **paths)
{
	pthread_t threads[2];
	sigset_t alarm_only;

	hold_in_thread = (hold_fn *)symbol_of(open_library(paths[0]), "library_hold");
	(void)sigemptyset(&alarm_only);
	(void)sigaddset(&alarm_only, SIGALRM);
	CHECK(pthread_sigmask(SIG_BLOCK, &alarm_only, NULL) == 0, "the handler is for the first thread");
	for (unsigned i = 0; i < 2; i++)
		threads[i] = check_thread(churn_until_stop, NULL);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL) == 0, "pthread_sigmask");
	for (unsigned i = 0; i < 40; i++) {
		pid_t child = fork();

		if (child == 0) {
			churn(50);
			_exit(0);
		}
		wait_for(child);
	}
	fork_in_handler = 1;
	start_signals();
	while (handled < 120)
		churn(10);
	stop_signals();
	stop = true;
	for (unsigned i = 0; i < 2; i++)
		check_join(threads[i]);
	churn(100);
	check_empty("libaccounts-one");
}

static void test_off(char **paths)
{
	(void)paths;
	for (unsigned i = 0; i < 20000; i++)
		free(hide(malloc(i)));
	CHECK(stats_get(&snapshot), "this needs libebb");
	CHECK(snapshot.sample_interval_bytes == 0 && snapshot.samples_taken == 0, "samples were taken");
	CHECK(snapshot.owners[0].name[0] == '\0', "there are owners");
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(char **paths);
	} tests[] = {{"three", test_three},     {"closed", test_closed},   {"plumbing", test_plumbing},
		     {"threads", test_threads}, {"realloc", test_realloc}, {"signals", test_signals},
		     {"fork", test_fork},       {"off", test_off}};

	CHECK(count >= 2, "which test?");
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(tests[i].name, arguments[1]) == 0) {
			tests[i].run(arguments + 2);
			return 0;
		}
	}
	CHECK(false, "no test named %s", arguments[1]);
}
