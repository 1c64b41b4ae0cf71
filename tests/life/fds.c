/*
 * A program that closes every descriptor, as daemons do, and allocates and gives memory back. The
 * next files it opens get the numbers 0, 1, 2 and more; nobody else may write to them.
 */
#include "churn.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#define FILES 40

static void *thread_body(void *argument)
{
	struct churn churn;

	churn_init(&churn, (uintptr_t)argument, 20);
	churn_steps(&churn, 3000);
	churn_free_all(&churn);
	return NULL;
}

int main(void)
{
	int fd[FILES];

	check_allocator();
	free(hide(malloc(1 << 20)));
	CHECK(syscall(SYS_close_range, 0u, ~0u, 0u) == 0, "close_range");
	for (unsigned i = 0; i < FILES; i++) {
		fd[i] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		if (fd[i] < 0)
			_exit(2);
	}
	for (uintptr_t round = 1; round <= 3; round++) {
		pthread_t thread = check_thread(thread_body, (void *)round);

		thread_body((void *)(round + 10));
		check_join(thread);
		check_purge();
		malloc_trim(0);
	}
	for (unsigned i = 0; i < FILES; i++) {
		struct stat status;

		if (fstat(fd[i], &status) != 0 || status.st_size != 0)
			_exit(3);
	}
	return 0;
}
