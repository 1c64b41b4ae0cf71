/*
 * touch MIB [MS]: writes so many MiB at once, waits so long, and ends. For peaks that nobody has
 * time to sample. With a negative MIB it dies of SIGSEGV after that.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long mib = argc > 1 ? atol(argv[1]) : 0;
	size_t bytes = (size_t)labs(mib) << 20;
	static volatile char *block;

	block = malloc(bytes + 1);
	if (!block)
		return 99;
	for (size_t i = 0; i < bytes; i += 1024)
		block[i] = 1;
	if (argc > 2)
		usleep((useconds_t)atol(argv[2]) * 1000);
	if (mib < 0)
		raise(SIGSEGV);
	return 0;
}
