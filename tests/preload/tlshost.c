/*
 * tlshost.c: opens libraries with static TLS until there is no more room, and uses them from threads.
 *
 *   tlshost LIBRARY...
 *
 * Prints `opened=N wrong=N`. The room is glibc's; the point is that N is the same with and without an
 * allocator preloaded, and that nobody's TLS overlaps.
 */
#include "work.h"
#include <dlfcn.h>

#define MOST 64

static int (*touch[MOST])(unsigned char);
static unsigned opened;
static unsigned long wrong; /* atomic, relaxed */

static void *use(void *argument)
{
	unsigned char first = (unsigned char)(uintptr_t)argument;

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < opened; i++)
			if (!touch[i]((unsigned char)(first + i + round)))
				__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	for (int i = 1; i < argc && opened < MOST; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);

		if (!library)
			break;
		*(void **)&touch[opened] = dlsym(library, "tls_touch");
		if (touch[opened])
			opened++;
	}
	use((void *)(uintptr_t)100);
	for (uintptr_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, use, (void *)(i * 20)) != 0)
			return 2;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("opened=%u wrong=%lu\n", opened, wrong + work_in_threads(2));
	return 0;
}
