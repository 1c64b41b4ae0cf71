/* A program of another project: it was linked with libebb and checks that it runs on it. */
#include <ebb/ebb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct ebb_snapshot snapshot;
	size_t bytes = 1000000;
	char *block = malloc(bytes);

	if (argc != 2 || strcmp(argv[1], ebb_version()) != 0) {
		fprintf(stderr, "version %s, expected %s\n", ebb_version(), argc > 1 ? argv[1] : "an argument");
		return 1;
	}
	if (block == NULL)
		return 1;
	memset(block, 1, bytes);
	if (ebb_snapshot(&snapshot, sizeof(snapshot)) != 0) {
		perror("ebb_snapshot");
		return 1;
	}
	if (snapshot.live_bytes < bytes) {
		fprintf(stderr, "live_bytes is %llu: this malloc is not Ebb's\n",
			(unsigned long long)snapshot.live_bytes);
		return 1;
	}
	free(block);
	return 0;
}
