/*
 * Libraries that come and go while threads allocate; memory crosses between them and the program.
 *   dlopen PLUGIN PLUGIN     two plugins are loaded and unloaded many times, one thread each
 *   dlopen local LIBEBB      libebb itself is loaded at run time into a process that has another malloc
 *   dlopen tls HOG LIBEBB    ... when little static TLS is left
 *   dlopen hog HOG           the hog is loaded under a preloaded libebb
 *   dlopen other PLUGIN      the plugin is loaded into a namespace of its own, with a libc of its own
 */
#include "check.h"

#include "churn.h"

typedef char *text_fn(void);
typedef void *allocate_fn(size_t);
typedef void free_fn(void *);

static void *symbol_of(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	CHECK(symbol != NULL, "%s: %s", name, dlerror());
	return symbol;
}

static void use_plugin(const char *path, unsigned round)
{
	void *library = dlopen(path, round % 2 == 0 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
	CHECK(library != NULL, "%s", dlerror());
	text_fn *text = (text_fn *)symbol_of(library, "plugin_text");
	allocate_fn *allocate = (allocate_fn *)symbol_of(library, "plugin_allocate");
	free_fn *plugin_free = (free_fn *)symbol_of(library, "plugin_free");

	char *left = text();
	CHECK(strcmp(left, "from the plugin") == 0, "the constructor's text");
	uint8_t *theirs = allocate(10000 + round);
	uint8_t *ours = hide(malloc(20000));
	pattern_fill(theirs, 10000 + round, round);
	plugin_free(ours);
	CHECK(dlclose(library) == 0, "%s", dlerror());
	PATTERN_CHECK(theirs, 10000 + round, round);
	free(theirs);
	free(left);
}

static void *storm(void *path)
{
	for (unsigned round = 0; round < 200; round++)
		use_plugin(path, round);
	return NULL;
}

static void test_plugins(char **paths)
{
	struct churn_thread noise[2];
	pthread_t thread[2];

	for (unsigned i = 0; i < 2; i++)
		churn_start(&noise[i], i + 1, 15);
	for (unsigned i = 0; i < 2; i++)
		thread[i] = check_thread(storm, paths[i]);
	for (unsigned i = 0; i < 2; i++)
		check_join(thread[i]);
	for (unsigned i = 0; i < 2; i++)
		churn_stop(&noise[i]);
}

static allocate_fn *ebb_malloc;
static free_fn *ebb_free;

static void *use_second_allocator(void *argument)
{
	enum { BLOCKS = 500 };
	void *block[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = ebb_malloc(1 + i * 50);
		CHECK(block[i] != NULL, "malloc of the library loaded at run time");
		pattern_fill(block[i], 1 + i * 50, i);
		free(hide(malloc(i + 1)));
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		PATTERN_CHECK(block[i], 1 + i * 50, i);
		ebb_free(block[i]);
	}
	return argument;
}

static pthread_barrier_t barrier;

static void *use_and_stay(void *argument)
{
	use_second_allocator(NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return argument;
}

/* The process keeps its own malloc; the second one serves who asks it by hand, also across fork. */
static void test_local(const char *path)
{
	CHECK(!check_on_ebb(), "the process has another malloc");
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	CHECK(library != NULL, "%s", dlerror());
	ebb_malloc = (allocate_fn *)symbol_of(library, "malloc");
	ebb_free = (free_fn *)symbol_of(library, "free");
	CHECK(ebb_malloc != malloc, "it is another malloc");
	for (int i = 0; i < 20; i++) {
		pthread_t thread = check_thread(use_second_allocator, NULL);

		use_second_allocator(NULL);
		check_join(thread);
	}
	/* Threads end after dlclose, and its own thread sleeps: the code they return to must still be there. */
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_t late = check_thread(use_and_stay, NULL);
	pthread_barrier_wait(&barrier);
	CHECK(dlclose(library) == 0, "%s", dlerror());
	pthread_barrier_wait(&barrier);
	check_join(late);
	sleep_ms(1500);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL, "again: %s", dlerror());
	dlclose(library);
	free(hide(malloc(100)));
}

static void test_tls(const char *hog, const char *path)
{
	void *first = dlopen(hog, RTLD_NOW);

	CHECK(first != NULL, "hog: %s", dlerror());
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL, "%s", dlerror());
	ebb_malloc = (allocate_fn *)symbol_of(library, "malloc");
	ebb_free = (free_fn *)symbol_of(library, "free");
	use_second_allocator(NULL);
	check_join(check_thread(use_second_allocator, NULL));
}

/* Its text stays its own: what another C library allocated, that one must free. */
static void test_other(const char *path)
{
#ifdef __GLIBC__
	void *library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
#else /* musl has one namespace */
	void *library = NULL;

	(void)path;
#endif

	CHECK(library != NULL, "%s", dlerror());
	text_fn *text = (text_fn *)symbol_of(library, "plugin_text");
	allocate_fn *allocate = (allocate_fn *)symbol_of(library, "plugin_allocate");
	free_fn *plugin_free = (free_fn *)symbol_of(library, "plugin_free");
	CHECK(strcmp(text(), "from the plugin") == 0, "the constructor's text");
	for (unsigned i = 1; i < 2000; i++) {
		uint8_t *theirs = allocate(i * 20);
		uint8_t *ours = hide(malloc(i * 20));

		pattern_fill(theirs, i * 20, i);
		pattern_fill(ours, i * 20, i + 1);
		PATTERN_CHECK(theirs, i * 20, i);
		PATTERN_CHECK(ours, i * 20, i + 1);
		plugin_free(theirs);
		free(ours);
	}
	CHECK(dlclose(library) == 0, "%s", dlerror());
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "other") == 0) {
		check_allocator();
		test_other(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "local") == 0) {
		test_local(argv[2]);
	} else if (argc == 4 && strcmp(argv[1], "tls") == 0) {
		test_tls(argv[2], argv[3]);
	} else if (argc == 3 && strcmp(argv[1], "hog") == 0) {
		check_allocator();
		CHECK(dlopen(argv[2], RTLD_NOW) != NULL, "hog: %s", dlerror());
	} else {
		check_allocator();
		CHECK(argc == 3, "usage: see the head of this file");
		test_plugins(argv + 1);
	}
	return 0;
}
