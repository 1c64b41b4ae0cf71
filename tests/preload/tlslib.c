/*
 * tlslib.c: a library that must be placed in the static TLS block although it is opened late.
 * tls_touch fills this thread's copy, allocates in between, and says whether it is still whole.
 */
#include <stdlib.h>
#include <string.h>

int tls_touch(unsigned char filling);

static __thread unsigned char block[192] __attribute__((tls_model("initial-exec")));

int tls_touch(unsigned char filling)
{
	memset(block, filling, sizeof(block));
	for (size_t i = 0; i < 2000; i++)
		free(malloc(i * 3 + 1));
	for (size_t i = 0; i < sizeof(block); i++)
		if (block[i] != filling)
			return 0;
	return 1;
}
