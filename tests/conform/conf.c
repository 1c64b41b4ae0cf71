/*
 * A little program to be run with an odd EBB_CONF: it works all the same. `conf zero` checks that
 * zero_on_free overwrites; `conf work` allocates enough for every feature to be used; `conf
 * garbage` runs `conf work` with random bytes as EBB_CONF, many times.
 */
#include "check.h"

#include <sys/wait.h>

static void work(void)
{
	enum { BLOCKS = 800 };
	static uint8_t *block[BLOCKS];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			block[i] = hide(malloc(1 + i * 37));
			CHECK(block[i] != NULL, "malloc");
			pattern_fill(block[i], 1 + i * 37, i);
		}
		for (unsigned i = 0; i < BLOCKS; i++) {
			PATTERN_CHECK(block[i], 1 + i * 37, i);
			free(block[i]);
		}
	}
}

/* Reads freed memory, which only an allocator's own test may do. */
static void expect_zeroed(void)
{
	for (size_t size = 16; size <= 32768; size += 1 + size / 3) {
		uint8_t *neighbour = hide(malloc(size)); /* keeps the slab where it is */
		uint8_t *block = hide(malloc(size));

		memset(block, 0xab, malloc_usable_size(block));
		size_t usable = malloc_usable_size(block);
		uintptr_t address = (uintptr_t)block;
		free(block);
		const volatile uint8_t *freed = (const volatile uint8_t *)address;
		for (size_t at = 0; at < usable; at++)
			CHECK(freed[at] == 0, "byte %zu of a freed block of %zu bytes is %u", at, size, freed[at]);
		free(neighbour);
	}
}

/* Random bytes, and random mixes of what options are made of. */
static void make_garbage(struct rng *rng, char *text, size_t size)
{
	static const char *const pieces[] = {"delay",
					     "scavenger",
					     ":",
					     ",",
					     "1s",
					     "0",
					     "purge:1",
					     "-",
					     "check",
					     "full",
					     "%",
					     "K",
					     "18446744073709551616",
					     "10ms",
					     " ",
					     "=",
					     "::"};
	size_t length = rng_below(rng, size - 40);
	bool bytes = rng_below(rng, 2) == 0;
	size_t at = 0;

	while (at < length) {
		if (bytes) {
			text[at++] = (char)(1 + rng_below(rng, 255));
		} else {
			const char *piece = pieces[rng_below(rng, sizeof(pieces) / sizeof(pieces[0]))];

			memcpy(text + at, piece, strlen(piece));
			at += strlen(piece);
		}
	}
	text[at] = 0;
}

/* Whatever was said on stderr is printable lines of one form. */
static void check_said(int fd, const char *garbage)
{
	static char said[1 << 20];
	size_t length = 0;

	for (ssize_t got; (got = read(fd, said + length, sizeof(said) - 1 - length)) > 0;)
		length += (size_t)got;
	said[length] = 0;
	CHECK(length == 0 || said[length - 1] == '\n', "an unfinished line for EBB_CONF=%s", garbage);
	for (char *line = said; *line != 0; line = strchr(line, '\n') + 1) {
		CHECK(strncmp(line, "ebb: EBB_CONF: ", 15) == 0, "odd line %.80s for EBB_CONF=%s", line, garbage);
		for (char *byte = line; *byte != '\n'; byte++)
			CHECK(*byte >= ' ' && *byte <= '~', "byte 0x%02x on stderr", (uint8_t)*byte);
	}
}

static void run_with_garbage(char *self, uint64_t seed)
{
	static char garbage[3000];
	char *arguments[] = {self, (char *)(uintptr_t) "work", NULL};
	struct rng rng = {seed};
	int fds[2];
	int status;

	make_garbage(&rng, garbage, sizeof(garbage));
	CHECK(pipe2(fds, O_CLOEXEC) == 0, "pipe");
	pid_t child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0) {
		setenv("EBB_CONF", garbage, 1);
		dup2(fds[1], STDERR_FILENO);
		execv("/proc/self/exe", arguments);
		_exit(127);
	}
	close(fds[1]);
	check_said(fds[0], garbage);
	close(fds[0]);
	CHECK(waitpid(child, &status, 0) == child && status == 0, "status 0x%x for EBB_CONF=%s", (unsigned)status,
	      garbage);
}

int main(int argc, char **argv)
{
	check_allocator();
	if (argc > 1 && strcmp(argv[1], "garbage") == 0) {
		for (uint64_t seed = 1; seed <= 60; seed++)
			run_with_garbage(argv[0], seed);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "zero") == 0)
		expect_zeroed();
	else
		work();
	return 0;
}
