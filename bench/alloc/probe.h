/*
 * probe.h: what a benchmark can learn about its own process without allocating.
 *
 * Owns:       reading /proc/self into static buffers, and the proof that the
 *             allocator under test is the one that answers malloc.
 * Never:      calls malloc, stdio streams, or anything that might.
 * Threading:  one thread at a time (static buffers).
 * Errors:     one line on stderr and status 3; a figure the kernel does not give
 *             is an error, never 0.
 * Invariants: none beyond the above.
 *
 * BENCH_EXPECT, when set, names the file that must contain malloc: the path as
 * it is written in /proc/self/maps. The harness always sets it, so a preload
 * that did not take can never be counted as a run of that allocator.
 */
#ifndef EBB_BENCH_PROBE_H
#define EBB_BENCH_PROBE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void probe_write(const char *s, size_t n)
{
	while (n > 0) {
		ssize_t k = write(STDOUT_FILENO, s, n);
		if (k <= 0)
			_exit(3);
		s += k;
		n -= (size_t)k;
	}
}

__attribute__((noreturn)) static inline void probe_die(const char *why)
{
	static const char head[] = "bench: ";

	if (write(STDERR_FILENO, head, sizeof(head) - 1) < 0 || write(STDERR_FILENO, why, strlen(why)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		_exit(4);
	_exit(3);
}

/* The whole file into buf, NUL-terminated; cut at size - 1. */
static inline void probe_read(const char *path, char *buf, size_t size)
{
	size_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		probe_die("cannot read /proc/self");
	while (n < size - 1) {
		ssize_t k = read(fd, buf + n, size - 1 - n);
		if (k <= 0)
			break;
		n += (size_t)k;
	}
	buf[n] = '\0';
	close(fd);
}

static inline uint64_t probe_field(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	if (p == NULL)
		probe_die("the kernel does not give a figure that is needed");
	return strtoull(p + strlen(key), NULL, 10);
}

/*
 * peak and the split are from status, whose counters may lag by a bounded amount
 * on kernels before mid-2025; anon and rss are from smaps_rollup, which is exact.
 * anon leaves out file pages, which the kernel may evict behind our back, and
 * shared memory, which is where the resting programs keep their own tables.
 */
struct probe_memory {
	uint64_t peak_kib, rss_kib, anon_kib, lazyfree_kib, huge_kib, file_kib, shmem_kib;
};

static inline void probe_read_memory(struct probe_memory *m)
{
	static char text[16384];

	probe_read("/proc/self/status", text, sizeof(text));
	m->peak_kib = probe_field(text, "\nVmHWM:");
	m->file_kib = probe_field(text, "\nRssFile:");
	m->shmem_kib = probe_field(text, "\nRssShmem:");
	probe_read("/proc/self/smaps_rollup", text, sizeof(text));
	m->rss_kib = probe_field(text, "\nRss:");
	m->anon_kib = probe_field(text, "\nAnonymous:");
	m->lazyfree_kib = probe_field(text, "\nLazyFree:");
	m->huge_kib = probe_field(text, "\nAnonHugePages:");
	if (m->peak_kib < m->rss_kib)
		m->peak_kib = m->rss_kib; /* the stored mark lags behind on every kernel */
}

/* The end of the line of /proc/self/maps that covers the address, or NULL. */
static inline char *probe_mapping(char *text, uintptr_t addr)
{
	for (char *line = text; *line != '\0';) {
		char *end = strchr(line, '\n'), *after;
		uintptr_t lo = strtoull(line, &after, 16);
		uintptr_t hi = strtoull(after + 1, NULL, 16);

		if (end == NULL)
			break;
		*end = '\0';
		if (lo <= addr && addr < hi)
			return line;
		line = end + 1;
	}
	return NULL;
}

static inline void probe_require_preload(void)
{
	static char text[1 << 17];
	void *(*volatile taken)(size_t) = malloc; /* through the GOT: what calls really reach */
	const char *want = getenv("BENCH_EXPECT");
	const char *line, *path;

	if (want == NULL || *want == '\0')
		return;
	probe_read("/proc/self/maps", text, sizeof(text));
	line = probe_mapping(text, (uintptr_t)taken);
	path = line != NULL ? strchr(line, '/') : NULL;
	if (path == NULL || strcmp(path, want) != 0)
		probe_die("malloc is not in the library that BENCH_EXPECT names: the preload did not take");
}

#endif
