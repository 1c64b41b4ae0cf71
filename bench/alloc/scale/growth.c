/*
 * growth: what grows with the heap, and with the number of threads. Objects are never written, so that a heap
 * of a terabyte fits in a small machine: what is resident is the allocator's own.
 *
 *   growth bytes SIZE GIB      a heap of GIB gibibytes of objects of SIZE bytes, doubled step by step
 *   growth threads N           N threads that allocated a hundred objects and sleep, in steps of ten times
 *
 * A line of JSON a step: the allocator's resident memory, the time of an allocation, and of what a process
 * does rarely but must not wait long for: malloc_trim, fork, mallinfo2.
 */
#include "../bench.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define THREADS_MOST 20000u
#define STACK_BYTES ((size_t)32 << 10)
#define OPERATIONS 100u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slept = PTHREAD_COND_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static unsigned asleep; /* guarded by lock, as the next */
static int ending;

static double ms_since(uint64_t start)
{
	return (double)(bench_now_ns() - start) / 1e6;
}

static double fork_ms(void)
{
	uint64_t start = bench_now_ns();
	pid_t child = fork();
	double ms = ms_since(start);
	int status;

	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		probe_die("cannot fork");
	return ms;
}

static unsigned count_mappings(void)
{
	static char text[1 << 16];
	unsigned count = 0;
	ssize_t got;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		probe_die("cannot read /proc/self/maps");
	while ((got = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < got; i++)
			count += text[i] == '\n';
	close(fd);
	return count;
}

/* What the step is, and how long an operation took on the way to it. */
static void tell(const char *unit, double amount, double op_ns, uint64_t other_kib)
{
	struct probe_memory m;
	char line[512];
	uint64_t start;
	double snapshot;
	double forking;
	double trim;
	int n;

	probe_read_memory(&m);
	start = bench_now_ns();
	(void)mallinfo2();
	snapshot = ms_since(start);
	forking = fork_ms();
	start = bench_now_ns();
	malloc_trim(0);
	trim = ms_since(start);
	n = snprintf(line, sizeof(line),
		     "{\"%s\":%.0f,\"op_ns\":%.1f,\"anon_kib\":%lld,\"mappings\":%u,\"mallinfo2_ms\":%.3f,"
		     "\"fork_ms\":%.3f,\"trim_ms\":%.3f}\n",
		     unit, amount, op_ns, (long long)m.anon_kib - (long long)other_kib, count_mappings(), snapshot,
		     forking, trim);
	probe_write(line, (size_t)n);
}

static void grow_bytes(size_t size, uint64_t gib)
{
	uint64_t most = (gib << 30) / size;
	void **held = mmap(NULL, most * sizeof(void *), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t count = 0;
	uint64_t start;

	if (held == MAP_FAILED)
		probe_die("no room for the pointers");
	for (uint64_t step = 1; step <= gib; step *= 2) {
		uint64_t end = (step << 30) / size;
		uint64_t before = count;

		start = bench_now_ns();
		for (; count < end; count++)
			held[count] = need(malloc(size));
		tell("heap_gib", (double)step, ms_since(start) * 1e6 / (double)(end - before),
		     count * sizeof(void *) >> 10);
	}
	start = bench_now_ns();
	for (uint64_t i = 0; i < count; i++)
		free(held[i]);
	tell("freed_gib", (double)gib, ms_since(start) * 1e6 / (double)count, count * sizeof(void *) >> 10);
}

static void *sleeper(void *arg)
{
	for (unsigned i = 0; i < OPERATIONS; i++)
		free(need(malloc(16 + i * 16)));
	pthread_mutex_lock(&lock);
	asleep++;
	pthread_cond_signal(&slept);
	while (!ending)
		pthread_cond_wait(&go, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

/* Of a thread's memory two pages are its stack's and its control block's, under any allocator. */
static void grow_threads(unsigned most)
{
	static pthread_t threads[THREADS_MOST];
	pthread_attr_t attributes;
	unsigned count = 0;

	if (most > THREADS_MOST)
		probe_die("at most 20000 threads");
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (unsigned step = 10; step <= most; step *= 10) {
		uint64_t start = bench_now_ns();
		unsigned before = count;

		for (; count < step; count++)
			if (pthread_create(&threads[count], &attributes, sleeper, NULL) != 0)
				probe_die("cannot start a thread");
		pthread_mutex_lock(&lock);
		while (asleep < count)
			pthread_cond_wait(&slept, &lock);
		pthread_mutex_unlock(&lock);
		tell("threads", step, ms_since(start) * 1e6 / (step - before), 0);
	}
	pthread_mutex_lock(&lock);
	ending = 1;
	pthread_cond_broadcast(&go);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < count; i++)
		thread_join(threads[i]);
	tell("ended", count, 0, 0);
}

int main(int argc, char **argv)
{
	probe_require_preload();
	if (argc == 4 && strcmp(argv[1], "bytes") == 0)
		grow_bytes(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "threads") == 0)
		grow_threads((unsigned)strtoul(argv[2], NULL, 10));
	else
		probe_die("usage: growth bytes SIZE GIB | growth threads N");
	return 0;
}
