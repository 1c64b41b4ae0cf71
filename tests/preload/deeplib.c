/*
 * deeplib.c: a library opened with RTLD_DEEPBIND, as PHP opens its extensions. It looks names up in itself and
 * in the libc it names before it looks where everybody else does, so that its free need not be its host's.
 */
#include <stdlib.h>
#include <string.h>

char *deep_take(char *given);
const char *deep_name(void);

/* Frees the host's block and gives one of its own in exchange. */
char *deep_take(char *given)
{
	size_t length = strlen(given);
	char *mine = (char *)malloc(length + 2);

	if (!mine)
		return NULL;
	memcpy(mine, given, length);
	memcpy(mine + length, "+", 2);
	free(given);
	return mine;
}

const char *deep_name(void)
{
	return "deep";
}
