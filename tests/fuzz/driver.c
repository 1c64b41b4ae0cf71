/*
 * driver: what drives a fuzz function where the compiler has no libFuzzer.
 *
 *   fuzz-NAME CORPUS SECONDS
 *
 * Every file of the corpus as it is, then changed at random until the time is up: bytes flipped,
 * parts cut, doubled and exchanged. The seed is fixed, so that a failure comes again.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILES 256
#define BYTES 65536

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct {
	uint8_t *bytes;
	size_t size;
} files[FILES];
static size_t file_count;
static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t below(size_t limit)
{
	return limit ? next_random() % limit : 0;
}

static void read_corpus(const char *path)
{
	struct dirent **names = NULL;
	int count = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < count && file_count < FILES; i++) {
		char name[4096];
		FILE *file;

		snprintf(name, sizeof(name), "%s/%s", path, names[i]->d_name);
		file = names[i]->d_name[0] == '.' ? NULL : fopen(name, "rb");
		if (!file)
			continue;
		files[file_count].bytes = malloc(BYTES);
		files[file_count].size = fread(files[file_count].bytes, 1, BYTES, file);
		file_count++;
		fclose(file);
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* In a block of exactly its size, so that a read beyond its end is seen. */
static void try_one(const uint8_t *bytes, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	memcpy(exact, bytes, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static size_t change(uint8_t *bytes, size_t size)
{
	size_t at = below(size), length = below(size - at), to = below(size);

	switch (below(5)) {
	case 0:
		if (size > 0)
			bytes[at] ^= (uint8_t)(1u << below(8));
		return size;
	case 1:
		if (size > 0)
			bytes[at] = (uint8_t)next_random();
		return size;
	case 2:
		return at;
	case 3:
		memmove(bytes + at, bytes + at + length, size - at - length);
		return size - length;
	default:
		if (to + length > BYTES)
			return size;
		memmove(bytes + to, bytes + at, length);
		return to + length > size ? to + length : size;
	}
}

int main(int argc, char **argv)
{
	static uint8_t bytes[BYTES];
	time_t end;
	unsigned long tried = 0;

	if (argc != 3)
		return 2;
	read_corpus(argv[1]);
	if (file_count == 0) {
		fprintf(stderr, "no corpus in %s\n", argv[1]);
		return 2;
	}
	for (size_t i = 0; i < file_count; i++)
		try_one(files[i].bytes, files[i].size);
	for (end = time(NULL) + atol(argv[2]); time(NULL) < end; tried++) {
		size_t i = below(file_count), size = files[i].size;

		memcpy(bytes, files[i].bytes, size);
		for (size_t changes = 1 + below(6); changes > 0; changes--)
			size = change(bytes, size);
		try_one(bytes, size);
	}
	printf("%zu files, %lu changes of them\n", file_count, tried);
	return 0;
}
