// malloc after everybody has gone: destructors of objects, of threads, of keys, atexit, and the ELF
// destructors that run last.
#include "stats.h"

#include <string>
#include <vector>

static int atexit_calls;
static int static_destructors;
static int thread_local_destructors;
static int key_destructors;
static char *left_for_destructor;

static void use_memory(size_t size)
{
	char *block = static_cast<char *>(hide(malloc(size)));

	CHECK(block != nullptr, "malloc(%zu) late in life", size);
	memset(block, 1, size);
	block = static_cast<char *>(hide(realloc(block, size * 3)));
	CHECK(block != nullptr && block[size - 1] == 1, "realloc late in life");
	free(block);
}

struct holder {
	std::vector<std::string> words;
	int *counter;
	explicit holder(int *count) : counter(count)
	{
		words.assign(100, std::string(200, 'w'));
	}
	~holder()
	{
		words.push_back("one more");
		use_memory(5000);
		__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
	}
	holder(const holder &) = delete;
	holder &operator=(const holder &) = delete;
};

static holder static_holder(&static_destructors);
static thread_local holder *unused;

static pthread_key_t keys[4];

// A destructor that sets its key again, for as many rounds as the C library grants.
static void key_destructor(void *value)
{
	uint8_t *block = static_cast<uint8_t *>(value);
	uint8_t round = block[0];

	use_memory(200);
	use_memory(40000);
	__atomic_fetch_add(&key_destructors, 1, __ATOMIC_RELAXED);
	free(block);
	if (round + 1 < 4) { // PTHREAD_DESTRUCTOR_ITERATIONS
		block = static_cast<uint8_t *>(hide(malloc(64)));
		block[0] = static_cast<uint8_t>(round + 1);
		for (pthread_key_t key : keys)
			if (pthread_getspecific(key) == nullptr) {
				pthread_setspecific(key, block);
				return;
			}
		free(block);
	}
}

static void *thread_body(void *argument)
{
	static thread_local holder local(&thread_local_destructors);

	local.words.emplace_back("mine");
	unused = &local;
	for (pthread_key_t key : keys) {
		uint8_t *block = static_cast<uint8_t *>(hide(malloc(64)));

		block[0] = 0;
		pthread_setspecific(key, block);
	}
	free(argument);
	return hide(malloc(100));
}

static void test_threads()
{
	enum { THREADS = 2000 };
	struct ebb_snapshot before;
	struct ebb_snapshot after;
	bool on_ebb = stats_get(&before);
	long rss = proc_status("RssAnon:");

	for (int i = 0; i < THREADS; i += 4) {
		pthread_t thread[4];

		for (pthread_t &each : thread)
			each = check_thread(thread_body, hide(malloc(300)));
		for (pthread_t &each : thread)
			free(check_join(each));
	}
	CHECK(thread_local_destructors == THREADS, "%d thread_local destructors ran", thread_local_destructors);
	CHECK(key_destructors >= THREADS * 4, "%d key destructors ran", key_destructors);
	CHECK(proc_status("RssAnon:") - rss < 32 << 10, "exited threads left %ld KiB", proc_status("RssAnon:") - rss);
	if (on_ebb && stats_get(&after))
		CHECK(after.threads <= before.threads + 1, "%lu caches before, %lu after the threads left",
		      static_cast<unsigned long>(before.threads), static_cast<unsigned long>(after.threads));
}

static void at_exit()
{
	use_memory(1000);
	use_memory(100000);
	atexit_calls++;
}

// Runs after main, atexit and the destructors of objects.
__attribute__((destructor(101))) static void last_words()
{
	use_memory(77);
	use_memory(3 << 20);
	CHECK(strcmp(left_for_destructor, "left") == 0, "memory outlives main");
	free(left_for_destructor);
	check_purge();
	CHECK(atexit_calls == 3 && static_destructors == 1, "%d atexit, %d destructors", atexit_calls,
	      static_destructors);
	check_note("late: all destructors ran\n");
}

int main()
{
	check_allocator();
	for (pthread_key_t &key : keys)
		CHECK(pthread_key_create(&key, key_destructor) == 0, "key");
	test_threads();
	for (int i = 0; i < 3; i++)
		CHECK(atexit(at_exit) == 0, "atexit");
	left_for_destructor = strdup("left");
	return 0;
}
