/* A library for dlopen: allocates when it comes, leaves memory behind when it goes. */
#include "check.h"

char *plugin_text(void);
void *plugin_allocate(size_t size);
void plugin_free(void *pointer);

static char *text;
static _Thread_local char local[64];

__attribute__((constructor)) static void plugin_load(void)
{
	text = malloc(300);
	strcpy(text, "from the plugin");
	free(malloc(100000));
}

__attribute__((destructor)) static void plugin_unload(void)
{
	free(malloc(500)); /* and text stays */
}

char *plugin_text(void)
{
	return text;
}

void *plugin_allocate(size_t size)
{
	local[0]++;
	return malloc(size);
}

void plugin_free(void *pointer)
{
	free(pointer);
}
