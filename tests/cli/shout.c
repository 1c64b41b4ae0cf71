/* shout BYTES: so many bytes on stdout, a digit each, then one line on stderr. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long bytes = argc > 1 ? atol(argv[1]) : 0;

	for (long i = 0; i < bytes; i++)
		putchar('0' + (int)(i % 10));
	fflush(stdout);
	fputs("done\n", stderr);
	return 0;
}
