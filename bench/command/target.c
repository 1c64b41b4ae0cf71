/*
 * target MIB ROUNDS: a process for the command to look at. Holds MIB of blocks of 32 to 2048 bytes after a random half of
 * twice as many was freed, says "ready", then works ROUNDS times: a million blocks made, written to and freed, and a
 * mapping of 4 MiB made, faulted in and given back, which waits for whoever reads the page tables. Prints the seconds
 * of the work, CPU and wall. With ROUNDS 0 it waits for a signal.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void hold(size_t mib)
{
	size_t wanted = mib << 21;
	size_t count = wanted / 1040;
	static char **blocks; /* what stays is never freed */

	blocks = malloc(count * sizeof(*blocks));
	for (size_t i = 0; blocks && i < count; i++) {
		size_t bytes = 32 + draw() % 2017;

		blocks[i] = malloc(bytes);
		if (blocks[i])
			memset(blocks[i], 1, bytes);
	}
	for (size_t i = 0; blocks && i < count; i++)
		if (draw() & 1)
			free(blocks[i]);
}

static void work(void)
{
	static char *volatile ring[4096];
	char *pages = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; pages != MAP_FAILED && i < 4 << 20; i += 4096)
		pages[i] = 1;
	if (pages != MAP_FAILED)
		munmap(pages, 4 << 20);
	for (size_t i = 0; i < 1000000; i++) {
		size_t at = draw() % 4096;

		free(ring[at]);
		ring[at] = malloc(32 + draw() % 2017);
		if (ring[at])
			ring[at][0] = 1;
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[2]) : 0;
	double cpu, wall;

	if (argc < 3 || atol(argv[1]) < 0)
		return 2;
	hold((size_t)atol(argv[1]));
	puts("ready");
	fflush(stdout);
	if (!rounds)
		pause();
	cpu = cpu_seconds();
	wall = wall_seconds();
	for (long i = 0; i < rounds; i++)
		work();
	printf("%.4f %.4f\n", cpu_seconds() - cpu, wall_seconds() - wall);
	return 0;
}
