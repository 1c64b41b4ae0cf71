/*
 * live PATTERN MIB: a process that is a case for the doctor. It makes the pattern of that size, prints what is true of it as
 * "ready NAME=BYTES ...", and waits. On SIGUSR1 it calls malloc_trim(0) and prints "trimmed BYTES", by how much its RSS fell.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define HUGE ((size_t)2 << 20)
#define SMALL 512u
#define THREADS 64u

static size_t size_bytes;

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(77);
}

static char *mapped(size_t bytes, int flags, int fd)
{
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	need(pages != MAP_FAILED, "mmap");
	return pages;
}

static size_t resident(void)
{
	char text[128] = "";
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (file && fgets(text, sizeof(text), file))
		pages = strtoul(strchr(text, ' ') ? strchr(text, ' ') : "0", NULL, 10);
	if (file)
		fclose(file);
	return pages * 4096;
}

/* Blocks of SMALL bytes; what `keep` says stays, and so does the last one, behind which nothing is given back. */
static void blocks(size_t keep_every)
{
	size_t count = size_bytes / SMALL, live = 0;
	char **all = (char **)(void *)mapped(count * sizeof(*all), MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (size_t i = 0; i < count; i++) {
		all[i] = malloc(SMALL);
		need(all[i] != NULL, "malloc");
		memset(all[i], 1, SMALL);
	}
	for (size_t i = 0; i < count; i++) {
		if (i + 1 == count || (keep_every > 0 && i % keep_every == 0))
			live += SMALL;
		else
			free(all[i]);
	}
	munmap(all, count * sizeof(*all));
	printf("ready live=%zu freed=%zu\n", live, size_bytes - live);
}

static void *arena(void *context)
{
	(void)context;
	blocks(0);
	pause();
	return NULL;
}

static void retained(void)
{
	blocks(0);
}

/* One block of a page's seven or eight lives on: no page is free. */
static void fragmented(void)
{
	blocks(7);
}

static void healthy(void)
{
	blocks(1);
}

/* The same as retained, in the arena of a thread. */
static void threaded(void)
{
	pthread_t thread;

	need(pthread_create(&thread, NULL, arena, NULL) == 0, "pthread_create");
}

/* Half of blocks of many sizes freed at random, and so many made again that what was freed is sorted into all bins. */
static void worn(void)
{
	size_t count = size_bytes / 1040, live = 0;
	char **all = (char **)(void *)mapped(count * sizeof(*all), MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t draw = 1;

	for (size_t i = 0; i < count; i++) {
		draw = draw * 6364136223846793005u + 1442695040888963407u;
		all[i] = malloc(32 + (draw >> 40) % 2017);
		need(all[i] != NULL, "malloc");
		memset(all[i], 1, malloc_usable_size(all[i]));
	}
	for (size_t i = 0; i < count; i++) {
		draw = draw * 6364136223846793005u + 1442695040888963407u;
		if (draw >> 63)
			free(all[i]);
		else
			live += malloc_usable_size(all[i]);
	}
	for (size_t i = 0; i < count / 100; i++) {
		char *block = malloc(20000);

		need(block != NULL, "malloc");
		memset(block, 1, 20000);
		live += malloc_usable_size(block);
	}
	munmap(all, count * sizeof(*all));
	printf("ready live=%zu\n", live);
}

/* Makes and frees blocks of all sizes as fast as it can. */
static void *churn(void *context)
{
	static _Thread_local char *ring[512];
	uint64_t draw = 1;

	for (;;) {
		size_t at;

		draw = draw * 6364136223846793005u + 1442695040888963407u;
		at = draw >> 55;
		free(ring[at]);
		ring[at] = malloc((draw >> 40) % 2048);
	}
	return context;
}

/* The heap changes while it is looked at: one thread in an arena of its own, which few blocks are enough for. */
static void busy(void)
{
	pthread_t thread;

	blocks(0);
	need(pthread_create(&thread, NULL, churn, NULL) == 0, "pthread_create");
}

static void lazyfree(void)
{
	char *pages = mapped(size_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	need(madvise(pages, size_bytes, MADV_NOHUGEPAGE) == 0, "madvise");
	memset(pages, 1, size_bytes);
	need(madvise(pages, size_bytes / 4 * 3, MADV_FREE) == 0, "MADV_FREE");
	printf("ready lazyfree=%zu\n", size_bytes / 4 * 3);
}

static int temporary(void)
{
	char path[] = "live-XXXXXX";
	int fd = mkstemp(path);

	need(fd >= 0, "mkstemp");
	unlink(path);
	return fd;
}

static int filled(void)
{
	static char bytes[1 << 16];
	int fd = temporary();

	memset(bytes, 1, sizeof(bytes));
	for (size_t at = 0; at < size_bytes; at += sizeof(bytes))
		need(write(fd, bytes, sizeof(bytes)) == sizeof(bytes), "write");
	need(fsync(fd) == 0, "fsync");
	return fd;
}

static volatile char sink;

static void file_mmap(void)
{
	char *pages = mapped(size_bytes, MAP_SHARED, filled());

	for (size_t i = 0; i < size_bytes; i += 4096)
		sink = pages[i];
	printf("ready data=%zu\n", size_bytes);
}

static void page_cache(void)
{
	filled();
	printf("ready cache=%zu\n", size_bytes);
}

static void shmem(void)
{
	memset(mapped(size_bytes, MAP_SHARED | MAP_ANONYMOUS, -1), 1, size_bytes);
	printf("ready shmem=%zu\n", size_bytes);
}

/* One byte of each huge page. */
static void thp(void)
{
	char *pages = mapped(size_bytes + HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	pages += HUGE - (uintptr_t)pages % HUGE;
	need(madvise(pages, size_bytes, MADV_HUGEPAGE) == 0, "MADV_HUGEPAGE");
	for (size_t i = 0; i < size_bytes; i += HUGE)
		pages[i] = 1;
	printf("ready huge=%zu\n", size_bytes);
}

static pthread_barrier_t barrier;

static void *deep(void *context)
{
	size_t bytes = size_bytes / THREADS;
	volatile char *stack = __builtin_alloca(bytes);

	(void)context;
	for (size_t i = 0; i < bytes; i += 1024)
		stack[i] = 1;
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

static void stacks(void)
{
	need(size_bytes / THREADS < 7 * MIB, "stacks of 8 MiB are needed");
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_t thread;

		need(pthread_create(&thread, NULL, deep, NULL) == 0, "pthread_create");
	}
	pthread_barrier_wait(&barrier);
	printf("ready stacks=%zu\n", size_bytes);
}

/* The child keeps what the parent has written anew since. */
static void cow_fork(void)
{
	char *pages = mapped(size_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	pid_t child;

	memset(pages, 1, size_bytes);
	child = fork();
	need(child >= 0, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	memset(pages, 2, size_bytes);
	printf("ready copied=%zu\n", size_bytes);
}

/* Bytes that wait in the buffers of connections to ourselves, which nobody reads. */
static void sock(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	static char bytes[1 << 16];
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t sent = 0;

	need(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 128) == 0, "listen");
	getsockname(listener, (struct sockaddr *)&address, &length);
	for (unsigned i = 0; i < 256 && sent < size_bytes; i++) {
		int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ssize_t written;

		need(connect(client, (struct sockaddr *)&address, length) == 0, "connect");
		need(accept(listener, NULL, NULL) >= 0, "accept");
		fcntl(client, F_SETFL, O_NONBLOCK);
		while ((written = write(client, bytes, sizeof(bytes))) > 0)
			sent += (size_t)written;
	}
	printf("ready sent=%zu\n", sent);
}

#ifdef LIVE_SECOND
extern void *mallocx(size_t bytes, int flags);

/* jemalloc is in the process, behind glibc in the loader's order: malloc is glibc's. */
static void second_allocator(void)
{
	for (size_t at = 0; at < size_bytes; at += SMALL) {
		char *block = mallocx(SMALL, 0);

		need(block != NULL, "mallocx");
		memset(block, 1, SMALL);
	}
	printf("ready second=%zu\n", size_bytes);
}
#endif

static const struct pattern {
	const char *name;
	void (*make)(void);
} patterns[] = {
	{"retained", retained},
	{"fragmented", fragmented},
	{"healthy", healthy},
	{"threaded", threaded},
	{"worn", worn},
	{"busy", busy},
	{"lazyfree", lazyfree},
	{"file_mmap", file_mmap},
	{"page_cache", page_cache},
	{"shmem", shmem},
	{"thp", thp},
	{"stacks", stacks},
	{"cow_fork", cow_fork},
	{"sock", sock},
#ifdef LIVE_SECOND
	{"second_allocator", second_allocator},
#endif
};

int main(int argc, char **argv)
{
	const struct pattern *pattern = NULL;
	sigset_t asked;

	for (size_t i = 0; argc == 3 && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (strcmp(argv[1], patterns[i].name) == 0)
			pattern = &patterns[i];
	if (!pattern || atol(argv[2]) <= 0)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Blocked in all threads and waited for in this one: it can neither come to another one nor be missed. */
	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &asked, NULL);
	size_bytes = (size_t)atol(argv[2]) * MIB;
	pattern->make();
	for (;;) {
		size_t before;
		int number;

		if (sigwait(&asked, &number) != 0)
			continue;
		before = resident();
		malloc_trim(0);
		printf("trimmed %zu\n", before - resident());
	}
}
