/*
 * What tests/golden/fast-path.py counts instructions of: ROUNDS times the same few calls, after the cache
 * was warmed up.
 *
 *	fast-path MODE ROUNDS
 *
 * Built with -fno-builtin: the calls must not be optimised away.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pair(size_t bytes)
{
	free(malloc(bytes));
}

static void zeroed(size_t bytes)
{
	free(calloc(1, bytes));
}

static void in_place(size_t bytes)
{
	static void *block;

	block = realloc(block, bytes);
}

static void usable(size_t bytes)
{
	static void *block;

	if (block == NULL)
		block = malloc(bytes);
	(void)malloc_usable_size(block);
}

static void nothing(size_t bytes)
{
	(void)bytes;
	free(NULL);
}

static const struct mode {
	const char *name;
	void (*round)(size_t);
	size_t bytes;
} modes[] = {
	{"pair-16", pair, 16},        {"pair-64", pair, 64},       {"pair-1000", pair, 1000},
	{"pair-1025", pair, 1025},    {"pair-16384", pair, 16384}, {"calloc-64", zeroed, 64},
	{"realloc-64", in_place, 64}, {"usable-64", usable, 64},   {"free-null", nothing, 0},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		unsigned rounds = (unsigned)strtoul(argv[2], NULL, 10);

		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		for (unsigned round = 0; round < 20 + rounds; round++)
			modes[i].round(modes[i].bytes);
		return 0;
	}
	fprintf(stderr, "usage: fast-path MODE ROUNDS\n");
	return 2;
}
