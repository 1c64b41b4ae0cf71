/* A known profile of a program in C: profiled [off|newer|overwritten|empty] [LIBRARY that is unloaded again]. */
#include "profiled.h"

#include <dlfcn.h>

static inline __attribute__((always_inline)) void inlined(uint64_t bytes)
{
	record(bytes, bytes / 65536);
	__asm__ volatile("");
}

__attribute__((noinline)) static void parse_request(uint64_t bytes)
{
	inlined(bytes);
	__asm__ volatile("");
}

__attribute__((noinline)) static void fill_cache(void)
{
	record(8 << 20, 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void serve(void)
{
	parse_request(32 << 20);
	fill_cache();
	__asm__ volatile("");
}

__attribute__((noinline)) static void from_library(void)
{
	record(16 << 20, 16);
	__asm__ volatile("");
}

static void call_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*call)(void (*)(void));

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&call = dlsym(library, "plugin_call");
	call(from_library);
	dlclose(library);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	begin(strcmp(how, "off") == 0 ? 0 : 512 << 10);
	if (strcmp(how, "off") != 0 && strcmp(how, "empty") != 0)
		serve();
	if (argc > 2)
		call_library(argv[2]);
	if (strcmp(how, "newer") == 0)
		ebb_shared_profile.version = EBB_PROFILE_VERSION + 1;
	if (strcmp(how, "overwritten") == 0)
		ebb_shared_profile.magic = 0x6b6b6b6b;
	wait_for_the_end();
	return 0;
}
