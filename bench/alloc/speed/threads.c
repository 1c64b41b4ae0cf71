/*
 * threads: start a thread, one malloc in it, exit. Two at a time. Half of the
 * objects are freed by the thread, half by whoever joins it.
 */
#include "../bench.h"

static void *once(void *arg)
{
	void *p = stamp(malloc(100), 100, 7);

	if (arg == NULL)
		return p;
	stamp_check(p, 100, 7);
	free(p);
	return NULL;
}

int main(int argc, char **argv)
{
	struct bench b;
	uint64_t n;

	bench_begin(&b, argc, argv, "threads");
	n = bench_count(&b, 10e3);
	for (uint64_t i = 0; i < n; i++) {
		pthread_t t[2];
		void *left;

		thread_start(&t[0], once, NULL);
		thread_start(&t[1], once, &b);
		thread_join(t[1]);
		if (pthread_join(t[0], &left) != 0)
			probe_die("cannot join a thread");
		stamp_check(left, 100, 7);
		free(left);
	}
	bench_end(&b, 2 * n, n);
	return 0;
}
