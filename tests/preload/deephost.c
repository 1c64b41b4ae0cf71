/*
 * deephost.c: opens a library with RTLD_DEEPBIND and passes blocks to and fro.
 *
 *   deephost NAME
 *
 * NAME has no slash: it is found through this program's own RUNPATH ($ORIGIN), which works only while the
 * dynamic linker sees this program as the caller of dlopen. Prints `deep LENGTH` or ends by a signal.
 */
#include "work.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL | RTLD_DEEPBIND) : NULL;
	char *(*take)(char *);
	const char *(*name)(void);
	char *text;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&take = dlsym(library, "deep_take");
	*(void **)&name = dlsym(library, "deep_name");
	text = (char *)malloc(4);
	if (!take || !name || !text)
		abort();
	memcpy(text, "abc", 4);
	for (int i = 0; i < 3000 && text; i++) {
		text = take(text);
		if (i % 3 == 0 && text)
			text = (char *)realloc(text, strlen(text) + 100);
	}
	if (!text)
		return 1;
	printf("%s %zu\n", name(), strlen(text));
	free(text);
	return work_in_threads(2) == 0 && dlclose(library) == 0 ? 0 : 1;
}
